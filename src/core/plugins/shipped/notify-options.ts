/** The options of `procman/notify`. */
import { enumeration, list, map, number, object, optional, string, type TypeOf } from "../../base/schema.ts";

export const KINDS = ["crash", "exhausted", "growth", "recovered"] as const;

export type MessageKind = (typeof KINDS)[number];

export const OPTIONS = object({
  webhook: optional(string({ pattern: "^https?://.+", description: "Address that messages are posted to." })),
  format: optional(enumeration(["json", "slack"], { description: "Of the webhook's body. Default: json." })),
  headers: optional(map(string(), { description: "Additional headers of the request." })),
  command: optional(string({ minLength: 1, description: "Command line that gets the message on its standard input." })),
  on: optional(list(enumeration(KINDS), { description: "What is reported. Default: all." })),
  processes: optional(
    list(string({ minLength: 1 }), { description: "Processes, instances or clusters. Default: all." }),
  ),
  groupSeconds: optional(
    number({ minimum: 0, maximum: 3_600, description: "What happens within this time is one message. Default: 10." }),
  ),
  recoveredAfterSeconds: optional(
    number({
      minimum: 0,
      maximum: 3_600,
      description: "A process that runs for so long after a crash has recovered. Default: 10.",
    }),
  ),
});

export type NotifyOptions = TypeOf<typeof OPTIONS>;

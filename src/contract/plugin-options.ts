/** The options of the plugins that come with procman: `procman validate` checks them, and the plugins themselves. */
import type { JsonSchema } from "./json-schema.ts";
import type { Shipped } from "./plugin-protocol.ts";

const text = (description: string): JsonSchema => ({ type: "string", minLength: 1, description });
const seconds = (least: number, most: number, description: string): JsonSchema => ({
  type: "number",
  minimum: least,
  maximum: most,
  description,
});
const texts = (description: string): JsonSchema => ({ type: "array", items: text(""), description });
const map = (description: string): JsonSchema => ({ type: "object", additionalProperties: { type: "string" }, description });

const PROCESSES = texts("Processes, instances or clusters. Default: all.");
const HTTP = "^https?://.+";

export const KINDS = ["crash", "exhausted", "recovered"] as const;

export const SHIPPED_OPTIONS: Readonly<Record<Shipped, JsonSchema>> = {
  notify: {
    type: "object",
    additionalProperties: false,
    properties: {
      webhook: { type: "string", pattern: HTTP, description: "Address that messages are posted to." },
      format: { type: "string", enum: ["json", "slack"], description: "Of the webhook's body. Default: json." },
      headers: map("Further headers of the request."),
      command: text("Command line that gets the message on its standard input."),
      on: { type: "array", items: { type: "string", enum: KINDS }, description: "What is told. Default: all." },
      processes: PROCESSES,
      groupSeconds: seconds(0, 3_600, "What happens within this time is one message. Default: 10."),
      recoveredAfterSeconds: seconds(0, 3_600, "A process that runs for so long after a crash has recovered. Default: 10."),
    },
  },
};

/** The options of `procman/otlp`. */
import { boolean, list, map, number, object, optional, string, type TypeOf } from "../../base/schema.ts";

export const OPTIONS = object({
  endpoint: optional(
    string({ pattern: "^https?://.+", description: "Base address of the collector. Default: http://127.0.0.1:4318." }),
  ),
  headers: optional(map(string(), { description: "Additional headers of each request." })),
  logs: optional(boolean({ description: "Send log lines. Default: true." })),
  metrics: optional(boolean({ description: "Send metrics. Default: true." })),
  intervalSeconds: optional(
    number({ minimum: 1, maximum: 3_600, description: "Time between two exports of metrics. Default: 30." }),
  ),
  timeoutSeconds: optional(number({ minimum: 0.1, maximum: 300, description: "Of one request. Default: 10." })),
  gzip: optional(boolean({ description: "Compress bodies. Default: true." })),
  resource: optional(map(string(), { description: "Additional attributes of each resource." })),
  processes: optional(
    list(string({ minLength: 1 }), { description: "Processes, instances or clusters. Default: all." }),
  ),
});

export type OtlpOptions = TypeOf<typeof OPTIONS>;

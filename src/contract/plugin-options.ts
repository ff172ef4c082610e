/** The options of the plugins that come with procman: `procman validate` checks them, and the plugins themselves. */
import type { JsonSchema } from "./json-schema.ts";
import type { Shipped } from "./plugin-protocol.ts";
import { CATEGORIES, SEVERITIES } from "./records.ts";

const text = (description: string): JsonSchema => ({ type: "string", minLength: 1, description });
const seconds = (least: number, most: number, description: string): JsonSchema => ({
  type: "number",
  minimum: least,
  maximum: most,
  description,
});
const texts = (description: string): JsonSchema => ({ type: "array", items: text(""), description });
const map = (description: string): JsonSchema => ({ type: "object", additionalProperties: { type: "string" }, description });
const truth = (description: string): JsonSchema => ({ type: "boolean", description });

const PROCESSES = texts("Processes, instances or clusters. Default: all.");
const HTTP = "^https?://.+";

export const KINDS = ["crash", "exhausted", "recovered"] as const;

export const FACILITIES = [
  ...[
    "kern",
    "user",
    "mail",
    "daemon",
    "auth",
    "syslog",
    "lpr",
    "news",
    "uucp",
    "cron",
    "authpriv",
    "ftp",
    "ntp",
    "audit",
    "alert",
    "clock",
  ],
  ...["local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"],
] as const;

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
  otlp: {
    type: "object",
    additionalProperties: false,
    properties: {
      endpoint: { type: "string", pattern: HTTP, description: "Base address of the collector. Default: http://127.0.0.1:4318." },
      headers: map("Further headers of each request."),
      logs: truth("Send log lines. Default: true."),
      metrics: truth("Send metrics. Default: true."),
      intervalSeconds: seconds(1, 3_600, "Time between two exports of metrics. Default: 30."),
      timeoutSeconds: seconds(0.1, 300, "Of one request. Default: 10."),
      gzip: truth("Compress bodies. Default: true."),
      resource: map("Further attributes of each resource."),
      processes: PROCESSES,
    },
  },
  logship: {
    type: "object",
    additionalProperties: false,
    required: ["to"],
    properties: {
      to: {
        type: "string",
        pattern: "^(?:(?:tcp|udp|tls)://[^/]+:\\d+/?|https?://.+)$",
        description: "tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT or an http(s) address.",
      },
      facility: { type: "string", enum: FACILITIES, description: "Of syslog. Default: local0." },
      hostname: text("Host in syslog messages. Default: that of the machine."),
      maxBytes: { type: "integer", minimum: 480, maximum: 1_048_576, description: "Longest message. Default: 65536, by UDP 2048." },
      headers: map("Further headers of HTTP requests."),
      timeoutSeconds: seconds(0.1, 300, "Of one connection or request. Default: 10."),
      severity: { type: "string", enum: SEVERITIES, description: "At least that severe. Default: debug." },
      categories: { type: "array", items: { type: "string", enum: CATEGORIES }, description: "Default: all." },
      processes: PROCESSES,
    },
  },
};

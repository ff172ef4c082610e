/** The options of `procman/logship`. */
import { enumeration, integer, list, map, number, object, optional, string, type TypeOf } from "../../base/schema.ts";
import { CATEGORIES, SEVERITIES } from "../../contract/records.ts";

/** Facilities of syslog, in the order of their numbers. */
export const FACILITIES = [
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
  "local0",
  "local1",
  "local2",
  "local3",
  "local4",
  "local5",
  "local6",
  "local7",
] as const;

export type Facility = (typeof FACILITIES)[number];

export const OPTIONS = object({
  to: string({
    pattern: "^(?:(?:tcp|udp|tls)://[^/]+:\\d+/?|https?://.+)$",
    description: "tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT or an http(s) address.",
  }),
  facility: optional(enumeration(FACILITIES, { description: "Of syslog. Default: local0." })),
  hostname: optional(string({ minLength: 1, description: "Host in syslog messages. Default: that of the machine." })),
  maxBytes: optional(
    integer({ minimum: 480, maximum: 1_048_576, description: "Longest message. Default: 65536, by UDP 2048." }),
  ),
  headers: optional(map(string(), { description: "Additional headers of HTTP requests." })),
  timeoutSeconds: optional(
    number({ minimum: 0.1, maximum: 300, description: "Of one connection or request. Default: 10." }),
  ),
  severity: optional(enumeration(SEVERITIES, { description: "At least that severe. Default: debug." })),
  categories: optional(list(enumeration(CATEGORIES), { description: "Default: all." })),
  processes: optional(
    list(string({ minLength: 1 }), { description: "Processes, instances or clusters. Default: all." }),
  ),
});

export type LogshipOptions = TypeOf<typeof OPTIONS>;

/** Syslog messages (RFC 5424), on a stream framed by their length (RFC 6587, "octet counting"). */
import type { LogEntry, Severity } from "../../../core/contract/records.ts";
import { FACILITIES, type Facility } from "../../../core/plugins/shipped/logship-options.ts";

export type SyslogOrigin = {
  readonly facility: Facility;
  readonly hostname: string;
  /** `name` of the configuration. */
  readonly name: string;
  /** Longest message. Bytes. */
  readonly maxBytes: number;
};

const SEVERITY: Readonly<Record<Severity, number>> = { debug: 7, info: 6, warn: 4, error: 3 };
const MAX_LENGTH = { hostname: 255, appName: 48 };
/** 32473 is the enterprise number that IANA reserves for examples. */
const SD_ID = "procman@32473";

/** `<134>1 2026-01-01T00:00:00.000Z host web - stdout [procman@32473 name="shop" run="2"] text` */
export function syslogMessage(entry: LogEntry, { facility, hostname, name, maxBytes }: SyslogOrigin): Buffer {
  const { time, process = "procman", severity, category, run, instance, text } = entry;
  const priority = FACILITIES.indexOf(facility) * 8 + SEVERITY[severity];
  const header = `<${priority}>1 ${time} ${printable(hostname, MAX_LENGTH.hostname)} ${printable(process, MAX_LENGTH.appName)} - ${category}`;
  const message = Buffer.from(`${header} ${structured({ name, process, run, instance })} ${text}`);
  return message.length <= maxBytes ? message : cut(message, maxBytes);
}

/** For TCP: `LENGTH SP MESSAGE`, one after the other. */
export function framed(messages: readonly Buffer[]): Buffer {
  return Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message]));
}

function structured(values: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${String(value).replace(/["\\\]]/g, "\\$&")}"`],
  );
  return `[${SD_ID} ${pairs.join(" ")}]`;
}

/** Only characters that a header field allows; "-" if nothing is left. */
function printable(value: string, max: number): string {
  const clean = value.replace(/[^\x21-\x7e]/g, "_").slice(0, max);
  return clean === "" ? "-" : clean;
}

/** Cuts between characters. */
function cut(message: Buffer, max: number): Buffer {
  let end = max;
  while (end > 0 && ((message[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return message.subarray(0, end);
}

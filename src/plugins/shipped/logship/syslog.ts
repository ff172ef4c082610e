/** Messages of syslog: RFC 5424, framed by their length where they go by a stream (RFC 6587, "octet counting"). */

import type { LogEntry, Severity } from "../../../contract/records.ts";
import { FACILITIES, type Facility } from "./options.ts";

export type SyslogOrigin = {
  readonly facility: Facility;
  readonly hostname: string;
  /** `name` of the configuration. */
  readonly name: string;
  /** Longest message. Bytes. */
  readonly maxBytes: number;
};

const SEVERITY: Readonly<Record<Severity, number>> = { debug: 7, info: 6, warn: 4, error: 3 };
const MOST = { hostname: 255, appName: 48 };
/** 32473 is the number that IANA keeps for those who have none. */
const SD_ID = "procman@32473";

/** `<134>1 2026-01-01T00:00:00.000Z host web - stdout [procman@32473 name="shop" run="2"] text` */
export function syslogMessage(entry: LogEntry, { facility, hostname, name, maxBytes }: SyslogOrigin): Buffer {
  const { time, process = "procman", severity, category, run, instance, text } = entry;
  const priority = FACILITIES.indexOf(facility) * 8 + SEVERITY[severity];
  const header = `<${priority}>1 ${time} ${printable(hostname, MOST.hostname)} ${printable(process, MOST.appName)} - ${category}`;
  const message = Buffer.from(`${header} ${structured({ name, process, run, instance })} ${text}`);
  return message.length <= maxBytes ? message : cut(message, maxBytes);
}

/** As it goes by TCP: `LENGTH SP MESSAGE`, one after the other. */
export function framed(messages: readonly Buffer[]): Buffer {
  return Buffer.concat(messages.flatMap((message) => [Buffer.from(`${message.length} `), message]));
}

function structured(values: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${String(value).replace(/["\\\]]/g, "\\$&")}"`],
  );
  return `[${SD_ID} ${pairs.join(" ")}]`;
}

/** What a header field may consist of; "-" is none. */
function printable(value: string, most: number): string {
  const clean = value.replace(/[^\x21-\x7e]/g, "_").slice(0, most);
  return clean === "" ? "-" : clean;
}

/** Not within a character. */
function cut(message: Buffer, most: number): Buffer {
  let end = most;
  while (end > 0 && ((message[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return message.subarray(0, end);
}

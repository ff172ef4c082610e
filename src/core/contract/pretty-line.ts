/** Lines of JSON as people read them: `WARN  slow ms=900 tags=["a"]`. Pure. */
import { fieldsOf, type LineFields } from "./line-fields.ts";
import type { Severity } from "./records.ts";

const DIM = 2;
const COLORS: Readonly<Record<Severity, number>> = { debug: 2, info: 32, warn: 33, error: 31 };
const LEVEL_WIDTH = 5;

/** The level, the message and the other members, without the time, which the line has already; undefined: it is no object of JSON with a level or a message. */
export function prettyLine(text: string, severity: Severity, colors: boolean): string | undefined {
  const fields = fieldsOf(text);
  if (fields === undefined) return undefined;
  const paint = (color: number, part: string): string => (colors ? `\u001b[${color}m${part}\u001b[0m` : part);
  const parts = fields.rest.flatMap(partsOf);
  const [long, short] = [true, false].map((isLong) => parts.filter(([, value]) => value.includes("\n") === isLong));
  const words = [fields.message, ...(short ?? []).map(([name, value]) => `${paint(DIM, `${name}=`)}${asValue(value)}`)];
  // A stack trace is read line by line.
  const blocks = (long ?? []).map(([name, value]) => `\n${paint(DIM, `${name}=`)}${value}`);
  const level = paint(COLORS[severity], severity.toUpperCase().padEnd(LEVEL_WIDTH));
  return `${[level, ...words.filter((word) => word !== "")].join(" ")}${blocks.join("")}`;
}

/** The texts of several lines in an object stand beside the rest of it: loggers write an error with its stack so. */
function partsOf([name, value]: LineFields["rest"][number]): LineFields["rest"] {
  if (!value.startsWith("{") || !value.includes("\\n") || value.includes("\n")) return [[name, value]];
  const members = membersIn(value).map(([key, member]) => {
    const isLong = typeof member === "string" && member.includes("\n");
    return { key, member, isLong };
  });
  const long = members
    .filter(({ isLong }) => isLong)
    .map(({ key, member }) => [`${name}.${key}`, `${member}`] as const);
  if (long.length === 0) return [[name, value]];
  const short = members.filter(({ isLong }) => !isLong).map(({ key, member }) => [key, member] as const);
  return [...(short.length === 0 ? [] : [[name, JSON.stringify(Object.fromEntries(short))] as const]), ...long];
}

/** No members: a text that only looks like an object. */
function membersIn(value: string): readonly (readonly [string, unknown])[] {
  try {
    return Object.entries(JSON.parse(value) as object);
  } catch {
    return [];
  }
}

/** In quotes where the value would otherwise look like several. */
function asValue(value: string): string {
  return /^[^\s"=]+$/.test(value) || /^[[{]/.test(value) ? value : JSON.stringify(value);
}

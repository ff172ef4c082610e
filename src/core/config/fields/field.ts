/** Rows of the table of configuration fields, and common value types. */
import {
  anything,
  boolean,
  integer,
  type JsonSchema,
  list,
  map,
  number,
  type ObjectOf,
  type Optional,
  object,
  type Schema,
  string,
  union,
} from "../../base/schema.ts";
import type { Policy } from "../../supervisor/restart-policy.ts";
import { AMOUNT_PATTERN, MAX_MS, MAX_SECONDS } from "../units.ts";

/**
 * One field of the configuration file. These rows determine the validation, `schema.json`, the types of the library,
 * the defaults, the stored part of a process specification, and what a reload does.
 */
export type Field = {
  /** The allowed values. `allowed` follows "allowed:" in messages. */
  readonly type: Schema | Optional;
  readonly description: string;
  readonly default?: unknown;
  /** Unit of the number in the file. */
  readonly unit?: keyof typeof MILLISECONDS;
  /** When a change takes effect: with a restart of the run, at once, or when procman is started again. */
  readonly onChange?: "restart" | "live" | "next-run";
  /** Its schema in the process specification, under the same name, if `normalise` computes the value there. */
  readonly spec?: Schema | Optional;
  /** The same, if the value is copied. */
  readonly copied?: Schema | Optional;
  /** The part of the policy that its value is copied to. */
  readonly policy?: keyof Policy;
};

export type Fields = Readonly<Record<string, Field>>;

/** The schema of an object with these fields. */
export function objectOf<const Rows extends Fields>(
  rows: Rows,
  more: JsonSchema = {},
): Schema<ObjectOf<{ readonly [Name in keyof Rows]: Rows[Name]["type"] }>> {
  return object(Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, described(row)])), more) as never;
}

function described({ type, description, default: defaultValue }: Field): Schema | Optional {
  const annotations = { description, ...(defaultValue !== undefined && { default: defaultValue }) };
  return "optional" in type ? { optional: { ...type.optional, ...annotations } } : { ...type, ...annotations };
}

/** Optional; a program may also pass `undefined`. */
export function optional<Value>(schema: Schema<Value>): Optional<Value | undefined> {
  return { optional: schema as Schema<Value | undefined> };
}

export const matching = (pattern: RegExp, allowed: string): Schema<string> =>
  string({ pattern: pattern.source, allowed });
export const wholeNumber = (minimum: number, maximum: number, allowed: string): Schema<number> =>
  integer({ minimum, maximum, allowed });
export const notEmpty = (what: string): Schema<string> => matching(/^(?=[\s\S]*\S)[^\0]+$/, `${what}, not empty`);
export const amount = (minimum: number, maximum: number, unit: string): Schema<number> =>
  number({ minimum, maximum, allowed: `a number of ${unit} from ${minimum} to ${maximum}` });
export const listOf = <Value>(item: Schema<Value>, allowed: string): Schema<readonly Value[]> =>
  list(item, { allowed });
/** An object with any members. */
export const settings = (allowed: string): Schema<Readonly<Record<string, unknown>>> =>
  map(anything, { propertyNames: string(), allowed });

export function oneOrMore(what: string): Optional<string | readonly string[] | undefined> {
  const item = notEmpty(what);
  const items: Schema<readonly string[]> = { minItems: 1, ...listOf(item, "a list of strings") };
  return optional(union([item, items], { allowed: `${what}, or a list of them` }));
}

export function sizeAs(allowed: string): Optional<string | number | undefined> {
  return optional(
    union([matching(AMOUNT_PATTERN, allowed), wholeNumber(1, Number.MAX_SAFE_INTEGER, allowed)], { allowed }),
  );
}

/** Not `.` and `..`: a name is also a folder name. */
export const NAME_PATTERN: RegExp = /^(?!\.\.?$)[a-z0-9._-]{1,64}$/;

export const name: Schema<string> = matching(NAME_PATTERN, '1 to 64 characters from a-z, 0-9, ".", "_" and "-"');
export const nameOrNames = (allowed: string): Optional<string | readonly string[] | undefined> =>
  optional(union([name, { minItems: 1, ...listOf(name, allowed) }], { allowed }));
export const text: Schema<string> = string({ allowed: "a string" });
export const strings: Optional<readonly string[] | undefined> = optional(listOf(text, "a list of strings"));
export const flag: Optional<boolean | undefined> = optional(boolean({ allowed: "true or false" }));
export const file: Optional<string | undefined> = optional(notEmpty("a file path"));
export const cron: Optional<string | undefined> = optional(notEmpty("a cron pattern"));
export const host: Schema<string> = matching(
  /^(?:[^\s\x00-\x2c/:-@[-^`{-~]+|(?=.*:.*:)[0-9A-Fa-f:.]+(?:%[\w.-]+)?)$/,
  'an IP address without brackets, or a host name such as "localhost"; the port is a separate field',
);
export const hostname: Optional<string | undefined> = optional(host);
export const port: Optional<number | undefined> = optional(wholeNumber(1, 65_535, "a whole number from 1 to 65535"));
export const secondsType: Optional<number | undefined> = optional(amount(0, MAX_SECONDS, "seconds"));
export const millisecondsType: Optional<number | undefined> = optional(amount(0, MAX_MS, "milliseconds"));
export const size: Optional<string | number | undefined> = sizeAs(
  'a size such as "500MB" or "2GiB", or a whole number of bytes, more than 0',
);

const MILLISECONDS = { ms: 1, s: 1_000, h: 3_600_000 } as const;

/** The value of a field, or its default, in milliseconds. */
export function milliseconds(
  { unit, default: defaultValue }: { readonly unit: keyof typeof MILLISECONDS; readonly default: number },
  value = defaultValue,
): number {
  const converted = value * MILLISECONDS[unit];
  return unit === "s" ? Math.round(converted) : converted;
}

/** The value of a field, or its default, as a member of a specification; none if that may be absent and has the default. */
export function copyOf(
  { unit, default: defaultValue }: Field,
  [name, schema]: readonly [name: string, Schema | Optional],
  value: unknown = defaultValue,
): object {
  if ("optional" in schema && value === defaultValue) return {};
  return { [name]: unit === undefined ? value : milliseconds({ unit, default: 0 }, value as number) };
}

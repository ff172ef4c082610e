/** The part of JSON Schema (2020-12) that procman's own data needs, and the check of data against it: all faults at once, each with its place. */
import type { Fault } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";

export type JsonSchema = {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: "string" | "number" | "integer" | "boolean" | "array" | "object";
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly format?: "date-time";
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: string | number | boolean;
  readonly items?: JsonSchema;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly maxProperties?: number;
  readonly oneOf?: readonly JsonSchema[];
};

/** Whoever gets everything wrong needs no longer list. */
export const MOST_FAULTS = 20;

/** What is wrong with the data. `$ref` describes answers, which nobody checks: it is not looked at. Of `oneOf` one at least must fit. */
export function faultsOf(value: unknown, schema: JsonSchema, place: string): readonly Fault[] {
  const faults: Fault[] = [];
  check(value, schema, { place, faults });
  return faults;
}

type Visit = { readonly place: string; readonly faults: Fault[] };

function check(value: unknown, schema: JsonSchema, visit: Visit): void {
  if (visit.faults.length >= MOST_FAULTS) return;
  const fault = faultOf(value, schema) ?? faultOfChoice(value, schema);
  if (fault !== undefined) visit.faults.push({ place: visit.place, message: fault });
  else if (isObject(value)) checkMembers(value, schema, visit);
  else if (Array.isArray(value) && schema.items !== undefined)
    for (const [index, item] of value.entries()) check(item, schema.items, { ...visit, place: `${visit.place}[${index}]` });
}

function checkMembers(value: Readonly<Record<string, unknown>>, schema: JsonSchema, { place, faults }: Visit): void {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  for (const name of required) if (!Object.hasOwn(value, name)) faults.push({ place: `${place}.${name}`, message: "is missing" });
  for (const [name, member] of Object.entries(value)) {
    const at = { place: `${place}.${name.slice(0, 64)}`, faults };
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known !== undefined) check(member, known, at);
    else if (typeof additionalProperties === "object") check(member, additionalProperties, at);
    else if (!additionalProperties && faults.length < MOST_FAULTS)
      faults.push({ place: at.place, message: `is not known.${didYouMean(name, Object.keys(properties))}` });
  }
}

/** Of the value itself, not of what is in it. */
function faultOf(value: unknown, schema: JsonSchema): string | undefined {
  if (schema.type !== undefined && !isOfType(value, schema.type)) return `must be ${article(schema.type)}, not ${shown(value)}`;
  if (schema.const !== undefined && value !== schema.const) return `must be ${JSON.stringify(schema.const)}, not ${shown(value)}`;
  if (typeof value === "string") return faultOfText(value, schema);
  if (typeof value === "number") return faultOfNumber(value, schema);
  if (Array.isArray(value) && value.length > (schema.maxItems ?? Infinity))
    return `may have ${schema.maxItems} entries, not ${value.length}`;
  if (isObject(value) && Object.keys(value).length > (schema.maxProperties ?? Infinity))
    return `may have ${schema.maxProperties} members at most`;
  return undefined;
}

/** That of the alternative that has the right type, or what is allowed. */
function faultOfChoice(value: unknown, { oneOf = [] }: JsonSchema): string | undefined {
  const faults = oneOf.map((schema) => faultsOf(value, schema, ""));
  if (faults.length === 0 || faults.some(({ length }) => length === 0)) return undefined;
  const near = oneOf.findIndex(({ type }) => type !== undefined && isOfType(value, type));
  const [first] = faults[near] ?? [];
  if (first !== undefined) return `${first.place} ${first.message}`.trim();
  const allowed = oneOf.map(({ type, const: only }) =>
    only !== undefined ? JSON.stringify(only) : type === undefined ? "another value" : article(type),
  );
  return `must be ${allowed.join(" or ")}, not ${shown(value)}`;
}

function faultOfText(value: string, { enum: words, minLength = 0, maxLength = Infinity, format, pattern }: JsonSchema): string | undefined {
  if (words !== undefined && !words.includes(value))
    return `must be one of ${words.join(", ")}, not ${shown(value)}.${didYouMean(value, words)}`;
  if (value.length < minLength) return minLength === 1 ? "must not be empty" : `must have ${minLength} characters at least`;
  if (value.length > maxLength) return `may have ${maxLength} characters, not ${value.length}`;
  if (format === "date-time" && Number.isNaN(Date.parse(value))) return `must be a time as 2026-01-31T12:00:00Z, not ${shown(value)}`;
  if (pattern !== undefined && !new RegExp(pattern, "u").test(value)) return `must be like ${pattern}, not ${shown(value)}`;
  return undefined;
}

function faultOfNumber(value: number, { minimum = -Infinity, maximum = Infinity }: JsonSchema): string | undefined {
  if (value >= minimum && value <= maximum) return undefined;
  if (maximum === Infinity) return `must be ${minimum} or more, not ${value}`;
  return minimum === -Infinity ? `must be ${maximum} or less, not ${value}` : `must be ${minimum} to ${maximum}, not ${value}`;
}

function isOfType(value: unknown, type: NonNullable<JsonSchema["type"]>): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isSafeInteger(value);
  return type === "number" ? Number.isFinite(value) : typeof value === type;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function article(type: string): string {
  return type === "integer" ? "a whole number" : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/** Checks values against schemas: `matches` returns yes or no, `violations` all violations, `faultsOf` messages. */
import type { ErrorPlace } from "./errors.ts";
import { branchesOf, type JsonSchema, type Schema } from "./schema.ts";
import { didYouMean } from "./suggest.ts";
import { existingTime } from "./time-stamp.ts";

export type Path = readonly (string | number)[];

/** The part of the schema that is violated; `anyOf` also stands for `oneOf`. */
export type Keyword = OwnKeyword | "required" | "additionalProperties" | "propertyNames" | "anyOf";

const OWN_KEYWORDS = [
  ...(["type", "const", "enum", "minLength", "maxLength", "format", "pattern", "minimum", "maximum"] as const),
  ...(["minItems", "maxItems", "maxProperties"] as const),
];

type OwnKeyword = (typeof OWN_KEYWORDS)[number];

export type Violation = {
  readonly path: Path;
  readonly keyword: Keyword;
  /** The schema that has the keyword; for a missing member, the schema of that member. */
  readonly schema: JsonSchema;
  readonly found: unknown;
  /** For `anyOf`: the violations of each alternative. */
  readonly branches?: readonly (readonly Violation[])[];
};

/** Most faults that are listed. */
export const MAX_FAULTS = 20;

type Check = (value: unknown) => boolean;

const checks = new WeakMap<JsonSchema, Check>();

/** Whether the value satisfies the schema. Members that are `undefined` count as absent. */
export function matches<Value>(value: unknown, schema: Schema<Value>): value is Value {
  return checkOf(schema)(value);
}

/** Compiled on first use, and cached: most values are entries of lists, which share one schema. */
function checkOf(schema: JsonSchema): Check {
  const cached = checks.get(schema);
  if (cached !== undefined) return cached;
  const compiled = compile(schema);
  checks.set(schema, compiled);
  return compiled;
}

function compile(schema: JsonSchema): Check {
  const parts = [ownCheck(schema)];
  const branches = branchesOf(schema);
  if (branches.length > 0) parts.push((value) => branches.some((branch) => checkOf(branch)(value)));
  if (schema.items !== undefined) parts.push(itemsCheck(schema.items));
  if (schema.properties !== undefined || schema.additionalProperties !== undefined || schema.required !== undefined)
    parts.push(membersCheck(schema));
  const [own, inside, ...others] = parts;
  if (own === undefined || inside === undefined) return own ?? (() => true);
  if (others.length === 0) return (value) => own(value) && inside(value);
  return (value) => parts.every((part) => part(value));
}

function ownCheck(schema: JsonSchema): Check {
  const { type, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, pattern } = schema;
  const keywords = OWN_KEYWORDS.filter((keyword) => schema[keyword] !== undefined).join();
  if (keywords === "") return () => true;
  if (keywords === "type" && type !== undefined) return (value) => isOfType(value, type);
  if (keywords === "type,pattern" && type === "string" && pattern !== undefined) {
    const compiled = expression(pattern);
    return (value) => typeof value === "string" && compiled.test(value);
  }
  if (keywords === "type,minimum,maximum" && type !== undefined)
    return (value) => isOfType(value, type) && (value as number) >= minimum && (value as number) <= maximum;
  return (value) => ownViolation(value, schema) === undefined;
}

function itemsCheck(items: JsonSchema): Check {
  return (value) => !Array.isArray(value) || value.every((item) => checkOf(items)(item));
}

function membersCheck(schema: JsonSchema): Check {
  const { required = [], propertyNames } = schema;
  const members = new Map<string, Check | boolean>();
  const memberCheck = (name: string): Check | boolean => {
    const member = memberOf(schema, name);
    const check = typeof member === "boolean" ? member : checkOf(member);
    if (schema.properties !== undefined && Object.hasOwn(schema.properties, name)) members.set(name, check);
    return check;
  };
  return (value) => {
    if (!isObject(value)) return true;
    for (const name of Object.keys(value)) {
      const check = members.get(name) ?? memberCheck(name);
      if (check === false || (propertyNames !== undefined && !checkOf(propertyNames)(name))) return false;
      if (check !== true && value[name] !== undefined && !check(value[name])) return false;
    }
    return required.every((name) => Object.hasOwn(value, name) && value[name] !== undefined);
  };
}

/** All violations, in the order of the value's members; at most `limit`. */
export function violations(value: unknown, schema: JsonSchema, limit = Number.POSITIVE_INFINITY): readonly Violation[] {
  const found: Violation[] = [];
  check(value, schema, { path: [], found, limit: limit });
  return found;
}

type Visit = { readonly path: Path; readonly found: Violation[]; readonly limit: number };

function check(value: unknown, schema: JsonSchema, visit: Visit): void {
  const { path, found, limit } = visit;
  if (found.length >= limit) return;
  const keyword = ownViolation(value, schema);
  if (keyword !== undefined) return void found.push({ path, keyword, schema, found: value });
  const branches = branchesOf(schema);
  if (branches.length > 0 && !branches.some((branch) => matches(value, branch)))
    return void found.push({
      path,
      keyword: "anyOf",
      schema,
      found: value,
      branches: branches.map((branch) => violations(value, branch, limit)),
    });
  if (isObject(value)) return checkMembers(value, schema, visit);
  if (!Array.isArray(value) || schema.items === undefined) return;
  for (const [index, item] of value.entries()) check(item, schema.items, { ...visit, path: [...path, index] });
}

function checkMembers(value: Readonly<Record<string, unknown>>, schema: JsonSchema, visit: Visit): void {
  const { path, found, limit } = visit;
  const { propertyNames } = schema;
  for (const name of missingIn(value, schema).slice(0, limit - found.length))
    found.push({
      path: [...path, name],
      keyword: "required",
      schema: schema.properties?.[name] ?? {},
      found: undefined,
    });
  for (const [name, inside] of Object.entries(value)) {
    if (found.length >= limit) return;
    const at = [...path, name];
    const member = memberOf(schema, name);
    if (member === false) found.push({ path: at, keyword: "additionalProperties", schema, found: inside });
    else if (propertyNames !== undefined && !matches(name, propertyNames))
      found.push({ path: at, keyword: "propertyNames", schema: propertyNames, found: name });
    else if (member !== true && inside !== undefined) check(inside, member, { ...visit, path: at });
  }
}

/** The schema of a member; `true`: anything is allowed, `false`: the member is not allowed. */
function memberOf({ properties, additionalProperties = true }: JsonSchema, name: string): JsonSchema | boolean {
  return (
    (properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined) ?? additionalProperties
  );
}

function missingIn(value: Readonly<Record<string, unknown>>, { required = [] }: JsonSchema): readonly string[] {
  return required.filter((name) => !Object.hasOwn(value, name) || value[name] === undefined);
}

/** The violation of the value itself, without those of its members or items. */
function ownViolation(value: unknown, schema: JsonSchema): OwnKeyword | undefined {
  if (schema.type !== undefined && !isOfType(value, schema.type)) return "type";
  if (schema.const !== undefined && value !== schema.const) return "const";
  if (schema.enum !== undefined && !schema.enum.includes(value as string)) return "enum";
  if (typeof value === "string") return textViolation(value, schema);
  if (typeof value === "number") return numberViolation(value, schema);
  if (Array.isArray(value)) return listViolation(value, schema);
  if (schema.maxProperties !== undefined && isObject(value) && Object.keys(value).length > schema.maxProperties)
    return "maxProperties";
  return undefined;
}

function textViolation(value: string, { minLength, maxLength, format, pattern }: JsonSchema): OwnKeyword | undefined {
  if (minLength !== undefined && value.length < minLength) return "minLength";
  if (maxLength !== undefined && value.length > maxLength) return "maxLength";
  if (format !== undefined && !(format === "regex" ? isExpression(value) : isTime(value))) return "format";
  return pattern !== undefined && !expression(pattern).test(value) ? "pattern" : undefined;
}

function numberViolation(value: number, { minimum, maximum }: JsonSchema): OwnKeyword | undefined {
  if (minimum !== undefined && value < minimum) return "minimum";
  return maximum !== undefined && value > maximum ? "maximum" : undefined;
}

function listViolation({ length }: readonly unknown[], { minItems, maxItems }: JsonSchema): OwnKeyword | undefined {
  if (minItems !== undefined && length < minItems) return "minItems";
  return maxItems !== undefined && length > maxItems ? "maxItems" : undefined;
}

const expressions = new Map<string, RegExp>();

function expression(pattern: string): RegExp {
  const cached = expressions.get(pattern);
  if (cached !== undefined) return cached;
  const compiled = new RegExp(pattern, "u");
  expressions.set(pattern, compiled);
  return compiled;
}

/** Whether the text is a JavaScript regular expression. */
export function isExpression(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp;
  } catch {
    return false;
  }
}

function isTime(text: string): boolean {
  return !Number.isNaN(existingTime(text));
}

function isOfType(value: unknown, type: NonNullable<JsonSchema["type"]>): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "null") return value === null;
  if (type === "integer") return Number.isSafeInteger(value);
  return type === "number" ? Number.isFinite(value) : typeof value === type;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Messages about the value at `place`; at most `MAX_FAULTS`. */
export function faultsOf(value: unknown, schema: JsonSchema, place: string): readonly ErrorPlace[] {
  return violations(value, schema, MAX_FAULTS).map((violation) => ({
    place: place + violation.path.map(step).join(""),
    message: messageOf(violation),
  }));
}

function step(part: string | number): string {
  return typeof part === "number" ? `[${part}]` : `.${part.slice(0, 64)}`;
}

function messageOf(violation: Violation): string {
  const { keyword, schema, found } = violation;
  switch (keyword) {
    case "required":
      return "is missing";
    case "additionalProperties":
      return `is not known.${didYouMean(String(violation.path.at(-1)), Object.keys(schema.properties ?? {}))}`;
    case "propertyNames":
      return "is not an allowed name";
    case "type":
      return `must be ${article(schema.type ?? "")}, not ${shortened(found)}`;
    case "const":
      return `must be ${JSON.stringify(schema.const)}, not ${shortened(found)}`;
    case "anyOf":
      return choiceMessage(violation);
    default:
      return boundMessage(keyword, schema, found);
  }
}

type Bound = Exclude<OwnKeyword, "type" | "const">;

function boundMessage(keyword: Bound, schema: JsonSchema, found: unknown): string {
  const length = (found as { readonly length?: number }).length;
  switch (keyword) {
    case "enum":
      return `must be one of ${(schema.enum ?? []).join(", ")}, not ${shortened(found)}.${didYouMean(typeof found === "string" ? found : "", schema.enum ?? [])}`;
    case "minLength":
      return schema.minLength === 1 ? "must not be empty" : `must have at least ${schema.minLength} characters`;
    case "maxLength":
      return `may have at most ${schema.maxLength} characters, not ${length}`;
    case "format":
      return schema.format === "regex"
        ? `must be a regular expression, not ${shortened(found)}`
        : `must be a time like 2026-01-31T12:00:00Z, not ${shortened(found)}`;
    case "pattern":
      return `must match ${schema.pattern}, not ${shortened(found)}`;
    case "minItems":
      return `must have at least ${schema.minItems} entries, not ${length}`;
    case "maxItems":
      return `may have at most ${schema.maxItems} entries, not ${length}`;
    case "maxProperties":
      return `may have at most ${schema.maxProperties} members`;
    case "minimum":
    case "maximum":
      return rangeMessage(schema, found);
    default:
      return keyword satisfies never;
  }
}

function rangeMessage({ minimum, maximum }: JsonSchema, found: unknown): string {
  if (maximum === undefined) return `must be ${minimum} or more, not ${shortened(found)}`;
  return minimum === undefined
    ? `must be ${maximum} or less, not ${shortened(found)}`
    : `must be ${minimum} to ${maximum}, not ${shortened(found)}`;
}

/** The first violation of the alternative with the right type, or else the list of alternatives. */
function choiceMessage({ schema, found, branches = [] }: Violation): string {
  const alternatives = branchesOf(schema);
  const matching = alternatives.findIndex(({ type }) => type !== undefined && isOfType(found, type));
  const [first] = branches[matching] ?? [];
  if (first !== undefined) return `${first.path.map(step).join("")} ${messageOf(first)}`.trim();
  const allowed = alternatives.map(({ type, const: only }) =>
    only !== undefined ? JSON.stringify(only) : type === undefined ? "another value" : article(type),
  );
  return `must be ${allowed.join(" or ")}, not ${shortened(found)}`;
}

function article(type: string): string {
  if (type === "null") return "null";
  return type === "integer" ? "a whole number" : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function shortened(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

/**
 * The schema language of procman: JSON Schema as data, with the type of the values that a schema describes.
 * Configuration, requests, answers, notes and plugin options are written with these builders; `schema-check.ts` checks
 * values.
 */

/** The supported part of JSON Schema (2020-12). */
export type JsonSchema = {
  /** Describes answers, which are not checked: `schema-check.ts` does not follow it. */
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: "string" | "number" | "integer" | "boolean" | "array" | "object" | "null";
  readonly const?: string | number | boolean | null;
  readonly enum?: readonly string[];
  readonly format?: "date-time" | "regex";
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly propertyNames?: JsonSchema;
  readonly maxProperties?: number;
  readonly anyOf?: readonly JsonSchema[];
  /** Checked as `anyOf`: the alternatives exclude each other. */
  readonly oneOf?: readonly JsonSchema[];
  /** Not part of the standard, and not exported: the text after "allowed:" in messages. */
  readonly allowed?: string;
};

declare const type: unique symbol;

/** A schema of values of this type. */
export type Schema<Value = unknown> = JsonSchema & { readonly [type]?: Value };

/** A member that may be absent. */
export type Optional<Value = unknown> = { readonly optional: Schema<Value> };

/** The type of the values that satisfy the schema. */
export type TypeOf<Of> = Of extends { readonly [type]?: infer Value } ? Value : never;

export type Members = Readonly<Record<string, Schema | Optional>>;
type Flat<Of> = { readonly [Name in keyof Of]: Of[Name] };
export type ObjectOf<Of extends Members> = Flat<
  { [Name in keyof Of as Of[Name] extends Optional ? never : Name]: TypeOf<Of[Name]> } & {
    [Name in keyof Of as Of[Name] extends Optional ? Name : never]?: Of[Name] extends Optional<infer Value>
      ? Value
      : never;
  }
>;

/** Any value. */
export const anything: Schema = {};

export const nullSchema: Schema<null> = { type: "null" };

export function string(more: JsonSchema = {}): Schema<string> {
  return { type: "string", ...more };
}

/** A time as ISO 8601 in UTC. */
export function time(more: JsonSchema = {}): Schema<string> {
  return { type: "string", format: "date-time", ...more };
}

export function number(more: JsonSchema = {}): Schema<number> {
  return { type: "number", ...more };
}

export function integer(more: JsonSchema = {}): Schema<number> {
  return { type: "integer", ...more };
}

export function boolean(more: JsonSchema = {}): Schema<boolean> {
  return { type: "boolean", ...more };
}

export function literal<const Value extends string | boolean>(value: Value, more: JsonSchema = {}): Schema<Value> {
  return { type: typeof value === "string" ? "string" : "boolean", const: value, ...more };
}

export function enumeration<const Words extends readonly string[]>(
  words: Words,
  more: JsonSchema = {},
): Schema<Words[number]> {
  return { type: "string", enum: words, ...more };
}

export function union<const Branches extends readonly Schema[]>(
  branches: Branches,
  more: JsonSchema = {},
): Schema<TypeOf<Branches[number]>> {
  return { anyOf: branches, ...more };
}

export function list<Value>(items: Schema<Value>, more: JsonSchema = {}): Schema<readonly Value[]> {
  return { type: "array", items, ...more };
}

/** All members have values of one kind. */
export function map<Value>(values: Schema<Value>, more: JsonSchema = {}): Schema<Readonly<Record<string, Value>>> {
  return { type: "object", ...more, additionalProperties: values };
}

export function optional<Value>(schema: Schema<Value>): Optional<Value> {
  return { optional: schema };
}

/** Exactly these members. */
export function object<const Of extends Members>(members: Of, more: JsonSchema = {}): Schema<ObjectOf<Of>> {
  return openObject(members, { additionalProperties: false, ...more });
}

/** These members; further ones are allowed and ignored. */
export function openObject<const Of extends Members>(members: Of, more: JsonSchema = {}): Schema<ObjectOf<Of>> {
  const entries = Object.entries(members);
  const required = entries.flatMap(([name, member]) => ("optional" in member ? [] : [name]));
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, member]) => [name, "optional" in member ? member.optional : member]),
    ),
    ...(required.length > 0 && { required }),
    ...more,
  };
}

/** The members of the schema of a type. */
export type MembersOf<Of> = {
  readonly [Name in keyof Of]-?: undefined extends Of[Name] ? Optional<Exclude<Of[Name], undefined>> : Schema<Of[Name]>;
};

/** The schema of a type that is declared elsewhere. A member of the type that is missing in the schema is a compile error. */
export function schemaFor<Of>(members: MembersOf<Of>, more: JsonSchema = {}): Schema<Of> {
  return openObject(members as unknown as Members, more) as Schema<Of>;
}

/** A schema of the OpenAPI document, by its name. */
export function reference<Value>(name: string, more: JsonSchema = {}): Schema<Value> {
  return { $ref: `#/components/schemas/${name}`, ...more };
}

/** The keys of objects that the schema describes, those of its alternatives included. */
export function keysOf(schema: JsonSchema): readonly string[] {
  return [...Object.keys(schema.properties ?? {}), ...branchesOf(schema).flatMap(keysOf)];
}

export function branchesOf({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] {
  return anyOf ?? oneOf ?? [];
}

/** The schema without the additions to the standard. */
export function standardSchema(schema: JsonSchema): JsonSchema {
  const { allowed: _, ...standard } = schema;
  const { properties, items, additionalProperties, propertyNames, anyOf, oneOf } = standard;
  return {
    ...standard,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, standardSchema(member)]),
      ),
    }),
    ...(items && { items: standardSchema(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: standardSchema(additionalProperties) }),
    ...(propertyNames && { propertyNames: standardSchema(propertyNames) }),
    ...(anyOf && { anyOf: anyOf.map(standardSchema) }),
    ...(oneOf && { oneOf: oneOf.map(standardSchema) }),
  };
}

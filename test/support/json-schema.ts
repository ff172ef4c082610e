/** JSON Schema in tests: a second, independent evaluator, values that satisfy a schema, and damage to values. */
import fc from "fast-check";

export type Json = { readonly [name: string]: unknown };

/**
 * Why the value does not satisfy the schema, as `#/path: keyword`; undefined: it does. Written from the specification,
 * with nothing of `src/core/base/schema-check.ts`. `definitions` are what `$ref` points to, by the whole reference.
 */
export function refusalOf(value: unknown, schema: Json, definitions: Json = {}, path = "#"): string | undefined {
  for (const [keyword, wanted] of Object.entries(schema)) {
    const evaluate = KEYWORDS[keyword];
    if (evaluate === undefined) throw new Error(`the test knows no keyword "${keyword}"`);
    const refused = evaluate({ value, wanted, schema, definitions, path });
    if (refused !== undefined) return refused === "" ? `${path}: ${keyword}` : refused;
  }
  return undefined;
}

type Evaluation = {
  readonly value: unknown;
  readonly wanted: unknown;
  readonly schema: Json;
  readonly definitions: Json;
  readonly path: string;
};

const fails = (is: boolean): "" | undefined => (is ? "" : undefined);
const isPlain = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => typeof value === "number" && value % 1 === 0,
  boolean: (value) => value === true || value === false,
  array: Array.isArray,
  object: isPlain,
  null: (value) => value === null,
};
const ignored = (): undefined => undefined;
const anyOf = ({ value, wanted, definitions, path }: Evaluation): "" | undefined =>
  fails((wanted as Json[]).every((branch) => refusalOf(value, branch, definitions, path) !== undefined));

const KEYWORDS: Readonly<Record<string, (evaluation: Evaluation) => string | undefined>> = {
  $schema: ignored,
  title: ignored,
  description: ignored,
  default: ignored,
  allowed: ignored,
  allowTrailingCommas: ignored,
  $ref: ({ value, wanted, definitions, path }) =>
    refusalOf(value, definitions[wanted as string] as Json, definitions, path),
  type: ({ value, wanted }) => fails(TYPES[wanted as string]?.(value) !== true),
  const: ({ value, wanted }) => fails(value !== wanted),
  enum: ({ value, wanted }) => fails(!(wanted as unknown[]).includes(value)),
  pattern: ({ value, wanted }) =>
    fails(typeof value === "string" && value.search(new RegExp(wanted as string, "u")) < 0),
  format: ({ value, wanted }) =>
    fails(wanted === "date-time" && typeof value === "string" && !(new Date(value).getTime() > -9e15)),
  minLength: ({ value, wanted }) => fails(typeof value === "string" && value.length < (wanted as number)),
  maxLength: ({ value, wanted }) => fails(typeof value === "string" && value.length > (wanted as number)),
  minimum: ({ value, wanted }) => fails(typeof value === "number" && value < (wanted as number)),
  maximum: ({ value, wanted }) => fails(typeof value === "number" && value > (wanted as number)),
  minItems: ({ value, wanted }) => fails(Array.isArray(value) && value.length < (wanted as number)),
  maxItems: ({ value, wanted }) => fails(Array.isArray(value) && value.length > (wanted as number)),
  maxProperties: ({ value, wanted }) => fails(isPlain(value) && Object.keys(value).length > (wanted as number)),
  items: ({ value, wanted, definitions, path }) =>
    Array.isArray(value)
      ? value.map((item, index) => refusalOf(item, wanted as Json, definitions, `${path}/${index}`)).find(Boolean)
      : undefined,
  required: ({ value, wanted, path }) => {
    const name = isPlain(value) ? (wanted as string[]).find((each) => !Object.hasOwn(value, each)) : undefined;
    return name === undefined ? undefined : `${path}/${name}: required`;
  },
  properties: ({ value, wanted, definitions, path }) =>
    isPlain(value)
      ? Object.entries(wanted as Json)
          .map(([name, member]) =>
            Object.hasOwn(value, name)
              ? refusalOf(value[name], member as Json, definitions, `${path}/${name}`)
              : undefined,
          )
          .find(Boolean)
      : undefined,
  additionalProperties: ({ value, wanted, schema, definitions, path }) => {
    if (!isPlain(value) || wanted === true) return undefined;
    const further = Object.keys(value).filter((name) => !Object.hasOwn((schema.properties ?? {}) as Json, name));
    if (wanted === false) return further.length === 0 ? undefined : `${path}/${further[0]}: additionalProperties`;
    return further.map((name) => refusalOf(value[name], wanted as Json, definitions, `${path}/${name}`)).find(Boolean);
  },
  not: ({ value, wanted, definitions }) => fails(refusalOf(value, wanted as Json, definitions) === undefined),
  propertyNames: ({ value, wanted, path }) => {
    const name = isPlain(value)
      ? Object.keys(value).find((each) => refusalOf(each, wanted as Json) !== undefined)
      : undefined;
    return name === undefined ? undefined : `${path}/${name}: propertyNames`;
  },
  anyOf,
  oneOf: ({ value, wanted, definitions, path }) =>
    fails(
      (wanted as Json[]).filter((branch) => refusalOf(value, branch, definitions, path) === undefined).length !== 1,
    ),
};

const TEXTS = [
  "a",
  "web.1",
  "10MB",
  "2GiB",
  "0.5h",
  "unlimited",
  "max",
  "{port}",
  "027",
  "https://a.org",
  "",
  " ",
  "A",
  "..",
  "\0",
  "=",
];
const WORDS = [
  ...TEXTS,
  "always",
  "cpu",
  "metric:queue",
  "tcp://h:1",
  "2026-01-31T12:00:00Z",
  "1",
  "20000-23999",
  "20260131-120000-0a1b",
  "/srv/a",
  "+0",
  `sha256-${"A".repeat(43)}=`,
  "{port:web}",
];
const NUMBERS = [0, 1, 3, 9, 10, 19, 20, -20, -21, 0.001, 0.1, 1.5, 366, 1024, 65_535, 65_536, 1e6, 2 ** 53, -0, 1e308];
const word = fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 5 }));
const amount = fc.oneof(fc.constantFrom(...NUMBERS), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer());
const any = fc.jsonValue({ maxDepth: 2 });

/** @throws {Error} no word matches the pattern: the search would never end */
function wordsOf(schema: Json): fc.Arbitrary<string> {
  const fits = (text: string): boolean => refusalOf(text, schema) === undefined;
  if (schema.pattern !== undefined && !WORDS.some(fits))
    throw new Error(`add a text to WORDS that satisfies ${JSON.stringify(schema)}`);
  return word.filter(fits);
}

/** Values that satisfy the schema. */
export function valuesOf(schema: Json): fc.Arbitrary<unknown> {
  const branches = (schema.anyOf ?? schema.oneOf) as readonly Json[] | undefined;
  if (branches !== undefined) return fc.oneof(...branches.map(valuesOf));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as readonly unknown[]));
  switch (schema.type) {
    case "string":
      return wordsOf(schema);
    case "number":
    case "integer":
      return numbersOf(schema);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(valuesOf((schema.items ?? {}) as Json), {
        minLength: Number(schema.minItems ?? 0),
        maxLength: 3,
      });
    case "object":
      return objectsOf(schema);
    default:
      return any;
  }
}

function numbersOf({ type, minimum = -1e9, maximum = 1e9 }: Json): fc.Arbitrary<number> {
  const [least, most] = [Number(minimum), Number(maximum)];
  const inside = (value: number): number =>
    Math.min(most, Math.max(least, type === "integer" ? Math.round(value) : value));
  return fc.oneof(fc.constantFrom(least, most), amount.map(inside));
}

function objectsOf({
  properties,
  required = [],
  additionalProperties = true,
  propertyNames,
}: Json): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(
    Object.entries((properties ?? {}) as Json).map(([name, member]) => [name, valuesOf(member as Json)]),
  );
  if (properties !== undefined)
    return fc.record(members, { requiredKeys: required as string[], noNullPrototype: true });
  const names = (propertyNames === undefined ? word : valuesOf(propertyNames as Json)) as fc.Arbitrary<string>;
  return fc.dictionary(names, valuesOf(additionalProperties === true ? {} : (additionalProperties as Json)), {
    maxKeys: 3,
    noNullPrototype: true,
  });
}

/** The value and all objects and lists in it. */
export function objectsIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}

type Damage = {
  readonly at: number;
  readonly key: number;
  readonly by: unknown;
  readonly how: "change" | "nudge" | "remove" | "add";
  readonly name: string;
};

export const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(50),
  key: fc.nat(50),
  by: fc.oneof(any, word, amount),
  how: fc.constantFrom("change", "nudge", "remove", "add"),
  name: fc.oneof(
    fc.constantFrom("id", "cmd", "env", "cluster", "port", "timeout", "size", "__proto__", "constructor", "length"),
    word,
  ),
});

/** Changes the value in one place. */
export function inflict(value: unknown, { at, key, by, how, name }: Damage): void {
  const all = objectsIn(value);
  const place = all[at % all.length] as Record<string, unknown>;
  const keys = Object.keys(place);
  const chosen = keys[key % Math.max(1, keys.length)] ?? "0";
  if (how === "nudge") place[chosen] = nudged(place[chosen]);
  else if (Array.isArray(place)) place[Number(chosen)] = by;
  else if (how === "remove") delete place[chosen];
  else
    Object.defineProperty(place, how === "add" ? name : chosen, {
      value: by,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}

function nudged(value: unknown): unknown {
  if (typeof value === "number") return value + 0.5;
  return typeof value === "string" ? value.slice(1) : value;
}

/** The value after a round trip through JSON. */
export function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

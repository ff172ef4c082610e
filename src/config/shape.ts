/**
 * What data may look like, as data: `fits` goes by it, and `zod-schema` makes of it the schema that explains what is wrong.
 * Making these costs next to nothing; making zod's takes longer than the check of a whole file, and is done once something is wrong.
 */

export type Shape<Value = unknown> = ShapeData & {
  /** For the types alone. */
  readonly value?: Value;
};

/** `allowed`: in words that follow "allowed:". */
export type ShapeData =
  | { readonly kind: "text"; readonly allowed: string; readonly pattern?: RegExp }
  | { readonly kind: "number"; readonly allowed: string; readonly least: number; readonly most: number; readonly whole: boolean }
  | { readonly kind: "boolean"; readonly allowed: string }
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "literal"; readonly only: string | false }
  | { readonly kind: "union"; readonly branches: readonly Shape[]; readonly allowed: string }
  | { readonly kind: "list"; readonly item: Shape; readonly allowed: string; readonly ofNone?: string }
  | { readonly kind: "object"; readonly members: Readonly<Record<string, Shape>> }
  | { readonly kind: "record"; readonly key: Text; readonly item: Shape; readonly allowed: string }
  | { readonly kind: "optional"; readonly inner: Shape }
  | { readonly kind: "anything" };

export type Text = ShapeData & { readonly kind: "text" };

type Optional<Value> = Shape<Value> & { readonly kind: "optional" };

/** The value of this shape. */
export type ValueOf<Of> = Of extends Shape<infer Value> ? Value : never;

type Members = Readonly<Record<string, Shape>>;
type OptionalKeys<Of extends Members> = { [Key in keyof Of]: Of[Key] extends { readonly kind: "optional" } ? Key : never }[keyof Of];
type Flat<Of> = { [Key in keyof Of]: Of[Key] };
type ObjectOf<Of extends Members> = Flat<
  { [Key in Exclude<keyof Of, OptionalKeys<Of>>]: ValueOf<Of[Key]> } & { [Key in OptionalKeys<Of>]?: ValueOf<Of[Key]> | undefined }
>;

export const anything: Shape<unknown> = { kind: "anything" };

export function matching(pattern: RegExp, allowed: string): Shape<string> & Text {
  return { kind: "text", pattern, allowed };
}

export function text(allowed: string): Shape<string> & Text {
  return { kind: "text", allowed };
}

/** From `least` to `most`. */
export function within(least: number, most: number, allowed: string): Shape<number> {
  return { kind: "number", least, most, whole: false, allowed };
}

export function whole(least: number, most: number, allowed: string): Shape<number> {
  return { kind: "number", least, most, whole: true, allowed };
}

export function boolean(allowed: string): Shape<boolean> {
  return { kind: "boolean", allowed };
}

export function oneOf<const Words extends readonly string[]>(words: Words): Shape<Words[number]> {
  return { kind: "words", words };
}

export function literal<const Only extends string | false>(only: Only): Shape<Only> {
  return { kind: "literal", only };
}

export function union<const Branches extends readonly Shape[]>(branches: Branches, allowed: string): Shape<ValueOf<Branches[number]>> {
  return { kind: "union", branches, allowed };
}

/** `ofNone`: why it must have an entry; without, it may be empty. */
export function list<Item extends Shape>(item: Item, allowed: string, ofNone?: string): Shape<ValueOf<Item>[]> {
  return { kind: "list", item, allowed, ...(ofNone === undefined ? {} : { ofNone }) };
}

/** With these members and no others. */
export function object<const Of extends Members>(members: Of): Shape<ObjectOf<Of>> {
  return { kind: "object", members };
}

export function record<Item extends Shape>(key: Text, item: Item, allowed: string): Shape<Record<string, ValueOf<Item>>> {
  return { kind: "record", key, item, allowed };
}

export function optional<Inner extends Shape>(inner: Inner): Optional<ValueOf<Inner>> {
  return { kind: "optional", inner };
}

/** The types of values that a JSON Schema describes, as far as it says them. */

/** Options of a plugin whose schema is written in place: `{ type: "object", properties: { file: { type: "string" } } }`. */
export type OptionsOf<Of> = unknown extends ValueOf<Of> ? Readonly<Record<string, unknown>> : ValueOf<Of>;

type ValueOf<Of> = Of extends { readonly const: infer Value }
  ? Value
  : Of extends { readonly enum: readonly (infer Word)[] }
    ? Word
    : Of extends { readonly anyOf: readonly (infer Branch)[] } | { readonly oneOf: readonly (infer Branch)[] }
      ? BranchOf<Branch>
      : Of extends { readonly properties: infer Members }
        ? MembersIn<Members, Of extends { readonly required: readonly (infer Name)[] } ? Name : never> & RestOf<Of>
        : Of extends { readonly type: infer Kind }
          ? OfKind<Kind, Of>
          : unknown;

/** The values of each branch. */
type BranchOf<Branch> = Branch extends unknown ? ValueOf<Branch> : never;

type MembersIn<Members, Required> = {
  readonly [Name in keyof Members as Name extends Required ? Name : never]: ValueOf<Members[Name]>;
} & { readonly [Name in keyof Members as Name extends Required ? never : Name]?: ValueOf<Members[Name]> };

/** Further members, where the schema describes them. */
type RestOf<Of> = Of extends { readonly additionalProperties: object } ? Readonly<Record<string, unknown>> : unknown;

type OfKind<Kind, Of> = Kind extends "string"
  ? string
  : Kind extends "number" | "integer"
    ? number
    : Kind extends "boolean"
      ? boolean
      : Kind extends "null"
        ? null
        : Kind extends "array"
          ? readonly (Of extends { readonly items: infer Items } ? ValueOf<Items> : unknown)[]
          : Readonly<
              Record<
                string,
                Of extends { readonly additionalProperties: infer Values extends object } ? ValueOf<Values> : unknown
              >
            >;

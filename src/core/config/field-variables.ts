/** References in numbers and booleans, as `"port": "${PORT:-3000}"`: they get their values before anything is checked. */
import { expand, ownMember } from "../base/interpolate.ts";
import { branchesOf, type JsonSchema } from "../base/schema.ts";
import { isObject, matches } from "../base/schema-check.ts";
import type { JsonPath } from "./document.ts";
import { type Finding, show } from "./problems.ts";

type SetVariables = Readonly<Record<string, string | undefined>>;

/** `withOrigin` adds to a finding about such a value where that comes from. */
type Substituted = { readonly data: unknown; readonly withOrigin: (finding: Finding) => Finding };

const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** A text that is valid as it is written, as in `env`, stays. */
export function withVariables(data: unknown, schema: JsonSchema, variables: SetVariables): Substituted {
  const origins = new Map<string, string>();
  const substitute = (value: unknown, schemas: readonly JsonSchema[], path: JsonPath): unknown => {
    if (!hasReference(value)) return value;
    if (typeof value === "string") {
      if (!takesVariables(value, schemas)) return value;
      const { found, origin } = replacementOf(value, schemas, variables);
      origins.set(JSON.stringify(path), origin);
      return found;
    }
    const each = (key: string | number, inner: unknown): unknown =>
      substitute(inner, membersOf(schemas, key), [...path, key]);
    if (Array.isArray(value)) return value.map((item, index) => each(index, item));
    if (!isObject(value)) return value;
    // Not by assignment: "__proto__" would set the prototype.
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, each(key, inner)]));
  };
  const substituted = substitute(data, alternativesOf(schema), []);
  return {
    data: origins.size === 0 ? data : substituted,
    withOrigin: (finding) => {
      const origin = finding.at === "key" ? undefined : origins.get(JSON.stringify(finding.path));
      return origin === undefined ? finding : { ...finding, message: `${finding.message} ${origin}` };
    },
  };
}

function hasReference(value: unknown): boolean {
  if (typeof value === "string") return value.includes("${");
  return typeof value === "object" && value !== null && Object.values(value).some(hasReference);
}

function takesVariables(text: string, schemas: readonly JsonSchema[]): boolean {
  const isTyped = schemas.some(({ type }) => type === "number" || type === "integer" || type === "boolean");
  return isTyped && !schemas.some((schema) => branchesOf(schema).length === 0 && matches(text, schema));
}

function replacementOf(
  written: string,
  schemas: readonly JsonSchema[],
  variables: SetVariables,
): { readonly found: unknown; readonly origin: string } {
  const names = new Set<string>();
  const { text, missing } = expand(written, (name) => {
    names.add(name);
    return ownMember(variables, name);
  });
  if (missing.length > 0) {
    const [name] = missing;
    return {
      found: written,
      origin: `${name} is not set: set it where procman is started, or write a default, such as "\${${name}:-1}".`,
    };
  }
  const says = [...names].map((name) => {
    const value = ownMember(variables, name);
    return `${name} is ${value === undefined ? "not set" : show(value)}`;
  });
  const [read = text, ...others] = [
    ...(NUMBER.test(text) ? [Number(text)] : []),
    ...(/^(?:true|false)$/.test(text) ? [text === "true"] : []),
    text,
  ];
  const found = [read, ...others].find((value) => schemas.some((schema) => matches(value, schema))) ?? read;
  return { found, origin: `It is written as ${show(written)}${says.length === 0 ? "" : `; ${says.join(", ")}`}.` };
}

/** The schema and its branches, at any depth. */
function alternativesOf(schema: JsonSchema): readonly JsonSchema[] {
  return [schema, ...branchesOf(schema).flatMap(alternativesOf)];
}

function membersOf(schemas: readonly JsonSchema[], key: string | number): readonly JsonSchema[] {
  return schemas.flatMap(({ items, properties, additionalProperties }) => {
    if (typeof key === "number") return items === undefined ? [] : alternativesOf(items);
    const member = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    return typeof member === "object" ? alternativesOf(member) : [];
  });
}

/** The types that schemas describe, as text in TypeScript. */
import { branchesOf, type JsonSchema } from "../src/core/base/schema.ts";

type Names = Readonly<Record<string, string>>;

/**
 * The types of these schemas, innermost first. `names`: of objects, by their paths, as `PlanRecord.processes[]`, or by the
 * member that has them, as `.end`.
 * `absent`: what a member that may be absent has beside its type.
 */
export function typesOf(schemas: Readonly<Record<string, JsonSchema>>, names: Names, absent = ""): string {
  const writer = new TypeWriter(names, absent);
  for (const [path, schema] of Object.entries(schemas)) writer.typeOf(schema, path);
  return [...writer.types.values()].join("\n\n");
}

class TypeWriter {
  readonly types = new Map<string, string>();
  readonly #names: Names;
  readonly #absent: string;

  constructor(names: Names, absent: string) {
    this.#names = names;
    this.#absent = absent;
  }

  typeOf(schema: JsonSchema, path: string): string {
    const branches = branchesOf(schema).map((branch) => this.typeOf(branch, path));
    if (schema.properties !== undefined) return this.#objectType(schema, path);
    if (branches.length > 0) return [...new Set(branches)].join(" | ");
    if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, "");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum !== undefined) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
    if (schema.type === "array") return listOf(this.typeOf(schema.items ?? {}, `${path}[]`));
    if (schema.type === "object") return `Readonly<Record<string, ${this.typeOf(mapValues(schema), `${path}{}`)}>>`;
    return schema.type === "integer" ? "number" : (schema.type ?? "unknown");
  }

  #objectType({ properties = {}, required = [], description }: JsonSchema, path: string): string {
    const members = Object.entries(properties).map(([name, member]) => {
      const type = this.typeOf(member, path === "" ? name : `${path}.${name}`);
      return required.includes(name)
        ? { comment: commentOf(member), text: `readonly ${name}: ${type};` }
        : { comment: commentOf(member), text: `readonly ${name}?: ${type}${this.#absent};` };
    });
    const name = this.#names[path] ?? this.#names[path.replace(/^.*(?=\.)/, "")];
    if (name === undefined) return `{ ${members.map(({ text }) => text.replace(/;$/, "")).join("; ")} }`;
    const lines = members.flatMap(({ comment, text }) => [...(comment === "" ? [] : [`  ${comment}`]), `  ${text}`]);
    const head = description === undefined ? "" : `/** ${description} */\n`;
    if (!this.types.has(name)) this.types.set(name, `${head}export type ${name} = {\n${lines.join("\n")}\n};`);
    return name;
  }
}

function listOf(item: string): string {
  return item.includes(" | ") ? `readonly (${item})[]` : `readonly ${item}[]`;
}

function mapValues({ additionalProperties }: JsonSchema): JsonSchema {
  return typeof additionalProperties === "object" ? additionalProperties : {};
}

function commentOf({ description, default: standard }: JsonSchema): string {
  if (description === undefined) return "";
  const text = standard === undefined ? description : `${description} Default: ${JSON.stringify(standard)}.`;
  return `/** ${text.replaceAll("*/", "*\\/")} */`;
}

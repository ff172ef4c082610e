/** The tables of docs/reference/json.md, made of `json-documents.ts`. */
import { branchesOf, type JsonSchema } from "../src/core/base/schema.ts";
import { DOCUMENTS, nameIn, PRINTED, WITHOUT_DOCUMENT } from "./json-documents.ts";
import { tableOf } from "./made-parts.ts";

const code = (word: string): string => `\`${word}\``;

/** What commands print, then each record. */
export function jsonReference(): string {
  const rows = Object.entries(PRINTED).flatMap(([command, printed = []]) =>
    printed.map(({ as, record, when = "" }) => [
      code(command),
      as === "one" ? linkTo(record) : `${as === "list" ? "list of" : "in each line one"} ${linkTo(record)}`,
      when,
    ]),
  );
  const without = Object.entries(WITHOUT_DOCUMENT).map(([command, why]) => [code(command), why ?? ""]);
  return [
    tableOf(["command", "prints", ""], rows),
    "Without a document:",
    tableOf(["command", "why"], without),
    ...namesUsed().flatMap((name) => [
      `## ${name}`,
      DOCUMENTS[name]?.description ?? "",
      tableOf(["member", "value", ""], membersOf(DOCUMENTS[name] ?? {})),
    ]),
  ].join("\n\n");
}

/** All records that a command prints, and those in them; errors first. */
function namesUsed(): readonly string[] {
  const names = new Set<string>(["ErrorLine"]);
  const visit = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    for (const inner of refsIn(DOCUMENTS[name] ?? {})) visit(inner);
  };
  for (const { record } of Object.values(PRINTED).flat()) visit(record);
  return [...names];
}

function refsIn(schema: JsonSchema): readonly string[] {
  const { $ref, properties = {}, items, additionalProperties } = schema;
  const parts = [
    ...Object.values(properties),
    ...branchesOf(schema),
    ...(items ? [items] : []),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
  ];
  return [...($ref === undefined ? [] : [nameIn($ref)]), ...parts.flatMap(refsIn)];
}

function membersOf({ properties = {}, required = [] }: JsonSchema, path = ""): readonly (readonly string[])[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const own = `${path}${name}`;
    const presence = required.includes(name) ? "" : "may be absent; ";
    const inner = schema.items ?? schema;
    return [
      [code(own), `${presence}${valueText(schema)}`, schema.description ?? inner.description ?? ""],
      ...membersOf(inner, `${own}${schema.items === undefined ? "" : "[]"}.`),
      ...branchesOf(inner).flatMap((branch) => membersOf(branch, `${own}.`)),
    ];
  });
}

function valueText(schema: JsonSchema): string {
  const { $ref, type, enum: words, const: only, format, items, additionalProperties, properties } = schema;
  if ($ref !== undefined) return linkTo(nameIn($ref));
  if (words !== undefined) return words.map((word) => code(JSON.stringify(word))).join(", ");
  if (only !== undefined) return code(JSON.stringify(only));
  if (items !== undefined) return `list of ${items.properties === undefined ? valueText(items) : "objects"}`;
  if (properties !== undefined) return "object";
  if (typeof additionalProperties === "object") return `object of ${valueText(additionalProperties)}`;
  const branches = [...new Set(branchesOf(schema).map(valueText))];
  if (branches.length > 0) return branches.join(" or ");
  return format === "date-time" ? "time" : (type ?? "any value");
}

function linkTo(name: string): string {
  return `[${code(name)}](#${name.toLowerCase()})`;
}

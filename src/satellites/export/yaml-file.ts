/** YAML with comments in front, also readable for parsers of YAML 1.1. */
import { Document } from "yaml";
import { headLines, type Note, oneLine, type Project } from "./workload.ts";

/** One document for each of the values; the comments stand before the first. */
export function yamlText(values: readonly unknown[], project: Project, notes: readonly Note[]): string {
  const head = headLines(project, notes)
    .map((line) => `# ${oneLine(line)}\n`)
    .join("");
  return (
    head +
    values.map((value) => new Document(value, OPTIONS).toString({ lineWidth: 0, directives: false })).join("---\n")
  );
}

/** No aliases: a value that occurs twice is written twice. `no` and `on` are quoted, which YAML 1.1 takes for booleans. */
const OPTIONS = { aliasDuplicateObjects: false, compat: "yaml-1.1" } as const;

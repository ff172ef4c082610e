/**
 * Writes what follows from the table of configuration fields: schema.json, the types of the library, tables of the docs.
 * With --check: fails when one of them is not up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { changeTable, libraryTypes, schemaJson } from "./configuration.ts";

/** By file: its text, made of the text that it has. */
const FILES: Readonly<Record<string, (former: string) => string>> = {
  "schema.json": () => `${JSON.stringify(schemaJson(), null, 2)}\n`,
  "src/library/configuration.ts": (former) => between(former, ["// made by scripts/schema.ts", "// end"], libraryTypes()),
  "docs/reload.md": (former) => between(former, ["<!-- made by scripts/schema.ts -->", "<!-- end -->"], changeTable()),
};

for (const [path, make] of Object.entries(FILES)) {
  const file = new URL(`../${path}`, import.meta.url);
  const former = readFileSync(file, "utf8");
  const text = make(former);
  if (former === text) continue;
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else {
    console.error(`${path} is not up to date: run \`node --import tsx scripts/schema.ts\``);
    process.exitCode = 1;
  }
}

/** The text with a new part between two marks. */
function between(text: string, [begin, end]: readonly [string, string], made: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`there is no part from "${begin}" to "${end}"`);
  return `${text.slice(0, from + begin.length)}\n\n${made}\n\n${text.slice(to)}`;
}

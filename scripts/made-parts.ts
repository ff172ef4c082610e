/** Parts of files that are made of tables of the source, between two marks. */
import { readFileSync, writeFileSync } from "node:fs";

/** By file: its text, made of the text that it has. */
export type MadeFiles = Readonly<Record<string, (former: string) => string>>;

/** Writes the files that are not up to date; with `--check` in the arguments names them, and fails. */
export function writeMade(script: string, files: MadeFiles): void {
  for (const [path, make] of Object.entries(files)) {
    const file = new URL(`../${path}`, import.meta.url);
    const former = readFileSync(file, "utf8");
    const text = make(former);
    if (former === text) continue;
    if (!process.argv.includes("--check")) writeFileSync(file, text);
    else {
      console.error(`${path} is not up to date: run \`node --import tsx ${script}\``);
      process.exitCode = 1;
    }
  }
}

/** The text with a new part between two marks. */
function between(text: string, [begin, end]: readonly [string, string], made: string): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < from) throw new Error(`there is no part from "${begin}" to "${end}"`);
  return `${text.slice(0, from + begin.length)}\n\n${made}\n\n${text.slice(to)}`;
}

/** The same in a page, between `<!-- made by SCRIPT -->` and `<!-- end -->`; `name`: of one of several parts. */
export function inPage(script: string, made: string, name = ""): (text: string) => string {
  return (text) => between(text, [`<!-- made by ${script}${name === "" ? "" : `: ${name}`} -->`, "<!-- end -->"], made);
}

/** A table of Markdown. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `|${cells.map((cell) => (cell === "" ? " " : ` ${cell.replaceAll("|", "\\|")} `)).join("|")}|`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

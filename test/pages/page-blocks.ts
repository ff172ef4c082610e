/** The examples of a page: its fenced and its indented blocks. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/product.ts";

export type Block = {
  readonly page: string;
  /** Line of its first line in the page. */
  readonly line: number;
  /** `jsonc`, `sh`, … as written behind the fence; of an indented block `sh`. */
  readonly language: string;
  readonly text: string;
  /** From the comment in the line above it, `<!-- not run: WHY -->`. */
  readonly notRun: string | undefined;
};

/** Pages whose examples users try out. CONTRIBUTING.md is for a clone: `npm test` runs what it has. */
export const PAGES: readonly string[] = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).flatMap((name) =>
    name.endsWith(".md") ? [`docs/${name}`] : [],
  ),
  ...readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("README.md"))
    .map((name) => `examples/${name}`),
].sort();

const FENCE = /^(\s*)```(\S*)$/;
const INDENT = "    ";

export function blocksOf(page: string, source: string = readFileSync(join(ROOT, page), "utf8")): readonly Block[] {
  const lines = source.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const fence = FENCE.exec(lines[at] ?? "");
    const isIndented = fence === null && isCode(lines[at]) && (lines[at - 1] ?? "") === "";
    if (fence === null && !isIndented) continue;
    const from = fence === null ? at : at + 1;
    const end = fence === null ? endOfIndented(lines, at) : lines.indexOf(`${fence[1]}\`\`\``, from);
    if (end < from) throw new Error(`${page}:${at + 1}: this block has no end`);
    const body = lines.slice(from, end).map((line) => (fence === null ? line.slice(INDENT.length) : line));
    blocks.push({
      page,
      line: from + 1,
      language: fence?.[2] ?? "sh",
      text: `${body.join("\n").trimEnd()}\n`,
      notRun: reasonAbove(lines, at),
    });
    at = end;
  }
  return blocks;
}

function isCode(line: string | undefined): boolean {
  return line?.startsWith(INDENT) === true && line.trim() !== "";
}

/** Empty lines between indented ones belong to the block. */
function endOfIndented(lines: readonly string[], from: number): number {
  let end = from;
  for (let at = from; at < lines.length && (isCode(lines[at]) || lines[at] === ""); at += 1)
    if (lines[at] !== "") end = at + 1;
  return end;
}

function reasonAbove(lines: readonly string[], at: number): string | undefined {
  const above = lines[at - 1] === "" ? lines[at - 2] : lines[at - 1];
  return /^<!-- not run: (.+) -->$/.exec(above ?? "")?.[1];
}

/**
 * Writes `llms.txt`, the list of the pages for agents (https://llmstxt.org), from docs/README.md. With --check: fails
 * when it is not up to date. With --full: writes all pages as one text to `dist/llms-full.txt`.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { writeMade } from "./made-parts.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SCRIPT = "scripts/llms.ts";
/** In the order of the list, with the folders whose pages they are. */
const PARTS = [
  ["Guide", "docs/guide"],
  ["Reference", "docs/reference"],
  ["Optional", "docs/design"],
] as const;

function textOf(page: string): string {
  return readFileSync(`${ROOT}/${page}`, "utf8");
}

function pagesIn(folder: string): readonly string[] {
  return readdirSync(`${ROOT}/${folder}`)
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `${folder}/${name}`);
}

/** Its heading, and the first sentence below it. */
function lineOf(page: string): string {
  const text = textOf(page);
  const title = /^# (.+)$/m.exec(text)?.[1] ?? page;
  const paragraph = withoutLinks(text)
    .split("\n")
    .find((line, index, lines) => index > lines.findIndex((each) => each.startsWith("# ")) && /^[A-Z`*\w]/.test(line));
  const [sentence = ""] = /^.*?(?:\.(?=\s|$)|:$)/.exec(paragraph ?? "") ?? [];
  const summary = sentence.replace(/[.:]$/, "");
  return `- [${title}](${page})${summary === "" ? "" : `: ${summary}`}`;
}

/** Links of a page lead on from its folder; here only their texts stay. */
function withoutLinks(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}

function llms(): string {
  const parts = PARTS.map(([title, folder]) => `## ${title}\n\n${pagesIn(folder).map(lineOf).join("\n")}`);
  const about =
    textOf("README.md")
      .split("\n")
      .find((line) => line.startsWith("procman starts")) ?? "";
  return [
    "# procman",
    `> ${withoutLinks(about)}`,
    "All pages in one file: `dist/llms-full.txt` of the package. For agents: [procman mcp](docs/guide/agents.md). The JSON schema of the configuration: [schema.json](schema.json).",
    ...parts,
  ].join("\n\n");
}

/** Links between pages lead to the names that stand above them. */
function full(): string {
  const pages = ["README.md", ...PARTS.slice(0, 2).flatMap(([, folder]) => pagesIn(folder))];
  return pages
    .map((page) => {
      const text = textOf(page).replaceAll(/\]\((?!\w+:|#)([^)\s]+)\)/g, (_, target: string) => {
        const [path = "", anchor] = target.split("#");
        return `](${posix.join(posix.dirname(page), path)}${anchor === undefined ? "" : `#${anchor}`})`;
      });
      return `<!-- ${page} -->\n\n${text.trim()}\n`;
    })
    .join("\n");
}

if (process.argv.includes("--full")) {
  mkdirSync(`${ROOT}/dist`, { recursive: true });
  writeFileSync(`${ROOT}/dist/llms-full.txt`, full());
} else writeMade(SCRIPT, { "llms.txt": () => `${llms()}\n` });

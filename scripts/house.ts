/**
 * The rules of the house: each folder of `src/` says in a README what it is, a file or a type has a name that no other
 * has, one place asks for the current folder, one compares the status of a process, and a doc comment names its
 * subject.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import ts from "typescript";
import { STATUSES } from "../src/core/contract/records.ts";

/** What the folder does, where to begin, who may import it, and the ways through it. */
const MAX_README_LINES = 16;

/** Names that a file may have in more than one folder: those of entries. */
const SHARED_NAMES = new Set(["main.ts", "index.ts"]);

/** Names that a type may have in more than one file: what a constructor takes. */
const SHARED_TYPES = new Set(["Options"]);

/** The one place, and what runs in programs of users. Elsewhere it would throw in a folder that was removed: `startFolder` says what is wrong. */
const CURRENT_FOLDER = {
  pattern: /\b(?:cwd\(\)|chdir\()/,
  places: new Set(["core/os/start-folder.ts", "telemetry.ts"]),
};

/** The statuses of records, and `idle`, which a slot has in place of some. */
const PROCESS_STATUSES: ReadonlySet<string> = new Set([...STATUSES, "idle"]);

/** Files that compare a status, and why they may. */
const STATUS_PLACES: Readonly<Record<string, string>> = {
  "core/supervisor/verdict.ts": "the verdicts on a slot",
  "core/contract/status-sets.ts": "the verdicts on a record",
  "core/supervisor/machine.ts": "decides on the next status",
  "core/plugins/plugin-supervisor.ts": "the status of a plugin",
  "cli/commands/status-command.ts": "the status of a plugin",
  "cli/commands/list-command.ts": "the status of a whole procman",
  "satellites/import/pm2-dump.ts": "the status that PM2 gives",
};

/** Words that stand for a subject which the comment doesn't name. */
const NAMELESS_COMMENT = /\/\*\*[\s*]+(Of|It|Those|Also)\b/g;

type Report = { readonly folders: number; readonly problems: readonly string[] };

/** 1: there are problems, or no folder, which means that the wrong folder was named. */
export function exitCodeOf({ folders, problems }: Pick<Report, "folders" | "problems">): 0 | 1 {
  return problems.length === 0 && folders > 0 ? 0 : 1;
}

export function checkHouse(root: string): Report {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file))
    .sort();
  const folders = [...new Set(files.map(dirname))].filter((folder) => folder !== ".");
  return {
    folders: folders.length,
    problems: [
      ...folders.flatMap((folder) => withoutReadme(root, folder)),
      ...sameFileNames(files),
      ...sameTypeNames(root, files),
      ...currentFolders(root, files),
      ...comparedStatuses(root, files),
      ...namelessComments(root, files),
    ],
  };
}

function withoutReadme(root: string, folder: string): string[] {
  const file = join(root, folder, "README.md");
  if (!existsSync(file)) return [`${folder}: no README.md; say what the folder does, its entry, and who may import it`];
  const lines = readFileSync(file, "utf8").trimEnd().split("\n").length;
  return lines > MAX_README_LINES ? [`${folder}/README.md: ${lines} lines, more than ${MAX_README_LINES}`] : [];
}

function sameFileNames(files: readonly string[]): string[] {
  return several(files.filter((file) => !SHARED_NAMES.has(basename(file))).map((file) => [basename(file), file])).map(
    ([name, places]) => `${name} is the name of ${places.length} files: ${places.join(", ")}`,
  );
}

function sameTypeNames(root: string, files: readonly string[]): string[] {
  const declared = files.flatMap((file) =>
    typesIn(readFileSync(join(root, file), "utf8")).map((name): [string, string] => [name, file]),
  );
  return several(declared.filter(([name]) => !SHARED_TYPES.has(name))).map(
    ([name, places]) => `type ${name} is declared in ${places.length} files: ${places.join(", ")}`,
  );
}

function currentFolders(root: string, files: readonly string[]): string[] {
  const { pattern, places } = CURRENT_FOLDER;
  return files
    .filter((file) => !places.has(file) && pattern.test(readFileSync(join(root, file), "utf8")))
    .map(
      (file) =>
        `${file}: asks for the current folder, which may have been removed; use startFolder of os/start-folder.ts`,
    );
}

function comparedStatuses(root: string, files: readonly string[]): string[] {
  return files
    .filter((file) => STATUS_PLACES[file] === undefined)
    .flatMap((file) =>
      statusComparisonsIn(readFileSync(join(root, file), "utf8")).map((line): [string, number] => [file, line]),
    )
    .map(
      ([file, line]) =>
        `${file}:${line}: compares a status; use core/supervisor/verdict.ts (slots) or core/contract/status-sets.ts (records)`,
    );
}

/** Lines with `status === "running"`, or `["running"].includes(status)`. */
function statusComparisonsIn(text: string): number[] {
  if (!text.includes("status")) return [];
  const source = ts.createSourceFile("file.tsx", text, ts.ScriptTarget.Latest);
  const lines: number[] = [];
  const visit = (node: ts.Node): void => {
    if (comparesStatus(node)) lines.push(source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return lines;
}

function comparesStatus(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) {
    const sides = [node.left, node.right];
    return COMPARISONS.has(node.operatorToken.kind) && sides.some(isStatus) && sides.some(isStatusLiteral);
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const { expression: list, name } = node.expression;
  if (name.text !== "includes" || !ts.isArrayLiteralExpression(list)) return false;
  return list.elements.some(isStatusLiteral) && node.arguments.some(isStatus);
}

const COMPARISONS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
]);

function isStatus(node: ts.Expression): boolean {
  return (
    (ts.isIdentifier(node) && node.text === "status") ||
    (ts.isPropertyAccessExpression(node) && node.name.text === "status")
  );
}

function isStatusLiteral(node: ts.Expression): boolean {
  return ts.isStringLiteral(node) && PROCESS_STATUSES.has(node.text);
}

function namelessComments(root: string, files: readonly string[]): string[] {
  return files.flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8");
    return [...source.matchAll(NAMELESS_COMMENT)].map(({ index, 1: word }) => {
      const line = source.slice(0, index).split("\n").length;
      return `${file}:${line}: a doc comment begins with "${word}"; name the subject`;
    });
  });
}

/** The names of the types, interfaces and classes that the file declares. */
function typesIn(source: string): string[] {
  const { statements } = ts.createSourceFile("file.tsx", source, ts.ScriptTarget.Latest);
  const declarations = statements.filter(
    (node) => ts.isTypeAliasDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node),
  );
  return [...new Set(declarations.flatMap(({ name }) => (name === undefined ? [] : [name.text])))];
}

/** The names that occur with more than one place. */
function several(
  pairs: readonly (readonly [name: string, place: string])[],
): [name: string, places: readonly string[]][] {
  const byName = new Map<string, string[]>();
  for (const [name, place] of pairs) byName.set(name, [...(byName.get(name) ?? []), place]);
  return [...byName].filter(([, places]) => places.length > 1);
}

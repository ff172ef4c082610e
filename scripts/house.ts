/**
 * The rules of the house: each folder of `src/` says in a README what it is, a file or a type has a name that no other has, and one
 * place asks for the current folder.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import ts from "typescript";

const MAX_README_LINES = 10;

/** Names that a file may have in more than one folder: those of entries. */
const SHARED_NAMES = new Set(["main.ts", "index.ts"]);

/** Names that a type may have in more than one file: what a constructor takes. */
const SHARED_TYPES = new Set(["Options"]);

/** The one place, and what runs in programs of users. Elsewhere it would throw in a folder that was removed: `startFolder` says what is wrong. */
const CURRENT_FOLDER = { pattern: /\b(?:cwd\(\)|chdir\()/, places: new Set(["core/os/start-folder.ts", "telemetry.ts"]) };

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
  const declared = files.flatMap((file) => typesIn(readFileSync(join(root, file), "utf8")).map((name): [string, string] => [name, file]));
  return several(declared.filter(([name]) => !SHARED_TYPES.has(name))).map(
    ([name, places]) => `type ${name} is declared in ${places.length} files: ${places.join(", ")}`,
  );
}

function currentFolders(root: string, files: readonly string[]): string[] {
  const { pattern, places } = CURRENT_FOLDER;
  return files
    .filter((file) => !places.has(file) && pattern.test(readFileSync(join(root, file), "utf8")))
    .map((file) => `${file}: asks for the current folder, which may have been removed; use startFolder of os/start-folder.ts`);
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
function several(pairs: readonly (readonly [name: string, place: string])[]): [name: string, places: readonly string[]][] {
  const byName = new Map<string, string[]>();
  for (const [name, place] of pairs) byName.set(name, [...(byName.get(name) ?? []), place]);
  return [...byName].filter(([, places]) => places.length > 1);
}

/** Trees of source files for the checks in scripts/, in a temporary folder that is removed after the tests. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";

/** Texts by path. */
export type Tree = Readonly<Record<string, string>>;

const root = mkdtempSync(join(tmpdir(), "procman-trees-"));
after(() => rmSync(root, { recursive: true }));

/** Writes the files; returns their folder. */
export function plant(tree: Tree): string {
  const folder = mkdtempSync(join(root, "tree-"));
  for (const [file, source] of Object.entries(tree)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), source);
  }
  return folder;
}

/** Where procman is installed. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** The folder of procman's package.json: the first one above a file of procman (default: the main script), in `src/` and `dist/`. */
export function packageRoot(file: string = process.argv[1] ?? ""): string {
  const start = dirname(realpathSync(file));
  for (let folder = start; ; folder = dirname(folder)) {
    if (isProcman(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) throw new Error(`Cannot find procman's package.json above ${start}`);
  }
}

function isProcman(file: string): boolean {
  return existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: unknown }).name === "procman";
}

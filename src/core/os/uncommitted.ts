/** Asks Git whether files have changes that are not committed. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Milliseconds. */
const TIMEOUT_MS = 10_000;
/** Nothing is written, and no program of the repository's configuration watches the files. */
const STATUS = ["--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain", "--untracked-files=no"];

type GitFailure = { readonly code?: string | number; readonly stderr?: string; readonly killed?: boolean };

/** Why the file must not be replaced without asking: it has such changes, or Git can't tell; undefined: it may. A file that Git doesn't know has none. */
export async function uncommittedText(file: string): Promise<string | undefined> {
  const folder = dirname(file);
  try {
    const changes = await git(folder, [...STATUS, "--", basename(file)]);
    return changes === "" ? undefined : "has changes that are not committed";
  } catch (failure) {
    const { code, stderr = "", killed } = failure as GitFailure;
    if (code === "ENOENT") return isInWorkTree(folder) ? "can't be looked up: git is not installed" : undefined;
    if (/not a git repository/i.test(stderr)) return undefined;
    const [said = ""] = stderr.replace(/^(?:fatal|error): /, "").split("\n");
    return `can't be looked up: git ${killed === true ? "doesn't answer" : `says "${said}"`}`;
  }
}

function git(folder: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, LC_ALL: "C" };
  return new Promise((resolve, reject) => {
    execFile("git", ["-C", folder, ...args], { env, timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(Object.assign(error, { stderr }));
    });
  });
}

function isInWorkTree(folder: string): boolean {
  return existsSync(join(folder, ".git")) || (dirname(folder) !== folder && isInWorkTree(dirname(folder)));
}

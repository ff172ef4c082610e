/** Fills the folder of a release: with a copy of a folder, or from an archive. */
import { execFile } from "node:child_process";
import { constants, createWriteStream, type Dirent } from "node:fs";
import {
  chmod,
  copyFile,
  lchown,
  lstat,
  mkdir,
  readdir,
  readlink,
  realpath,
  rm,
  statfs,
  symlink,
} from "node:fs/promises";
import { join, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { isNotFound, reasonOf } from "../base/errors.ts";
import { BAD_NAME, type Entry, UNKNOWN_CHARACTER } from "./release-contents.ts";

/** Files that are copied at the same time. */
const AT_ONCE = 8;
/** Milliseconds. */
const GIT_TIMEOUT_MS = 120_000;

export type ReleaseOwner = { readonly uid: number; readonly gid: number };

/** Copies what `entries` lists. `owner`: of what is made; absent: this user. */
export async function copyFolder(
  from: string,
  to: string,
  { entries, signal }: { readonly entries: readonly Entry[]; readonly signal: AbortSignal },
): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o755 });
  const folders = entries.filter(({ kind }) => kind === "folder");
  for (const { path } of folders) await mkdir(join(to, path), { mode: 0o700 });
  const files = entries.filter(({ kind }) => kind === "file")[Symbol.iterator]();
  const copyNext = async (): Promise<void> => {
    for (const { path } of files) {
      signal.throwIfAborted();
      // A file system that can shares the blocks.
      await copyFile(join(from, path), join(to, path), constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, copyNext));
  for (const { path, kind, target = "" } of entries) if (kind === "link") await symlink(target, join(to, path));
  for (const { path, mode = 0o755 } of folders) await chmod(join(to, path), mode | 0o700);
}

/** What is in a folder, but for `.git` and the places `without`, which are absolute paths; a folder before what is in it. */
export async function contentsOf(folder: string, without: readonly string[]): Promise<readonly Entry[]> {
  const skipped = new Set([...without, join(folder, ".git")]);
  const walk = async (path: string): Promise<readonly Entry[]> => {
    const found: Entry[] = [];
    for (const entry of await named(path, readdir(join(folder, path), { withFileTypes: true }))) {
      const place = join(path, entry.name);
      if (skipped.has(join(folder, place))) continue;
      // Node has lost the bytes of a name that isn't UTF-8.
      if (entry.name.includes(UNKNOWN_CHARACTER)) throw new Error(`${JSON.stringify(place)} ${BAD_NAME}`);
      found.push(await named(place, entryOf(folder, place, entry)));
      if (entry.isDirectory()) for (const inside of await walk(place)) found.push(inside);
    }
    return found;
  };
  return walk("");
}

/** @throws Error that names the entry */
async function named<Value>(path: string, found: Promise<Value>): Promise<Value> {
  try {
    return await found;
  } catch (error) {
    throw path === "" ? error : new Error(`${JSON.stringify(path)}: ${reasonOf(error)}`);
  }
}

async function entryOf(folder: string, path: string, entry: Dirent): Promise<Entry> {
  const place = join(folder, path);
  if (entry.isFile()) return { path, kind: "file", bytes: (await lstat(place)).size };
  if (entry.isDirectory()) return { path, kind: "folder", bytes: 0, mode: (await lstat(place)).mode & 0o777 };
  if (entry.isSymbolicLink()) return { path, kind: "link", target: await readlink(place), bytes: 0 };
  const other = entry.isFIFO() ? "a FIFO" : entry.isSocket() ? "a socket" : "a device";
  return { path, kind: { other }, bytes: 0 };
}

/** Another name for the same commit. @throws Error with the problem */
export async function commitOf(ref: string, repository: string): Promise<string> {
  try {
    return (await git(repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`])).trim();
  } catch (error) {
    const { message } = error as Error;
    const kind = / dereferences to (blob|tree) type/.exec(message)?.[1];
    if (kind !== undefined) throw new Error(`"${ref}" in ${repository} is a ${kind}; allowed: a commit, tag or branch`);
    if (message === "") throw new Error(`there is no commit, tag or branch "${ref}" in ${repository}`);
    if (!message.startsWith("not a git repository")) throw error;
    throw new Error(`there is no file or folder "${ref}", and no Git repository at ${repository}`);
  }
}

/** Writes a commit as an archive: all of it, also from a folder of the repository. */
export async function archiveCommit(commit: string, repository: string, file: string): Promise<void> {
  // Empty in a bare repository, which has no working tree.
  const top = join(repository, (await git(repository, ["rev-parse", "--show-cdup"])).replace(/\n$/, ""));
  const child = execFile("git", ["-C", top, "archive", "--format=tar", commit], {
    ...(await gitOptions(top)),
    encoding: "buffer",
    maxBuffer: Number.MAX_SAFE_INTEGER,
  });
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (child.stdout !== null) await pipeline(child.stdout, createWriteStream(file, { mode: 0o600 }));
  if ((await ended) !== 0) throw new Error(`git archive says: ${stderr.trim()}`);
}

async function gitOptions(
  repository: string,
): Promise<{ readonly uid?: number; readonly gid?: number; readonly env: NodeJS.ProcessEnv }> {
  const env = { ...process.env, LC_ALL: "C", GIT_TERMINAL_PROMPT: "0" };
  // Git refuses a repository of another user; as root, it is asked as that user.
  if (process.getuid?.() !== 0) return { env };
  const { uid, gid } = await lstat(repository);
  return { env: uid === 0 ? env : { ...env, HOME: "/" }, ...(uid !== 0 && { uid, gid }) };
}

async function git(repository: string, args: readonly string[]): Promise<string> {
  const options = await gitOptions(repository);
  return new Promise((resolve, reject) => {
    execFile("git", ["-C", repository, ...args], { ...options, timeout: GIT_TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const said = stderr.trim().replace(/^fatal: /, "");
      reject(new Error((error as NodeJS.ErrnoException).code === "ENOENT" ? "git is not installed" : said));
    });
  });
}

/** @throws Error if there isn't so much room */
export async function checkRoom(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (bytes >= free) throw new Error(`it needs ${megabytes(bytes)}, and ${folder} has room for ${megabytes(free)}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/**
 * After the copy: links may lead out by way of other links, and nobody but the owner needs a right to run as another user.
 *
 * @throws Error that names the link
 */
export async function finishCopy(
  release: string,
  entries: readonly Entry[],
  owner: ReleaseOwner | undefined,
): Promise<void> {
  const root = await realpath(release);
  for (const { path, kind } of [{ path: "", kind: "folder" } as const, ...entries]) {
    const place = join(release, path);
    if (kind === "link") await checkLink(path, release, root);
    else {
      const { mode } = await lstat(place);
      if ((mode & 0o7000) !== 0) await chmod(place, mode & 0o777);
    }
    if (owner !== undefined) await lchown(place, owner.uid, owner.gid);
  }
}

async function checkLink(path: string, release: string, root: string): Promise<void> {
  const target = await targetOf(join(release, path));
  if (target === undefined || target === root || target.startsWith(`${root}${sep}`)) return;
  throw new Error(`${JSON.stringify(path)} is a link that leads out of the release`);
}

/** undefined: there is nothing. */
async function targetOf(place: string): Promise<string | undefined> {
  try {
    return await realpath(place);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export async function removeRelease(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

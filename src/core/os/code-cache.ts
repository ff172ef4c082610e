/**
 * Runs a bundle with the code that V8 compiled for it at an earlier start. Node's `module.enableCompileCache` (22.1 and
 * later) does the same, but costs each command 9 ms more: docs/design/performance.md.
 */
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";
import { VERSION } from "../base/version.ts";

/** When the compiled code is written: after this many milliseconds, or at the end of the process. */
type WriteTime = number | "exit";

const NEW = ".new";
const TRIAL = ".trial";
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;
const REFUSALS: readonly string[] = [
  "EACCES",
  "EROFS",
  "EPERM",
  "ENOSPC",
  "EDQUOT",
  "ENOENT",
  "EIO",
  "EISDIR",
  "EMFILE",
  "ENFILE",
];

/** Mode bits of a folder in which other users could place code. */
const WRITABLE_BY_OTHERS = 0o022;

/** Runs a CommonJS file of ASCII characters as `require` does. Without a folder for the cache it is compiled as usual. */
export function runCached(file: string, writeAt: WriteTime): void {
  const require = createRequire(file);
  const folder = folderFor(dirname(file));
  if (folder === undefined) return void require(file);
  const cache = join(folder, cacheName(file));
  const proven = readIfWhole(cache);
  const trial = proven === undefined ? takeForTrial(cache) : undefined;
  const cachedData = proven ?? (trial === undefined ? undefined : readIfWhole(trial));
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, "latin1")}\n})`;
  const script = new Script(source, { filename: file, ...(cachedData === undefined ? {} : { cachedData }) });
  const module = { exports: {}, filename: file, id: file, loaded: true };
  // Chunks require the bundle that they belong to: they must get this module, not run the bundle again.
  require.cache[file] = module as NodeJS.Module;
  script.runInThisContext()(module.exports, require, module, file, dirname(file));
  if (trial !== undefined && cachedData !== undefined)
    for (const when of [0, "exit"] as const) schedule(() => prove(trial, cache), when);
  if (cachedData === undefined || script.cachedDataRejected)
    schedule(() => write(script.createCachedData(), cache, basename(file)), writeAt);
}

/**
 * The first process that runs with new code takes the file away under its own name, and puts it in its place once
 * it has run. So code that crashes V8 does so once: the file stays where it is, and `write` then writes no other one.
 */
function takeForTrial(cache: string): string | undefined {
  const trial = `${cache}${TRIAL}`;
  return unlessRefused(() => {
    // Another process may be trying it.
    if (statSync(trial, { throwIfNoEntry: false }) !== undefined) return undefined;
    renameSync(`${cache}${NEW}`, trial);
    return trial;
  });
}

/** `cache` beside the programs if that folder is writable, else `procman` in the user's cache folder; undefined if other users could write to it. */
function folderFor(programs: string): string | undefined {
  try {
    const folder = isWritable(programs)
      ? join(programs, "cache")
      : join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "procman");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    return uid === process.getuid?.() && (mode & WRITABLE_BY_OTHERS) === 0 ? folder : undefined;
  } catch {
    // Without a cache the start is only slower.
    return undefined;
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** V8 checks its version and flags, but only the length of the source. (All files of an npm package have the same date.) */
function cacheName(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return `${basename(file)}.${VERSION}-${process.version}-${process.arch}-${size}-${Math.round(mtimeMs)}`;
}

function schedule(act: () => void, writeAt: WriteTime): void {
  if (writeAt === "exit") process.once("exit", act);
  else setTimeout(act, writeAt).unref();
}

function prove(trial: string, cache: string): void {
  unlessRefused(() => renameSync(trial, cache));
}

/**
 * The file has the code twice, because V8 runs damaged code as it is, and crashes: a second copy is compared in a tenth
 * of the time that loading `node:zlib` for a checksum takes. undefined: there is no such file, or it is damaged.
 */
function readIfWhole(path: string): Buffer | undefined {
  const content = unlessRefused(() => readFileSync(path));
  if (content === undefined) return undefined;
  const code = content.subarray(0, content.length / 2);
  if (code.equals(content.subarray(code.length))) return code;
  unlessRefused(() => rmSync(path, { force: true }));
  return undefined;
}

/** Replaces the caches of earlier versions of the file. On the disk before it has its name: a power failure leaves no file with holes. */
function write(code: Buffer, cache: string, file: string): void {
  const folder = dirname(cache);
  const temporary = `${cache}.${process.pid}.tmp`;
  unlessRefused(() => {
    if (hasCrashed(`${cache}${TRIAL}`)) return;
    rmSync(temporary, { force: true });
    const fd = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(fd, Buffer.concat([code, code]));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    for (const name of readdirSync(folder))
      if (name.startsWith(`${file}.`) && !name.endsWith(".tmp"))
        rmSync(join(folder, name), { force: true, recursive: true });
    renameSync(temporary, `${cache}${NEW}`);
  });
}

/** What a trial has left. After a day it is forgotten, as the process may also have been killed. */
function hasCrashed(trial: string): boolean {
  const { ctimeMs = 0 } = statSync(trial, { throwIfNoEntry: false }) ?? {};
  return Date.now() - ctimeMs < FORGOTTEN_AFTER_MS;
}

/** Without a cache the start is only slower. */
function unlessRefused<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (!REFUSALS.includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return undefined;
  }
}

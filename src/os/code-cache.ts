/**
 * Runs a bundle with the code that V8 compiled for it at an earlier start. Node's `module.enableCompileCache` (22.1 and later) does
 * the same, but costs each command 9 ms more: docs/performance.md.
 */
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";
import { VERSION } from "../base/version.ts";

/** When the compiled code is written: after this many milliseconds, or at the end of the process. */
type WriteTime = number | "exit";

/** Mode bits of a folder in which other users could place code. */
const WRITABLE_BY_OTHERS = 0o022;

/** Runs a CommonJS file as `require` does. Without a folder for the cache it is compiled as usual. */
export function runCached(file: string, writeAt: WriteTime): void {
  const require = createRequire(file);
  const folder = folderFor(dirname(file));
  if (folder === undefined) return void require(file);
  const cache = join(folder, cacheName(file));
  const cachedData = readIfThere(cache);
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, "utf8")}\n})`;
  const script = new Script(source, { filename: file, ...(cachedData === undefined ? {} : { cachedData }) });
  const module = { exports: {}, filename: file, id: file, loaded: true };
  // Chunks require the bundle that they belong to: they must get this module, not run the bundle again.
  require.cache[file] = module as NodeJS.Module;
  script.runInThisContext()(module.exports, require, module, file, dirname(file));
  if (cachedData === undefined || script.cachedDataRejected)
    schedule(() => write(script.createCachedData(), cache, basename(file)), writeAt);
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

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** Replaces the caches of earlier versions of the file. */
function write(code: Buffer, cache: string, file: string): void {
  const [folder, temporary] = [dirname(cache), `${cache}.${process.pid}.tmp`];
  try {
    rmSync(temporary, { force: true });
    writeFileSync(temporary, code, { mode: 0o600, flag: "wx" });
    for (const name of readdirSync(folder))
      if (name.startsWith(`${file}.`) && !name.endsWith(".tmp")) rmSync(join(folder, name), { force: true });
    renameSync(temporary, cache);
  } catch (error) {
    if (!["EACCES", "EROFS", "EPERM", "ENOSPC", "EDQUOT", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/**
 * Runs a bundle with the code that V8 compiled for it at an earlier start. Node's own `module.enableCompileCache` (22.1 and later) does
 * the same, and takes 9 ms more of each command: docs/performance.md.
 */
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";
import { VERSION } from "../base/version.ts";

/** When the compiled code is written: after so many milliseconds, or at the end of the process. */
type Moment = number | "exit";

/** Writable for others: they could put code of their own there. */
const BY_OTHERS = 0o022;

/** Runs a CommonJS file as `require` does. Without a folder for its code it is compiled as ever. */
export function runCached(file: string, moment: Moment): void {
  const require = createRequire(file);
  const folder = folderFor(dirname(file));
  if (folder === undefined) return void require(file);
  const cache = join(folder, nameOf(file));
  const cachedData = readIfThere(cache);
  const source = `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, "utf8")}\n})`;
  const script = new Script(source, { filename: file, ...(cachedData === undefined ? {} : { cachedData }) });
  const module = { exports: {}, filename: file, id: file, loaded: true };
  // Chunks of the bundle require the file they belong to: they must find this one, not run it again.
  require.cache[file] = module as NodeJS.Module;
  script.runInThisContext()(module.exports, require, module, file, dirname(file));
  if (cachedData === undefined || script.cachedDataRejected)
    schedule(() => write(script.createCachedData(), cache, basename(file)), moment);
}

/** `cache` beside the programs, where those can be written, else `procman` below the user's own caches; undefined: neither is there for this user alone. */
function folderFor(programs: string): string | undefined {
  try {
    const folder = isWritable(programs)
      ? join(programs, "cache")
      : join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "procman");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { uid, mode } = statSync(folder);
    return uid === process.getuid?.() && (mode & BY_OTHERS) === 0 ? folder : undefined;
  } catch {
    // It is a matter of speed alone.
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

/** V8 checks its version and flags, but of the source the length alone. (Packages of npm have one date for all files.) */
function nameOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return `${basename(file)}.${VERSION}-${process.version}-${process.arch}-${size}-${Math.round(mtimeMs)}`;
}

function schedule(act: () => void, moment: Moment): void {
  if (moment === "exit") process.once("exit", act);
  else setTimeout(act, moment).unref();
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** In place of what earlier versions of this file left. */
function write(code: Buffer, cache: string, file: string): void {
  const [folder, unfinished] = [dirname(cache), `${cache}.${process.pid}.tmp`];
  try {
    writeFileSync(unfinished, code, { mode: 0o600 });
    for (const name of readdirSync(folder))
      if (name.startsWith(`${file}.`) && !name.endsWith(".tmp")) rmSync(join(folder, name), { force: true });
    renameSync(unfinished, cache);
  } catch (error) {
    if (!["EACCES", "EROFS", "EPERM", "ENOSPC", "EDQUOT", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

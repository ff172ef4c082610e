/** Loads a bundle with the code that V8 compiled for it the last time: about 10 ms less for 120 kB. (Node 20 has no `module.enableCompileCache`.) */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";
import { withFlagsOfStart } from "./young-generation.ts";

/** By then what a start needs is compiled. Milliseconds. */
const KEEP_AFTER_MS = 5_000;

/** Runs a CommonJS file as `require` does. The compiled code lies beside it, as `__pycache__` does for Python; `schedule` says when it is kept. */
export function runCompiled(file: string, schedule: (keep: () => void) => void = soon): void {
  const cache = cacheOf(file);
  const cachedData = readIfThere(cache);
  const script = run(file, cachedData);
  if (cachedData === undefined || script.cachedDataRejected) schedule(() => keep(script, file, cache));
}

function soon(keepNow: () => void): void {
  setTimeout(keepNow, KEEP_AFTER_MS).unref();
}

/** Runs the file and keeps its compiled code at once. */
export function compileNow(file: string): void {
  keep(run(file, undefined), file, cacheOf(file));
}

function run(file: string, cachedData: Buffer | undefined): Script {
  const script = new Script(Module.wrap(readFileSync(file, "utf8")), {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const require = createRequire(file);
  const module = new Module(file);
  Object.assign(module, { filename: file, loaded: true });
  // Chunks of the bundle require the file they belong to: they must find this one, not run it again.
  require.cache[file] = module;
  script.runInThisContext()(module.exports, require, module, file, dirname(file));
  return script;
}

/** V8 checks version and flags, but of the source the length alone: its time makes up for that. */
function cacheOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return `${file}.${process.version}-${process.arch}-${size}-${Math.round(mtimeMs)}.cache`;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** Only a matter of speed: a folder that can't be written goes without. */
function keep(script: Script, file: string, cache: string): void {
  const whole = `${cache}.${process.pid}.tmp`;
  try {
    writeFileSync(
      whole,
      withFlagsOfStart(() => script.createCachedData()),
    );
    for (const name of readdirSync(dirname(file)))
      if (name.startsWith(`${basename(file)}.`) && name.endsWith(".cache")) rmSync(join(dirname(file), name), { force: true });
    renameSync(whole, cache);
  } catch (error) {
    if (!["EACCES", "EROFS", "EPERM", "ENOSPC"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

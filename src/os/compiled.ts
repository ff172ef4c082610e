/** Loads a bundle with the code that V8 compiled for it the last time: about 10 ms less for 120 kB. (Node 20 has no `module.enableCompileCache`.) */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { Script } from "node:vm";
import { withFlagsOfStart } from "./v8-flags.ts";

/** By then what a start needs is compiled. Milliseconds. */
const KEEP_AFTER_MS = 5_000;

/** `schedule` says when the compiled code is kept; `isLazy`: parts of Node are loaded when they are used first. */
type Options = { readonly schedule?: (keep: () => void) => void; readonly isLazy?: boolean };

/** Runs a CommonJS file as `require` does. The compiled code lies beside it, as `__pycache__` does for Python. */
export function runCompiled(file: string, { schedule = soon, isLazy = false }: Options = {}): void {
  const cache = cacheOf(file);
  const cachedData = readIfThere(cache);
  const script = run(file, cachedData, isLazy);
  if (cachedData === undefined || script.cachedDataRejected) schedule(() => keep(script, file, cache));
}

function soon(keepNow: () => void): void {
  setTimeout(keepNow, KEEP_AFTER_MS).unref();
}

/** Runs the file and keeps its compiled code at once. */
export function compileNow(file: string): void {
  keep(run(file, undefined, false), file, cacheOf(file));
}

function run(file: string, cachedData: Buffer | undefined, isLazy: boolean): Script {
  const script = new Script(Module.wrap(readFileSync(file, "utf8")), {
    filename: file,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  const require = createRequire(file);
  const module = new Module(file);
  Object.assign(module, { filename: file, loaded: true });
  // Chunks of the bundle require the file they belong to: they must find this one, not run it again.
  require.cache[file] = module;
  script.runInThisContext()(module.exports, isLazy ? lazily(require) : require, module, file, dirname(file));
  return script;
}

/** A bundle requires at its top all parts of Node that anything in it may ever need; `node:child_process` alone takes 2 ms. */
function lazily(require: (name: string) => object): (name: string) => object {
  return (name) => {
    // It is there already, and its methods want to be called on itself.
    if (!name.startsWith("node:") || name === "node:process") return require(name);
    let loaded: object | undefined;
    const part = (): object => {
      loaded ??= require(name);
      return loaded;
    };
    return new Proxy(
      {},
      {
        get: (_, member) => Reflect.get(part(), member),
        has: (_, member) => Reflect.has(part(), member),
        ownKeys: () => Reflect.ownKeys(part()),
        getOwnPropertyDescriptor: (_, member) => ({ value: Reflect.get(part(), member), enumerable: true, configurable: true }),
      },
    );
  };
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

/** Running a bundle with code compiled at an earlier start. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

/** Any user that isn't root. */
const NOBODY = 65_534;
const MODULE = JSON.stringify(new URL("./code-cache.ts", import.meta.url).href);

function folderOf(context: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-code-cache-")));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The output of the bundle. It runs in another process, as the code is written when the process ends. */
function run(
  bundle: string,
  { env = {}, uid }: { readonly env?: NodeJS.ProcessEnv; readonly uid?: number } = {},
): string {
  // Another user may not read this checkout: so the user changes once the modules are loaded.
  const become = uid === undefined ? "" : `process.setuid(${uid});`;
  const script = `import { runCached } from ${MODULE}; ${become} runCached(${JSON.stringify(bundle)}, "exit");`;
  const args = ["--import", "tsx", "--input-type=module", "-e", script];
  return execFileSync(process.execPath, args, {
    encoding: "utf8",
    env: { ...process.env, ...env },
  }).trim();
}

test("a bundle runs as with require, its chunks find it, and one cache of its code lies beside it", (context) => {
  const folder = folderOf(context);
  const bundle = join(folder, "main.cjs");
  writeFileSync(join(folder, "chunk.cjs"), `exports.seen = require("./main.cjs").name;`);
  const source = (word: string): string =>
    `exports.name = "${word}"; console.log(require("./chunk.cjs").seen, __filename === module.filename, __dirname);`;
  for (const word of ["first", "other one"]) {
    writeFileSync(bundle, source(word));
    for (let round = 0; round < 2; round += 1) assert.equal(run(bundle), `${word} true ${folder}`);
    assert.equal(readdirSync(join(folder, "cache")).filter((name) => name.startsWith("main.cjs.")).length, 1);
  }
});

/** The only file of the cache. */
function cacheOf(folder: string): string {
  const names = readdirSync(join(folder, "cache"));
  assert.equal(names.length, 1, names.join(" "));
  return join(folder, "cache", names[0] ?? "");
}

test("damaged code is thrown away before V8 sees it, wherever the damage is, and written anew", (context) => {
  const folder = folderOf(context);
  const bundle = join(folder, "main.cjs");
  writeFileSync(bundle, `console.log("here");`);
  run(bundle);
  // The first process that uses new code, and a later one.
  for (const name of [/\.new$/, /\d$/]) {
    const cache = cacheOf(folder);
    assert.match(cache, name);
    const whole = readFileSync(cache);
    const flipped = (place: number): Buffer => Buffer.from(whole).fill((whole[place] ?? 0) ^ 4, place, place + 1);
    for (const damage of [
      flipped(0),
      flipped(whole.length >> 1),
      Buffer.from(whole).fill(0, 32),
      whole.subarray(0, 20),
      whole.subarray(0, 21),
    ]) {
      writeFileSync(cache, damage);
      assert.equal(run(bundle), "here");
      assert.deepEqual(readFileSync(cacheOf(folder)).equals(damage), false);
      rmSync(cacheOf(folder));
      writeFileSync(cache, whole);
    }
    rmSync(cache);
    mkdirSync(cache);
    assert.equal(run(bundle), "here");
    rmSync(cacheOf(folder), { recursive: true });
    writeFileSync(cache, whole);
    assert.equal(run(bundle), "here");
  }
});

test("code with which a process ended before it had run is not used again, and no other is written, for a day", (context) => {
  const folder = folderOf(context);
  const bundle = join(folder, "main.cjs");
  writeFileSync(bundle, `if (process.env.CRASH) process.kill(process.pid, "SIGKILL"); console.log("here");`);
  run(bundle);
  assert.throws(() => run(bundle, { env: { CRASH: "1" } }));
  const left = cacheOf(folder);
  for (let round = 0; round < 2; round += 1) assert.equal(run(bundle), "here");
  assert.equal(cacheOf(folder), left);
});

test("cached code that V8 rejects is replaced", (context) => {
  const folder = folderOf(context);
  const bundle = join(folder, "main.cjs");
  writeFileSync(bundle, `console.log("here");`);
  assert.equal(run(bundle), "here");
  writeFileSync(cacheOf(folder), "no code.no code.");
  for (let round = 0; round < 3; round += 1) assert.equal(run(bundle), "here");
  assert.ok(readFileSync(cacheOf(folder)).length > 100);
});

test("a folder that others can write is not used", (context) => {
  const folder = folderOf(context);
  const bundle = join(folder, "main.cjs");
  writeFileSync(bundle, `console.log("here");`);
  mkdirSync(join(folder, "cache"));
  chmodSync(join(folder, "cache"), 0o777);
  assert.equal(run(bundle), "here");
  assert.deepEqual(readdirSync(join(folder, "cache")), []);
});

test("if the installation is not writable, the cache is in the user's cache folder", (context) => {
  const folder = folderOf(context);
  const [bundle, caches] = [join(folder, "main.cjs"), join(folder, "caches")];
  writeFileSync(bundle, `console.log("here");`);
  mkdirSync(caches);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(caches, NOBODY, NOBODY);
  chmodSync(folder, 0o555);
  const user = { env: { XDG_CACHE_HOME: caches, HOME: caches, TMPDIR: caches }, ...(isRoot ? { uid: NOBODY } : {}) };
  for (let round = 0; round < 2; round += 1) assert.equal(run(bundle, user), "here");
  assert.deepEqual(
    [readdirSync(folder).sort(), readdirSync(join(caches, "procman")).length],
    [["caches", "main.cjs"], 1],
  );
  chmodSync(folder, 0o755);
});

/** Running a bundle with code compiled at an earlier start. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
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
function run(bundle: string, { env = {}, uid }: { readonly env?: NodeJS.ProcessEnv; readonly uid?: number } = {}): string {
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

test("cached code that V8 rejects is replaced", (context) => {
  const folder = folderOf(context);
  const bundle = join(folder, "main.cjs");
  writeFileSync(bundle, `console.log("here");`);
  assert.equal(run(bundle), "here");
  const [name = ""] = readdirSync(join(folder, "cache"));
  writeFileSync(join(folder, "cache", name), "no code");
  assert.equal(run(bundle), "here");
  assert.equal(run(bundle), "here");
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
  assert.deepEqual([readdirSync(folder).sort(), readdirSync(join(caches, "procman")).length], [["caches", "main.cjs"], 1]);
  chmodSync(folder, 0o755);
});

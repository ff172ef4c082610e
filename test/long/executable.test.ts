/** The single executable (`npm run executable`) on a machine without Node. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { folderWith, processExit } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";

const EXECUTABLE = join(ROOT, "results/procman");

before(() => {
  execFileSync(process.execPath, ["scripts/executable.mjs"], { cwd: ROOT, stdio: "ignore" });
});

type Outcome = { readonly code: number; readonly out: string; readonly err: string };

/** Runs it without Node, npm or anything of this checkout. */
function run(cwd: string, unpacked: string, args: readonly string[]): Promise<Outcome> {
  const env = { PATH: "/bin", HOME: cwd, PROCMAN_EXECUTABLE_DIR: unpacked };
  return new Promise((resolve) => {
    execFile(EXECUTABLE, args, { cwd, env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

function placeFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-unpacked-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("it runs commands and workers, survives kills of each part, and is upgraded by itself", async (context) => {
  const unpacked = placeFor(context);
  const folder = folderWith(context, {
    name: "test",
    processes: [
      { id: "web", cmd: "sleep 1000", autostart: true },
      { id: "worker", worker: "worker.mjs", autostart: true },
    ],
  });
  writeFileSync(join(folder, "worker.mjs"), "setInterval(() => console.log(process.execPath), 100);");
  const procman = (...args: readonly string[]): Promise<Outcome> => run(folder, unpacked, args);
  const started = await procman("run", "--detach", "--wait");
  assert.equal(started.code, 0, started.err);
  const pids = async (): Promise<readonly number[]> =>
    (JSON.parse((await procman("status", "--json")).out) as { readonly pid: number }[]).map(({ pid }) => pid);
  const first = await pids();
  assert.match((await procman("logs", "worker", "--search", "bin/node")).out, new RegExp(`${unpacked}/[^ ]+/bin/node`));
  const { pid, keeper } = JSON.parse(readFileSync(join(folder, ".procman/test/endpoint.json"), "utf8")) as Record<
    string,
    number
  >;
  for (const part of [pid, keeper]) {
    process.kill(part ?? 0, "SIGKILL");
    await processExit(part ?? 0);
    assert.deepEqual(await pids(), first);
  }
  const upgraded = await procman("upgrade");
  assert.equal(upgraded.code, 0, upgraded.err);
  assert.deepEqual(await pids(), first);
  assert.match((await procman("terminate")).out, /has ended, with its 2 processes/);
});

test("many first starts at once unpack it once; a folder that others can change is refused", async (context) => {
  const [unpacked, folder] = [placeFor(context), folderWith(context, { processes: [] })];
  const versions = await Promise.all(Array.from({ length: 4 }, () => run(folder, unpacked, ["version"])));
  assert.deepEqual(
    new Set(versions.map(({ code, out }) => `${code} ${/^\d+\.\d+\.\d+\n$/.test(out)}`)),
    new Set(["0 true"]),
  );
  const [name = "", ...others] = readdirSync(unpacked);
  assert.deepEqual(others, []);
  assert.ok(existsSync(join(unpacked, name, "dist/dashboard")));
  chmodSync(join(unpacked, name), 0o777);
  const refused = await run(folder, unpacked, ["version"]);
  assert.deepEqual([refused.code, refused.out], [69, ""]);
  assert.match(
    refused.err,
    /^procman: Cannot use .*: another user could change it; PROCMAN_EXECUTABLE_DIR names another folder$/m,
  );
});

test("a place that can't be written is named, with the remedy", async (context) => {
  const folder = folderWith(context, { processes: [] });
  mkdirSync(join(folder, "place"));
  writeFileSync(join(folder, "place/file"), "");
  const { code, err } = await run(folder, join(folder, "place/file"), ["version"]);
  assert.equal(code, 69);
  assert.match(err, /^procman: Cannot unpack it into .*place\/file: .*; PROCMAN_EXECUTABLE_DIR names another folder$/m);
});

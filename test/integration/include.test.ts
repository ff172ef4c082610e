/** 2.1: a configuration of several files, with a running procman. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { procman as command } from "../support/cli.ts";
import { folderWith, isAlive, Procman, processExit } from "../support/procman-process.ts";

function program(id: string, more: object = {}): object {
  return { id, cmd: "sleep 1000", autostart: true, ...more };
}

/** A folder with `conf.d`, and procman in it. */
async function started(
  context: TestContext,
  files: Readonly<Record<string, object>>,
  args: readonly string[] = [],
): Promise<Procman> {
  const folder = folderWith(context, {
    include: ["conf.d/*.jsonc"],
    processes: [{ id: "own", cmd: "sleep 1000", autostart: true }],
  });
  mkdirSync(join(folder, "conf.d"));
  for (const [name, process] of Object.entries(files)) put(folder, name, process);
  const running = new Procman(folder, { args });
  await running.line(/own +\| started/);
  return running;
}

/** Written beside and renamed, so that it is never half there. */
function put(folder: string, name: string, process: object): void {
  const file = join(folder, "conf.d", name);
  writeFileSync(`${file}.new`, JSON.stringify({ processes: [process] }));
  renameSync(`${file}.new`, file);
}

async function pidOf(running: Procman, id: string): Promise<number> {
  return Number(/pid (\d+)/.exec(await running.line(new RegExp(`${id} +\\| started`)))?.[1]);
}

test("plan and reload see files that are added to the folder, changed and removed; each process runs in the folder of its file", async (context) => {
  const running = await started(context, { "a.jsonc": program("a") });
  const { folder } = running;
  const pid = await pidOf(running, "a");
  assert.equal(readFileSync(`/proc/${pid}/cwd/a.jsonc`, "utf8"), readFileSync(join(folder, "conf.d/a.jsonc"), "utf8"));
  put(folder, "b.jsonc", program("b"));
  const plan = await command(folder, ["plan", "--exit-code"]);
  assert.equal(plan.code, 2, plan.err);
  assert.match(plan.out, /\bb\b/);
  assert.equal((await command(folder, ["reload"])).code, 0);
  await running.line(/b +\| started/);
  rmSync(join(folder, "conf.d/a.jsonc"));
  assert.equal((await command(folder, ["reload"])).code, 0);
  await processExit(pid);
  put(folder, "c.jsonc", program("b"));
  const refused = await command(folder, ["reload"]);
  assert.equal(refused.code, 78, refused.out);
  assert.match(
    refused.err,
    /conf\.d\/c\.jsonc:1:\d+ processes\[0\]\.id\n[\s\S]*conf\.d\/b\.jsonc:1:\d+ processes\[0\]\.id already has the same id/,
  );
});

test("no process is stopped because its file is gone when the service is killed; a reload stops it", async (context) => {
  const running = await started(context, { "a.jsonc": program("a"), "b.jsonc": program("b") });
  const { folder } = running;
  const [a, b] = [await pidOf(running, "a"), await pidOf(running, "b")];
  rmSync(join(folder, "conf.d/a.jsonc"));
  process.kill(running.helper("service"), "SIGKILL");
  await running.line(/a\.jsonc is gone, which the configuration includes; its processes go on until "procman reload"/);
  const status = await command(folder, ["status", "a", "b"]);
  assert.equal(status.code, 0, status.out + status.err);
  assert.deepEqual([isAlive(a), isAlive(b)], [true, true]);
  assert.equal((await command(folder, ["reload"])).code, 0);
  await processExit(a);
  assert.ok(isAlive(b));
});

test("--watch-config reloads when a file appears, changes or disappears", async (context) => {
  const running = await started(context, { "a.jsonc": program("a") }, ["--watch-config"]);
  const { folder } = running;
  const first = await pidOf(running, "a");
  put(folder, "b.jsonc", program("b"));
  const b = await pidOf(running, "b");
  put(folder, "a.jsonc", program("a", { env: { CHANGED: "1" } }));
  await processExit(first);
  rmSync(join(folder, "conf.d/b.jsonc"));
  await processExit(b);
});

test("append writes to the main file, remove to the file that has the process, whose comments and layout stay", async (context) => {
  const folder = folderWith(context, { include: ["conf.d/*.jsonc"], processes: [] });
  mkdirSync(join(folder, "conf.d"));
  const text =
    '{\n  // team a\n  "processes": [\n    { "id": "a", "cmd": "x", "autostart": true }, // first\n    { "id": "b", "cmd": "x", "autostart": true }\n  ]\n}\n';
  writeFileSync(join(folder, "conf.d/team.jsonc"), text);
  const appended = await command(folder, ["append", "--id", "own", "--cmd", "x"]);
  assert.deepEqual([appended.code, /procman\.jsonc?: added "own"/.test(appended.out)], [0, true], appended.err);
  const twice = await command(folder, ["append", "--id", "a", "--cmd", "y"]);
  assert.match(twice.err, /conf\.d\/team\.jsonc:4:13 processes\[0\]\.id/);
  assert.equal(twice.code, 78);
  const removed = await command(folder, ["remove", "a"]);
  assert.deepEqual([removed.code, removed.out.includes('conf.d/team.jsonc: removed "a"')], [0, true], removed.err);
  assert.equal(
    readFileSync(join(folder, "conf.d/team.jsonc"), "utf8"),
    '{\n  // team a\n  "processes": [\n    { "id": "b", "cmd": "x", "autostart": true }\n  ]\n}\n',
  );
  assert.match((await command(folder, ["remove", "none"])).err, /Cannot remove "none": no such process/);
  const valid = await command(folder, ["validate"]);
  assert.match(valid.out, /valid, 2 processes/);
});

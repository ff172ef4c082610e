/** A project folder that is copied with its state folder, or moved: each command acts on the procman of its own folder. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { keeperIn, procman } from "../support/cli.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { childrenOf, nameOf } from "../support/proc-files.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";

const STEADY = { id: "a", cmd: "exec sleep 1000", autostart: true, restart: "always" };

type Project = { readonly app: string; readonly state: string; readonly copy: string; readonly name: string };

/** A procman that runs in `app`. */
async function project(context: TestContext, more: readonly object[] = []): Promise<Project> {
  const root = mkdtempSync(join(tmpdir(), "procman-copied-"));
  const [app, copy, name] = [join(root, "app"), join(root, "app2"), `copied-${process.pid}`];
  context.after(async () => {
    for (const folder of [app, copy]) {
      const keeper = keeperIn(join(folder, ".procman", name));
      if (keeper === 0) continue;
      process.kill(keeper, "SIGTERM");
      await processExit(keeper);
    }
    rmSync(root, { recursive: true, force: true });
  });
  execFileSync("mkdir", [app]);
  writeFileSync(join(app, "procman.json"), JSON.stringify({ name, processes: [STEADY, ...more] }));
  assert.equal((await procman(app, ["run", "--detach"])).code, 0);
  return { app, copy, name, state: join(app, ".procman", name) };
}

async function recordOf(folder: string): Promise<ProcessRecord | undefined> {
  const { code, out } = await procman(folder, ["status", "a", "--json"]);
  return code === 0 ? [JSON.parse(out) as ProcessRecord].flat()[0] : undefined;
}

/** Stopped first, so that none starts a keeper. */
async function killAll({ state }: Project): Promise<void> {
  const keeper = keeperIn(state);
  const parts = [keeper, ...childrenOf(keeper).filter((pid) => nameOf(pid).startsWith("procman: "))];
  for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const part of parts) process.kill(part, signal);
  for (const part of parts) await processExit(part);
}

/** Once this run is up. */
async function runningOf(folder: string, run: number): Promise<ProcessRecord> {
  for (const end = performance.now() + 30_000; ; ) {
    const record = await recordOf(folder);
    if (record?.run === run && record.status === "running") return record;
    assert.ok(performance.now() < end, JSON.stringify(record));
  }
}

function copyOf({ app, copy }: Project): void {
  execFileSync("cp", ["-a", app, copy]);
}

/** As 1.0.0 wrote them: without the folder. */
function asBefore(state: string): void {
  for (const path of [...readdirSync(state).filter((name) => /^lock\./.test(name)), "run/journal"]) {
    const file = join(state, path);
    const [head = "", ...rest] = readFileSync(file, "utf8").split("\n");
    const {
      folder: _folder,
      lineage: _lineage,
      ...claim
    } = JSON.parse(head) as { readonly folder?: unknown; readonly lineage?: unknown };
    writeFileSync(file, [JSON.stringify(claim), ...rest].join("\n"));
  }
}

for (const version of ["this version", "1.0.0"])
  test(`commands in a copy don't reach the original, and a run there starts as new: records of ${version}`, async (context) => {
    const cluster = { instances: 1, startPort: await freeRange(), commonPort: await freePort() };
    const its = await project(context, [{ id: "pool", cmd: "exec sleep 1000", autostart: true, cluster }]);
    const pid = (await recordOf(its.app))?.pid;
    if (version === "1.0.0") asBefore(its.state);
    copyOf(its);
    for (const args of [
      ["status"],
      ["stop", "a"],
      ["restart", "a"],
      ["reload"],
      ["upgrade"],
      ["scale", "pool", "2"],
      ["terminate"],
    ]) {
      const { code, err } = await procman(its.copy, args);
      assert.equal(code, 69, `${args.join(" ")}: ${err}`);
      assert.match(err, /none is running for .*app2\/\.procman\/.*Start it with "procman run"/, args[0]);
    }
    assert.equal((await recordOf(its.app))?.pid, pid);
    // The port of the balancer and those of the instances are taken.
    writeFileSync(join(its.copy, "procman.json"), JSON.stringify({ name: its.name, processes: [STEADY] }));
    const second = await procman(its.copy, ["run", "--detach"]);
    assert.equal(second.code, 0, second.err);
    assert.match(
      second.err,
      /app2\/\.procman\/\S+ has the records of \S+\/app\/\.procman\/\S+, as a copied folder has them: .*starts as new/,
    );
    const own = (await recordOf(its.copy))?.pid;
    assert.ok(own !== undefined && own !== pid && isAlive(own));
    assert.equal((await recordOf(its.copy))?.run, 1);
    assert.match((await procman(its.copy, ["terminate"])).out, /has ended/);
    assert.equal((await recordOf(its.app))?.pid, pid);
    assert.match((await procman(its.app, ["terminate"])).out, /has ended/);
  });

for (const version of ["this version", "1.0.0"])
  test(`the original was killed: a run in the copy adopts nothing, one in the original everything: records of ${version}`, async (context) => {
    const its = await project(context);
    const pid = (await recordOf(its.app))?.pid;
    if (version === "1.0.0") asBefore(its.state);
    copyOf(its);
    await killAll(its);
    assert.match((await procman(its.copy, ["status"])).err, /none is running for .*app2.*Start it with "procman run"/);
    assert.equal((await procman(its.copy, ["run", "--detach"])).code, 0);
    const own = (await recordOf(its.copy))?.pid;
    assert.ok(own !== undefined && own !== pid);
    assert.equal((await procman(its.app, ["run", "--detach"])).code, 0);
    assert.equal((await recordOf(its.app))?.pid, pid);
    for (const folder of [its.copy, its.app]) assert.equal((await procman(folder, ["terminate"])).code, 0);
  });

test("a moved project: commands in the new place reach the procman, which continues for the old place, until it has ended", async (context) => {
  const its = await project(context);
  const pid = (await recordOf(its.app))?.pid;
  renameSync(its.app, its.copy);
  assert.equal((await recordOf(its.copy))?.pid, pid);
  await eventually(() => keeperIn(its.state) || undefined);
  assert.equal((await recordOf(its.copy))?.pid, pid);
  assert.match((await procman(its.copy, ["run", "--detach"])).err, /already running/);
  const ended = await procman(its.copy, ["terminate"]);
  assert.deepEqual([ended.code, ended.out], [0, `${its.name} has ended, with its process\n`], ended.err);
  assert.match((await procman(its.copy, ["status"])).err, /none is running for .*Start it with "procman run"/);
  assert.equal((await procman(its.copy, ["run", "--detach"])).code, 0);
  assert.ok(![undefined, pid].includes((await recordOf(its.copy))?.pid));
});

test("a project that was moved while procman was killed: the next run adopts its processes, and restarts them in the new folder", async (context) => {
  const its = await project(context);
  const pid = (await recordOf(its.app))?.pid;
  await killAll(its);
  renameSync(its.app, its.copy);
  assert.match((await procman(its.copy, ["status"])).err, /It was killed, and its processes may still be running/);
  assert.equal((await procman(its.copy, ["run", "--detach"])).code, 0);
  const { run, pid: own = 0 } = await runningOf(its.copy, 2);
  assert.deepEqual([isAlive(pid ?? 0), isAlive(own), run], [false, true, 2]);
});

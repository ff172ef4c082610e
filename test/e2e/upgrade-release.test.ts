/** From the last release to this version while everything runs: docs/reference/reliability.md. The fixture is the packed 1.0.0, its programs alone. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import type { UpgradeReport } from "../../src/core/ipc/upgrade-protocol.ts";
import type { PartName } from "../../src/core/os/part-title.ts";
import { homeOf, keeperIn, type Outcome } from "../support/cli.ts";
import { DRAINING_SERVER, LoadGenerator } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually, processExit } from "../support/procman-process.ts";
import { PACKAGE } from "../support/product.ts";
import { CURRENT, installRelease, run, type Version } from "../support/versions.ts";

const NUMBER = (JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { readonly version: string })
  .version;

/** Writes numbered lines without a pause; `count` is what it has written when it ends. */
const PRINTER = `const { writeSync, writeFileSync } = require("node:fs");
let n = 0;
process.on("SIGTERM", () => { writeFileSync("count", String(n)); process.exit(0); });
(function print() {
  let text = "";
  for (let i = 0; i < 100; i++) text += \`line \${++n} é\\n\`;
  for (let bytes = Buffer.from(text); bytes.length > 0; ) bytes = bytes.subarray(writeSync(1, bytes));
  setTimeout(print, 5);
})();`;

type Running = { readonly folder: string; readonly state: string; readonly old: Version; readonly load: LoadGenerator };

async function runningRelease(context: TestContext): Promise<Running> {
  const [commonPort, startPort] = [await freePort(), await freeRange()];
  const { folder, state } = homeOf(context, [
    { id: "printer", cmd: "node printer.js", autostart: true, logger: { stdout: "printer.log" } },
    {
      id: "web",
      cmd: `node ${DRAINING_SERVER}`,
      autostart: true,
      restart: "always",
      cluster: { instances: 2, startPort, commonPort },
    },
    { id: "job", cmd: "echo done", cron: "* * * * * *" },
    { id: "broken", cmd: "exit 3", autostart: true, restartLimit: 0 },
    { id: "blocked", cmd: "sleep 1000", autostart: true },
  ]);
  writeFileSync(join(folder, "printer.js"), PRINTER);
  const old = installRelease(folder);
  const { code, err } = await run(old, folder, "run", "--detach");
  assert.ok(code === 0 || /broken/.test(err), err);
  for (const action of ["stop", "block"]) assert.equal((await run(old, folder, action, "blocked")).code, 0);
  const load = new LoadGenerator(context, commonPort, 4);
  await eventually(() => (load.requests > 50 ? true : undefined));
  return { folder, state, old, load };
}

/** Of all that runs, by id. */
async function pidsBy(installed: Version, folder: string): Promise<Readonly<Record<string, number>>> {
  const { code, out, err } = await run(installed, folder, "status", "--json");
  assert.ok(code === 0 || code === 3, err);
  const records = (JSON.parse(out) as readonly ProcessRecord[]).flatMap((each) => each.instances ?? [each]);
  return Object.fromEntries(records.flatMap(({ id, pid }) => (pid === undefined || id === "job" ? [] : [[id, pid]])));
}

function pidOf(part: PartName, state: string): number | undefined {
  const keeper = keeperIn(state);
  if (part === "keeper") return keeper > 1 ? keeper : undefined;
  const found = spawnSync("pgrep", ["--parent", String(keeper), "--full", `^procman.*: ${part}`], {
    encoding: "utf8",
  }).stdout.trim();
  return found === "" ? undefined : Number(found);
}

async function killPart(part: PartName, state: string): Promise<void> {
  const pid = pidOf(part, state) ?? assert.fail(part);
  process.kill(pid, "SIGKILL");
  await processExit(pid);
  await eventually(() => pidOf(part, state));
}

async function servesMore(load: LoadGenerator): Promise<void> {
  const { requests } = load;
  await eventually(() => (load.requests > requests + 50 ? true : undefined));
}

function checkLines(folder: string, { out }: Outcome): void {
  const lines = readFileSync(join(folder, "printer.log"), "utf8").split("\n").slice(0, -1);
  assert.equal(lines.length, Number(readFileSync(join(folder, "count"), "utf8")), out);
  for (const [index, line] of lines.entries())
    if (line !== `line ${index + 1} é`) assert.fail(`line ${index + 1} is ${JSON.stringify(line)}`);
}

test("1.0.0 is upgraded under load, then its service and its keeper are killed: no process restarts, no request fails, no line is lost", async (context) => {
  const { folder, state, old, load } = await runningRelease(context);
  const before = await pidsBy(old, folder);
  assert.deepEqual(Object.keys(before), ["printer", "web-1", "web-2"]);
  const upgraded = await run(CURRENT, folder, "upgrade", "--json");
  assert.equal(upgraded.code, 0, upgraded.err);
  const { steps } = JSON.parse(upgraded.out) as UpgradeReport;
  assert.deepEqual(
    steps.map(({ part, from, to, ok }) => [part, from, to, ok]),
    ["service", "logger", "balancer"].map((part) => [part, "1.0.0", NUMBER, true]),
  );
  await servesMore(load);
  assert.deepEqual(await pidsBy(CURRENT, folder), before);
  for (const part of ["service", "keeper"] as const) {
    await killPart(part, state);
    await servesMore(load);
    assert.deepEqual(await pidsBy(CURRENT, folder), before);
  }
  const parts = JSON.parse((await run(CURRENT, folder, "status", "--json", "blocked")).out) as
    | ProcessRecord
    | readonly ProcessRecord[];
  assert.equal([parts].flat()[0]?.blocked, true, "what was asked for is not forgotten");
  const endpoint = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint;
  assert.equal(endpoint.version, NUMBER);
  await load.stop();
  assert.deepEqual(load.errors, []);
  const ended = await run(CURRENT, folder, "terminate");
  assert.equal(ended.code, 0, ended.err);
  checkLines(folder, ended);
});

test("all parts of 1.0.0 are killed at once: this version adopts its processes, with what was asked for", async (context) => {
  const { folder, state, old, load } = await runningRelease(context);
  await load.stop();
  const before = await pidsBy(old, folder);
  const parts = (["keeper", "service", "logger", "balancer"] as const).map(
    (part) => pidOf(part, state) ?? assert.fail(part),
  );
  // Stopped first, so that none of them replaces another.
  for (const signal of ["SIGSTOP", "SIGKILL"]) for (const pid of parts) process.kill(pid, signal);
  for (const pid of parts) await processExit(pid);
  const { code, err } = await run(CURRENT, folder, "run", "--detach");
  assert.ok(code === 0 || /broken/.test(err), err);
  assert.deepEqual(await pidsBy(CURRENT, folder), before);
  assert.ok(keeperIn(state) > 1);
  for (const part of ["logger", "balancer"] as const) {
    await killPart(part, state);
    assert.deepEqual(await pidsBy(CURRENT, folder), before);
  }
  const ended = await run(CURRENT, folder, "terminate");
  assert.equal(ended.code, 0, ended.err);
  // What a killed logger had read may be lost, not what comes later.
  const count = readFileSync(join(folder, "count"), "utf8");
  assert.match(readFileSync(join(folder, "printer.log"), "utf8"), new RegExp(`\\nline ${count} é\\n$`));
});

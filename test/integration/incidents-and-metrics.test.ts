/** Incidents and metrics of real processes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import { IncidentLog } from "../../src/core/incidents/incident-log.ts";
import { SeriesStore } from "../../src/core/metrics/series-store.ts";
import { allProcesses } from "../../src/core/os/process-stat.ts";
import { procman as cli } from "../support/cli.ts";
import { api } from "../support/plugin-rig.ts";
import { eventually, type Procman, processExit, startProcman } from "../support/procman-process.ts";

const BURN_CPU = fileURLToPath(new URL("../programs/burn-cpu.js", import.meta.url));
const pidIn = (line: string): number => Number(/pid (\d+)/.exec(line)?.[1]);

/** CPU time that a process has used. Milliseconds. */
function cpuMsOf(pid: number): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}

/** Polls until a process has `count` incidents and `isLast` is true for the last. */
async function incidents(
  procman: Procman,
  id: string,
  count: number,
  isLast = (_: Incident): boolean => true,
): Promise<readonly Incident[]> {
  return eventually(
    async () => {
      const all = (await new IncidentLog(procman.stateDir, assert.fail).read(id)).map(({ incident }) => incident);
      const last = all.at(-1);
      return all.length >= count && last !== undefined && isLast(last) ? all : undefined;
    },
    { what: `${count} incidents of ${id}` },
  );
}

test("each end of a run has an incident: code, signal, timeout, request, failed start, and the end of procman", async (context) => {
  const procman = await startProcman(context, [
    { id: "crash", cmd: "sleep 0.2; exit 3", autostart: true, restartLimit: 0 },
    { id: "victim", cmd: "sleep 1000", autostart: true, restart: "always", restartDelayMs: 100 },
    { id: "slow", cmd: "sleep 1000", autostart: true, timeout: 1 },
    { id: "web", cmd: "sleep 1000", autostart: true },
    { id: "nowhere", cmd: "/nowhere/program", autostart: true },
  ]);
  process.kill(pidIn(await procman.line(/^victim .* started/)), "SIGUSR1");
  const [crash] = await incidents(procman, "crash", 1);
  assert.deepEqual([crash?.cause, crash?.code, crash?.run], ["exit", 3, 1]);
  assert.match(crash?.reason ?? "", /^exited with code 3 after /);
  assert.equal(crash?.decision, "none: no restart is allowed");
  const [victim] = await incidents(procman, "victim", 1);
  assert.deepEqual([victim?.cause, victim?.signal], ["signal", "SIGUSR1"]);
  assert.match(victim?.decision ?? "", /^restart 1 in \d+ ms$/);
  const [slow] = await incidents(procman, "slow", 1);
  assert.deepEqual([slow?.cause, slow?.signal], ["timeout", "SIGTERM"]);
  const [nowhere] = await incidents(procman, "nowhere", 1);
  assert.equal(nowhere?.cause, "unstartable");
  await api(procman, "/processes/web/stop", { method: "POST", consumer: "deploy" });
  const [web] = await incidents(procman, "web", 1);
  assert.deepEqual([web?.cause, web?.by, web?.decision], ["operator", "deploy", "none: it was stopped"]);
  await procman.stop();
  assert.equal((await incidents(procman, "victim", 2))[1]?.cause, "shutdown");
});

test("earlier incidents are known after a kill of the service, and ends in the meantime are reported once", async (context) => {
  const procman = await startProcman(context, [
    { id: "web", cmd: "sleep 1000", autostart: true, restart: "always", restartDelayMs: 50 },
    { id: "once", cmd: "sleep 1000", autostart: true },
  ]);
  process.kill(pidIn(await procman.line(/^web .* started/)), "SIGKILL");
  await incidents(procman, "web", 1);
  const pid = pidIn(await procman.line(/^once .* started/));
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  process.kill(pid, "SIGKILL");
  await processExit(service);
  const [once, ...others] = await incidents(procman, "once", 1);
  assert.deepEqual([once?.cause, once?.signal, once?.pid, others.length], ["signal", "SIGKILL", pid, 0]);
  const again = await eventually(() => procman.lines.filter((line) => /^web .* started/.test(line))[1]);
  process.kill(pidIn(again), "SIGKILL");
  assert.equal((await incidents(procman, "web", 2)).length, 2);
});

test("incidents of a restart storm are thinned out on disk, and the last one is kept", async (context) => {
  const procman = await startProcman(context, [
    { id: "storm", cmd: "exit 1", autostart: true, restart: "always", restartDelayMs: 0, restartLimit: 300 },
  ]);
  await procman.line(/300 restarts are used up/);
  const last = await incidents(
    procman,
    "storm",
    2,
    ({ decision }) => decision === "none: its 300 restarts are used up",
  );
  assert.ok(last.length < 60, `${last.length} incidents`);
  assert.equal(
    last.reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0),
    301,
  );
});

test("CPU and memory include the whole process tree, also a process that left the session, and survive a restart of the service", async (context) => {
  const procman = await startProcman(context, [
    { id: "burn", cmd: `exec node ${BURN_CPU}`, autostart: true },
    { id: "idle", cmd: "sleep 1000", autostart: true },
  ]);
  const burner = pidIn(await procman.line(/burn .*started/));
  const child = await eventually(async () => allProcesses().find(({ parent }) => parent === burner)?.pid, {
    what: "the child that burns",
  });
  const [began, usedBefore] = [performance.now(), cpuMsOf(child)];
  const seen = await eventually(
    async () => {
      const records = await api<readonly ProcessRecord[]>(procman, "/processes");
      const numbers = records.map(({ cpuPercent, memoryBytes }) => [cpuPercent ?? -1, memoryBytes ?? -1] as const);
      const [burn] = numbers;
      // What the child gets depends on what else the machine does; the process itself uses next to nothing.
      const usedMs = cpuMsOf(child) - usedBefore;
      const ownPercent = (100 * usedMs) / (performance.now() - began);
      const isBurning = usedMs > 1_000 && (burn?.[0] ?? 0) > ownPercent / 3 && (burn?.[1] ?? 0) > 50 * 1_048_576;
      return isBurning && numbers.every(([cpu]) => cpu >= 0) ? numbers : undefined;
    },
    { what: "the numbers of a process that burns" },
  );
  assert.ok((seen[0]?.[1] ?? 0) < 500 * 1_048_576);
  assert.ok((seen[1]?.[0] ?? 99) < 5 && (seen[1]?.[1] ?? 0) < 10 * 1_048_576, JSON.stringify(seen[1]));
  const store = new SeriesStore({ stateDir: procman.stateDir, hours: () => 24, report: assert.fail });
  const read = async () => (await store.read(["burn"], 0, Number.POSITIVE_INFINITY, Date.now())).get("burn") ?? [];
  const before = await eventually(async () => ((await read()).length > 0 ? read() : undefined), {
    what: "a point on disk",
  });
  assert.ok(before.every(({ processes }) => processes >= 1));
  process.kill(procman.helper("service"), "SIGKILL");
  const after = await eventually(
    async () => {
      const points = await read();
      return points.length > before.length ? points : undefined;
    },
    { what: "a point of the next service" },
  );
  assert.deepEqual(after.slice(0, before.length), before);
});

test("the incident of a crash says where its core dump is, and `why` names it", async (context) => {
  const pattern = readFileSync("/proc/sys/kernel/core_pattern", "utf8");
  const procman = await startProcman(context, [
    { id: "web", cmd: "kill -SEGV $$", autostart: true, restart: "never", ulimits: { core: "unlimited" } },
    { id: "killed", cmd: "kill -KILL $$", autostart: true, restart: "never", ulimits: { core: "unlimited" } },
  ]);
  await procman.line(/^web .* started/);
  const [web] = await incidents(procman, "web", 1, ({ end }) => end?.core !== undefined);
  const { file, program = "" } = web?.end?.core ?? {};
  const where = file ?? program;
  assert.ok(file === undefined ? pattern.startsWith(`|${program}`) : statSync(file).size > 0, JSON.stringify(web));
  const why = await cli(procman.folder, ["why", "web"]);
  assert.ok(why.out.includes(where) && where !== "", why.out);
  const [killed] = await incidents(procman, "killed", 1);
  assert.equal(killed?.end?.core, undefined);
});

test("a run whose last lines say that its port is in use names the program that has it, without `ready` and without a cluster", async (context) => {
  const holder = createServer().listen(0, "127.0.0.1");
  await once(holder, "listening");
  context.after(() => holder.close());
  const { port } = holder.address() as AddressInfo;
  const listen = `exec node -e 'require("net").createServer().listen(${port}, "127.0.0.1")'`;
  const procman = await startProcman(context, [
    { id: "node", cmd: listen, autostart: true, restart: "never" },
    { id: "python", cmd: `exec python3 -m http.server ${port} --bind 127.0.0.1`, autostart: true },
    { id: "other", cmd: `echo no database at ${port}; exit 1`, autostart: true },
  ]);
  await procman.line(/^node .* started/);
  const held = new RegExp(
    `\\(its port ${port} is in use by .+ \\(pid ${process.pid}\\); stop it, or choose another port\\)`,
  );
  for (const id of ["node", "python"]) {
    const [incident] = await incidents(procman, id, 1, ({ lines }) => lines.length > 0);
    assert.match(incident?.reason ?? "", held);
    assert.equal(incident?.end?.port?.port, port);
  }
  const [other] = await incidents(procman, "other", 1, ({ lines }) => lines.length > 0);
  assert.doesNotMatch(other?.reason ?? "", /is in use by/);
  const why = await cli(procman.folder, ["why", "node"]);
  assert.match(why.out, held);
  assert.doesNotMatch(why.out, /may say why/, "it is known why");
  await cli(procman.folder, ["start", "node", "--no-wait"]);
  await procman.line(new RegExp(`^node +\\| exited with code 1 ${held.source}`));
  const status = await cli(procman.folder, ["status", "node", "--json"]);
  assert.match((JSON.parse(status.out) as readonly ProcessRecord[])[0]?.reason ?? "", held);
});

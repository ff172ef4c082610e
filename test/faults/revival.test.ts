/** What killed keepers leave: loggers that still read, services that try to start another keeper. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkDiary } from "../support/diary-check.ts";
import {
  type FaultRig,
  folderFor,
  program,
  startRig,
  successor,
  waitForGrowth,
  waitForOutput,
} from "../support/fault-rig.ts";
import { kill } from "../support/marked-processes.ts";
import { eventually, processExit } from "../support/procman-process.ts";

const printer = (folder: string) => ({
  id: "print",
  cmd: program(folder, "printer", "print", 100_000, 20),
  autostart: true,
  logger: { stdout: "logs/print.log" },
});

/** Kills the keeper; resolves once the next one has its service and its logger. */
async function killKeeper({ procman, records, killPart }: FaultRig): Promise<void> {
  const before = procman.parts();
  killPart("keeper");
  await successor(procman, "keeper", before.keeper);
  await successor(procman, "logger", before.logger);
  await records();
}

test("two keepers are killed while the first logger is stopped: it continues, then hands over to the third one, with its unfinished line", async (context) => {
  const folder = folderFor(context);
  const halves = "printf 'one half and '; while [ ! -e go ]; do sleep 0.1; done; echo the other; exec sleep 1000";
  const rig = await startRig(context, folder, [
    printer(folder),
    { id: "halves", cmd: halves, autostart: true, restart: "always", logger: { stdout: "logs/halves.log" } },
  ]);
  await waitForGrowth(rig, "print");
  const [first = 0] = rig.procman.parts().logger;
  kill(first, "SIGSTOP");
  await killKeeper(rig);
  await killKeeper(rig);
  assert.ok(rig.procman.parts().logger.includes(first));
  kill(first, "SIGCONT");
  await eventually(() => (rig.procman.parts().logger.includes(first) ? undefined : true));
  await waitForGrowth(rig, "print");
  writeFileSync(join(folder, "go"), "");
  const log = join(folder, "logs/halves.log");
  assert.equal(await eventually(() => readFileSync(log, "utf8") || undefined), "one half and the other\n");
  assert.deepEqual(await rig.verdict(), []);
});

test("a service that tries to start a keeper too late starts nothing: everything was stopped in order meanwhile", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [printer(folder)]);
  await waitForGrowth(rig, "print");
  const { service, keeper } = rig.procman.parts();
  for (const pid of service) kill(pid, "SIGSTOP");
  rig.killPart("keeper");
  await successor(rig.procman, "keeper", keeper);
  await rig.records();
  const verdict = rig.verdict();
  await eventually(() => (existsSync(join(rig.procman.stateDir, "endpoint.json")) ? undefined : true));
  await eventually(() => (rig.procman.keeper === undefined ? true : undefined));
  for (const pid of service) kill(pid, "SIGCONT");
  assert.deepEqual(await verdict, []);
  for (const pid of service) await processExit(pid);
  assert.deepEqual(rig.procman.parts(), { keeper: [], service: [], logger: [] });
  assert.deepEqual(checkDiary(folder).runs.length, 1);
});

test("an exit without a service is known to the next service, even if the keeper that saw it was killed", async (context) => {
  const folder = folderFor(context);
  const crash = {
    id: "crash",
    cmd: "while [ ! -e go ]; do sleep 0.05; done; exit 7",
    autostart: true,
    logger: { stdout: "logs/crash.log" },
  };
  const processes = [printer(folder), { ...crash, restart: "error", restartLimit: 0 }];
  const { procman, until, verdict, killPart } = await startRig(context, folder, processes);
  const { service, keeper } = procman.parts();
  for (const pid of service) kill(pid, "SIGSTOP");
  writeFileSync(join(folder, "go"), "");
  await eventually(() => (procman.journal.ends.size > 0 ? true : undefined));
  killPart("keeper");
  killPart("service");
  await successor(procman, "keeper", keeper);
  assert.equal((await until("crash", ({ status }) => status === "exhausted")).code, 7);
  assert.deepEqual(await verdict(), []);
});

test("an adopted process that leaves no child behind is not reported to have left one, zombie or not", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [printer(folder)]);
  await killKeeper(rig);
  const { pid = 0 } = await rig.until("print", ({ status }) => status === "running");
  kill(pid);
  await rig.until("print", (now) => now.status === "running" && (now.run ?? 0) > 1);
  await waitForOutput(rig, /print .*exit code unknown/);
  assert.ok(!rig.output().some((line) => line.includes("left processes behind")));
  assert.deepEqual(await rig.verdict(), []);
});

test("ten keepers are killed as soon as they have started: no line is lost, doubled or damaged", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [printer(folder)]);
  const killed = new Set<number>();
  for (let kills = 0; kills < 10; kills += 1) {
    for (const pid of rig.killPart("keeper")) killed.add(pid);
    // Now and then a keeper lives for seconds, else no successor would start after ten.
    await eventually(() => {
      const { keeper } = rig.procman;
      return keeper === undefined || killed.has(keeper) ? undefined : keeper;
    });
    if (kills % 4 === 3) await waitForGrowth(rig, "print", 3_000_000);
  }
  await waitForGrowth(rig, "print");
  assert.deepEqual(await rig.verdict(), []);
});

test("internal environment variables of procman don't reach processes, also under a keeper that replaced a killed one", async (context) => {
  const folder = folderFor(context);
  const cmd = `echo "heaps: $\{MALLOC_ARENA_MAX-none}, arguments: $NODE_OPTIONS"`;
  const env = { MALLOC_ARENA_MAX: "3", NODE_OPTIONS: "--no-deprecation" };
  const rig = await startRig(context, folder, [{ id: "told", cmd, logger: { stdout: "logs/told.log" } }], { env });
  const log = join(folder, "logs/told.log");
  const startAndExpect = async (lines: string): Promise<void> => {
    await rig.act("told", "start");
    await eventually(() => (existsSync(log) && readFileSync(log, "utf8") === lines ? true : undefined));
  };
  const line = "heaps: 3, arguments: --no-deprecation\n";
  for (const pid of rig.procman.parts().service)
    assert.match(readFileSync(`/proc/${pid}/environ`, "utf8"), /(?:^|\0)MALLOC_ARENA_MAX=1\0/);
  await startAndExpect(line);
  await killKeeper(rig);
  await startAndExpect(line + line);
  assert.deepEqual(await rig.verdict(), []);
});

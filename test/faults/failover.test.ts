/** A killed keeper is replaced, whatever state the machine and the state folder are in, and no run is started twice. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { type FaultRig, folderFor, startRig, successor } from "../support/fault-rig.ts";
import { kill } from "../support/marked-processes.ts";
import { childrenOf, nameOf } from "../support/proc-files.ts";
import { eventually, isAlive } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const isUp = ({ status }: ProcessRecord): boolean => status === "running";
const always = { autostart: true, restart: "always" };

/** Kills these parts; resolves once the successor of the keeper answers. */
async function killAndAwait(rig: FaultRig, ...parts: readonly ("keeper" | "service" | "logger")[]): Promise<void> {
  const { keeper, service } = rig.procman.parts();
  // Otherwise the service might be quicker than its own kill.
  for (const pid of parts.includes("service") ? service : []) kill(pid, "SIGSTOP");
  for (const part of parts) rig.killPart(part);
  await successor(rig.procman, "keeper", keeper);
  await rig.records();
}

test("keeper and service are killed while the logger reads nothing: the logger starts another keeper, also after an upgrade", async (context) => {
  const folder = folderFor(context);
  const config = { logger: { internalLogHours: 0 } };
  const rig = await startRig(context, folder, [{ id: "yearly", cmd: "true", cron: "0 0 1 1 *" }], { config });
  await killAndAwait(rig, "keeper", "service");
  assert.equal(await rig.procman.upgrade(), 0);
  await killAndAwait(rig, "service", "keeper");
  assert.deepEqual(await rig.verdict(), []);
});

test("the run folder is emptied, as by a cleaner of temporary files, and the keeper or everything is killed at once: runs are adopted", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [{ id: "steady", cmd: "sleep 1000", ...always }]);
  const { pid } = await rig.until("steady", isUp);
  for (const what of ["keeper", "everything"] as const) {
    const { keeper } = rig.procman.parts();
    const run = join(rig.procman.stateDir, "run");
    for (const name of readdirSync(run)) rmSync(join(run, name), { recursive: true });
    rig.killPart(what);
    if (what === "everything") rig.procman.start();
    await successor(rig.procman, "keeper", keeper);
    assert.equal((await rig.until("steady", isUp)).pid, pid, what);
  }
  assert.deepEqual(await rig.verdict(), []);
});

/**
 * The keeper kills itself right after the fork of the process `id`, which is started by hand; and its successor kills
 * itself as soon as it starts, so that the program has time.
 */
async function killAtFork(
  context: TestContext,
  folder: string,
  process: { readonly id: string; readonly cmd: string },
  beforeStart: (rig: FaultRig) => void = () => undefined,
) {
  const [trigger, second] = [join(folder, "trigger"), join(folder, "second")];
  const processes = [
    { restart: "always", restartDelayMs: 50, logger: { stdout: `logs/${process.id}.log` }, ...process },
  ];
  const rig = await startRig(context, folder, processes, {
    env: { PROCMAN_FAILPOINTS: `keeper.forked=${trigger},keeper.locked=${second}` },
  });
  const { keeper } = rig.procman.parts();
  writeFileSync(second, "");
  writeFileSync(trigger, "");
  beforeStart(rig);
  void rig.procman.api.ask("POST", `/processes/${process.id}/start`);
  await eventually(() => (existsSync(second) ? undefined : true));
  await successor(rig.procman, "keeper", keeper);
  await rig.records();
  return rig;
}

/** The logger reads nothing for a moment, longer than a brief run takes. */
function keepLoggerBusy({ procman }: FaultRig): void {
  const { logger } = procman.parts();
  for (const pid of logger) kill(pid, "SIGSTOP");
  setTimeout(() => {
    for (const pid of logger) kill(pid, "SIGCONT");
  }, 300);
}

test("a run prints 20 lines and ends while its keeper is killed right after the fork and the logger is busy: every line is there, once", async (context) => {
  const folder = folderFor(context);
  const cmd =
    'echo $$ >> starts; i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo "$$ line $i"; done; [ $(wc -l < starts) -lt 3 ] || exec sleep 1000';
  const rig = await killAtFork(context, folder, { id: "brief", cmd }, keepLoggerBusy);
  const lines = (file: string): readonly string[] => {
    const name = join(folder, file);
    return existsSync(name) ? readFileSync(name, "utf8").split("\n").slice(0, -1) : [];
  };
  const expected = (): readonly string[] =>
    lines("starts").flatMap((pid) => Array.from({ length: 20 }, (_, index) => `${pid} line ${index + 1}`));
  await eventually(() => lines("starts").length === 3 || undefined);
  await eventually(() => lines("logs/brief.log").length >= 60 || undefined);
  assert.deepEqual(lines("logs/brief.log").toSorted(), expected().toSorted());
  assert.deepEqual(await rig.verdict(), []);
});

/** Resolves when exactly one copy runs and stays. */
async function assertOneCopy(rig: FaultRig, id: string): Promise<void> {
  const starts = (): readonly string[] => readFileSync(join(rig.folder, "starts"), "utf8").split("\n").slice(0, -1);
  const { pid } = await rig.until(id, isUp);
  await eventually(() => existsSync(join(rig.folder, "starts")) || undefined);
  assert.deepEqual(starts(), [String(pid)]);
  await killAndAwait(rig, "keeper");
  assert.equal((await rig.until(id, isUp)).pid, pid);
  assert.deepEqual(starts(), [String(pid)]);
  assert.deepEqual(await rig.verdict(), []);
}

test("a run overwrites its environment, and its keeper is killed right after the fork: it is found by its output, not started twice", async (context) => {
  const folder = folderFor(context);
  const cmd = `python3 ${path("../programs/overwrite-environment.py")} starts`;
  await assertOneCopy(await killAtFork(context, folder, { id: "titled", cmd }), "titled");
});

test("a child is slow from fork to exec, as from a network disk, and its keeper is killed meanwhile: it is adopted, not started twice", async (context) => {
  const folder = folderFor(context);
  const [library, delay] = [join(folder, "slow.so"), join(folder, "delay")];
  execFileSync("gcc", ["-shared", "-fPIC", "-o", library, path("../programs/slow-exec.c"), "-ldl"]);
  const program = join(folder, "delayed");
  writeFileSync(program, "#!/bin/sh\necho $$ >> starts\nexec sleep 1000\n", { mode: 0o755 });
  const env = { LD_PRELOAD: library, PROGRAM_TO_DELAY: program, DELAY_FILE: delay };
  const rig = await startRig(context, folder, [{ id: "slow", cmd: program, restart: "always" }], { env });
  writeFileSync(delay, "");
  const {
    keeper: [keeper = 0],
  } = rig.procman.parts();
  void rig.procman.api.ask("POST", "/processes/slow/start");
  // The child is there, and its parent waits for the exec.
  await eventually(() => childrenOf(keeper).some((pid) => nameOf(pid).startsWith("procman: keeper")) || undefined);
  rig.killPart("keeper");
  await eventually(() => !isAlive(keeper) || undefined);
  // The child has the keeper's name, too.
  await eventually(() => rig.procman.keeper);
  await rig.records();
  rmSync(delay);
  await assertOneCopy(rig, "slow");
});

/** A terminal that takes no byte more, as after Ctrl-S. */
async function fullTerminal(context: TestContext): Promise<number> {
  const holder = spawn("python3", [path("../programs/hold-terminal.py")], { stdio: ["pipe", "pipe", "inherit"] });
  context.after(() => holder.stdin.end());
  const [line] = (await once(holder.stdout, "data")) as [Buffer];
  const name = line.toString().trim();
  const filler = openSync(name, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  for (const bytes of [4_096, 1]) for (let isFull = false; !isFull; ) isFull = !fits(filler, bytes);
  closeSync(filler);
  return openSync(name, constants.O_WRONLY | constants.O_NOCTTY);
}

function fits(fd: number, bytes: number): boolean {
  try {
    return writeSync(fd, Buffer.alloc(bytes)) > 0;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    return false;
  }
}

test("a foreground procman on a stopped terminal: service and keeper are replaced when they are killed", async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [{ id: "steady", cmd: "sleep 1000", ...always }], {
    output: await fullTerminal(context),
  });
  const { pid } = await rig.until("steady", isUp);
  for (const part of ["service", "logger", "service", "keeper"] as const) {
    const before = rig.procman.parts()[part];
    rig.killPart(part);
    await successor(rig.procman, part, before);
    assert.equal((await rig.until("steady", isUp)).pid, pid, part);
  }
  assert.deepEqual(await rig.verdict(), []);
});

test("a managed watchdog starts procman again when all of it was killed: its end and its stop don't end the new procman", async (context) => {
  const folder = folderFor(context);
  const watch = `while [ ! -e go ]; do sleep 0.05; done; ${process.execPath} ${BIN} run --detach; exec sleep 1000`;
  const rig = await startRig(context, folder, [
    { id: "watch", cmd: watch, autostart: true },
    { id: "steady", cmd: "sleep 1000", ...always },
  ]);
  const [{ pid }, { pid: watchPid }] = [await rig.until("steady", isUp), await rig.until("watch", isUp)];
  const { keeper } = rig.procman.parts();
  rig.killPart("everything");
  writeFileSync(join(folder, "go"), "");
  await successor(rig.procman, "keeper", keeper);
  assert.equal((await rig.until("watch", isUp)).pid, watchPid);
  // Others that the kills and the watchdog have started find the lock taken, and end.
  const parts = await eventually(() => {
    const now = rig.procman.parts();
    return Object.values(now).every(({ length }) => length === 1) ? now : undefined;
  });
  await rig.act("watch", "stop");
  await rig.until("watch", ({ status }) => status === "stopped");
  assert.equal((await rig.until("steady", isUp)).pid, pid);
  assert.deepEqual(rig.procman.parts(), parts);
  assert.deepEqual(await rig.verdict(), []);
});

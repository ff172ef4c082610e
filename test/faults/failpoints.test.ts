/** A process of procman kills itself at each step of each transition (`src/core/os/failpoint.ts`), and its successor continues. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { monotonicMs } from "../programs/run-diary.mjs";
import { type FaultRig, folderFor, pointsIn, program, startRig } from "../support/fault-rig.ts";
import type { Kill } from "../support/fault-verdict.ts";
import { kill } from "../support/marked-processes.ts";
import { childrenOf, commandLineOf } from "../support/proc-files.ts";
import { eventually } from "../support/procman-process.ts";

const START = ["keeper.told", "keeper.noted", "keeper.asked", "keeper.forked", "keeper.recorded"] as const;
const DECISION = ["service.decided", "service.sent"] as const;
const END = ["keeper.exited", "keeper.over", "logger.drained"] as const;
const TAKE_OVER = [
  "keeper.locked",
  "keeper.housed",
  "keeper.adopted",
  "keeper.took",
  "keeper.retold",
  "service.loaded",
  "service.settled",
] as const;

type Transition = {
  /** Further fields of the process `print`. */
  readonly process?: object;
  /** What the shell does before it becomes the program. */
  readonly setup?: string;
  /** Lines in bursts of so many bytes, with a pause of so many milliseconds. */
  readonly load?: readonly [number, number];
  readonly redirect?: string;
  readonly points: readonly Failpoint[];
  /** Status of `print` before; default: running. */
  readonly from?: "stopped";
  /** Default: at once. */
  readonly isSettled?: (before: ProcessRecord) => boolean;
  readonly begin: (rig: FaultRig, before: ProcessRecord) => Promise<void> | void;
  readonly isOver: (now: ProcessRecord, before: ProcessRecord) => boolean;
  /** Components that the transition itself kills. */
  readonly kills?: "keeper" | "service";
};

const isNext = (now: ProcessRecord, before: ProcessRecord): boolean =>
  now.status === "running" && (now.run ?? 0) > (before.run ?? 0);
const isSame = (now: ProcessRecord, before: ProcessRecord): boolean =>
  now.status === "running" && now.pid === before.pid;
const isStopped = ({ status }: ProcessRecord): boolean => status === "stopped";
const crash = async ({ folder }: FaultRig, { pid = 0, run }: ProcessRecord): Promise<void> => {
  const diary = join(folder, "diary.jsonl");
  const isBegun = (): boolean => existsSync(diary) && readFileSync(diary, "utf8").includes(`"managed":"print.${run}@`);
  await eventually(() => isBegun() || undefined);
  // The program itself, which may have a shell as its leader.
  for (const child of [pid, ...childrenOf(pid)]) if (isProgram(child)) kill(child, "SIGUSR2");
};
const always = { autostart: true, restart: "always" };
/** After this time the keeper has the restart order: a second after the start of the run or of the service. Milliseconds. */
const SETTLED_MS = 2_000;
/** Longer than a test waits: SIGTERM ends it, also if the keeper dies between its record and the signal. */
const patient = { autostart: true, terminateTimeout: 600 };
/** Lines end there as in a file. */
const ON_TERMINAL = { setup: "stty -onlcr && exec", process: { autostart: true, tty: true } } as const;

const TRANSITIONS: Readonly<Record<string, Transition>> = {
  "a start": {
    points: [...DECISION, ...START],
    from: "stopped",
    begin: (rig) => rig.act("print", "start"),
    isOver: isNext,
  },
  "a start with the output redirected": {
    points: START,
    redirect: "1>&2",
    from: "stopped",
    begin: (rig) => rig.act("print", "start"),
    isOver: isNext,
  },
  "a start on a terminal": {
    ...ON_TERMINAL,
    points: [...DECISION, ...START],
    from: "stopped",
    begin: (rig) => rig.act("print", "start"),
    isOver: isNext,
  },
  "a crash on a terminal": {
    setup: ON_TERMINAL.setup,
    process: { ...ON_TERMINAL.process, ...always, restartDelayMs: 0 },
    points: [...END, ...START],
    begin: crash,
    isOver: isNext,
  },
  "a kill of the keeper of a terminal": {
    ...ON_TERMINAL,
    points: [...TAKE_OVER, "logger.handing", "logger.handed"],
    begin: ({ procman }) => void procman.kill("keeper"),
    isOver: isSame,
    kills: "keeper",
  },
  "a crash with a restart at once": {
    process: { ...always, restartDelayMs: 0 },
    points: [...END, ...DECISION, ...START],
    begin: crash,
    isOver: isNext,
  },
  "a crash with a restart by the keeper's restart order": {
    process: { ...always, restartDelayMs: 0 },
    points: [...END, ...DECISION, "keeper.asked", "keeper.forked", "keeper.recorded"],
    isSettled: ({ started = "" }) => Date.now() - Date.parse(started) > SETTLED_MS,
    begin: crash,
    isOver: isNext,
  },
  "a crash with a later restart": {
    process: { ...always, restartDelayMs: 300 },
    points: [...END, ...DECISION, ...START],
    begin: crash,
    isOver: isNext,
  },
  "a crash that leaves children behind": {
    process: { ...always, restartDelayMs: 0 },
    redirect: "& p=$!; sleep 1000 & wait $p; exit $?",
    points: ["keeper.exited", "keeper.over", ...DECISION, "keeper.noted", "keeper.asked", "keeper.forked"],
    begin: crash,
    isOver: isNext,
  },
  "a stop": {
    process: patient,
    points: [...DECISION, "keeper.told", "keeper.noted", "keeper.signalled", ...END],
    begin: (rig) => rig.act("print", "stop"),
    isOver: isStopped,
  },
  "a stop that needs SIGKILL": {
    process: { ...patient, terminateTimeout: 0.2, env: { STUBBORN: "1" } },
    points: [...DECISION, "keeper.told", "keeper.noted", "keeper.signalled", ...END],
    begin: (rig) => rig.act("print", "stop"),
    isOver: isStopped,
  },
  "an operator's restart": {
    process: patient,
    points: [...DECISION, "keeper.signalled", ...END, ...START],
    begin: (rig) => rig.act("print", "restart"),
    isOver: isNext,
  },
  "a kill of the keeper": {
    points: [...TAKE_OVER, "logger.handing", "logger.handed"],
    begin: ({ procman }) => void procman.kill("keeper"),
    isOver: isSame,
    kills: "keeper",
  },
  "a kill of the service": {
    points: ["service.loaded", "service.settled"],
    begin: ({ procman }) => void procman.kill("service"),
    isOver: isSame,
    kills: "service",
  },
  "output that is written and rotated": {
    process: { autostart: true, logger: { stdout: "logs/print.log", rotate: { size: "1MB" } } },
    load: [200_000, 10],
    points: ["logger.read", "logger.written", "logger.rotated", "logger.compressing", "logger.compressed"],
    begin: () => undefined,
    isOver: isSame,
  },
};

function isProgram(pid: number): boolean {
  // Not the shell, which has the program's name in its command line, too.
  return commandLineOf(pid).startsWith(`${process.execPath}\0`);
}

/** Each end of a run leaves one record, also when a component dies meanwhile. */
async function writtenOnce({ procman }: FaultRig, run: number | undefined): Promise<void> {
  // A service whose keeper has died may have reported the next run before its own end.
  let answer = await procman.api.ask("GET", "/processes/print/incidents?limit=100");
  while (answer === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    answer = await procman.api.ask("GET", "/processes/print/incidents?limit=100");
  }
  const incidents: unknown = answer.body;
  assert.ok(Array.isArray(incidents), JSON.stringify(answer));
  const runs = incidents.map((incident: Incident) => incident.run);
  assert.equal(runs.filter((each) => each === run).length, 1, `the end of run ${run}: ${runs.join(" ")}`);
}

async function walk(context: TestContext, transition: Transition): Promise<void> {
  const {
    process = { autostart: true },
    load = [5_000, 20],
    setup = "",
    redirect = "",
    points,
    from,
    isSettled,
    begin,
    isOver,
  } = transition;
  const folder = folderFor(context);
  const { env, arm, reached } = pointsIn(folder, points);
  const cmd = `${setup} ${program(folder, "printer", "print", ...load)} ${redirect}`;
  const rig = await startRig(
    context,
    folder,
    [{ id: "print", cmd, logger: { stdout: "logs/print.log" }, ...process }],
    { env },
  );
  const kills: Kill[] = [];
  const isUp = async (): Promise<boolean> => (await rig.records())[0]?.status === "running";
  for (const point of points) {
    if (from === undefined && !(await isUp())) await rig.act("print", "start");
    if (from === "stopped" && (await isUp())) await rig.act("print", "stop");
    const before = await rig.until("print", ({ status }) =>
      from === undefined ? status === "running" : status !== "stopping" && status !== "running",
    );
    if (isSettled !== undefined) await eventually(() => isSettled(before) || undefined);
    const armed = monotonicMs();
    arm(point);
    await begin(rig, before);
    await reached(point);
    // It was killed between the two: seconds may pass on a busy machine.
    for (const what of [point.split(".")[0] ?? "", transition.kills ?? []].flat())
      kills.push({ what, at: armed, pids: [] }, { what, at: monotonicMs(), pids: [] });
    const now = await rig.until("print", (now) => isOver(now, before));
    if (before.status === "running" && !isSame(now, before)) await writtenOnce(rig, before.run);
  }
  const loggersKilled = points.filter((point) => point.startsWith("logger")).length;
  assert.deepEqual(await rig.verdict({ loggersKilled, kills }), []);
}

describe("procman is killed at each step of", { concurrency: 3 }, () => {
  for (const [name, transition] of Object.entries(TRANSITIONS))
    test(name, (context) => walk(context as TestContext, transition));

  for (const overrun of [false, true])
    test(`a scheduled run${overrun ? " that overlaps others" : ""}`, async (context) => {
      const folder = folderFor(context as TestContext);
      const points = [...DECISION, ...START, "keeper.exited", "keeper.over"] as const;
      const { env, arm, reached } = pointsIn(folder, points);
      const file = join(folder, "runs");
      const job = {
        id: "job",
        cmd: `echo $PROCMAN_RUN_ID >> runs; sleep ${overrun ? 2.3 : 0.2}`,
        cron: "* * * * * *",
        overrun,
      };
      const { procman, records, verdict } = await startRig(context as TestContext, folder, [job], { env });
      const runs = (): readonly string[] => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
      const kills: Kill[] = [];
      for (const point of points) {
        kills.push({ what: point.split(".")[0] ?? "", at: monotonicMs(), pids: [] });
        arm(point);
        await reached(point);
        await records();
        const { length } = runs();
        await eventually(() => (runs().length > length ? true : undefined));
      }
      assert.deepEqual(await verdict({ kills }), []);
      assert.equal(new Set(runs()).size, runs().length, `no run is started twice: ${runs().join(" ")}`);
      assert.equal(
        [...procman.journal.ends.values()].filter(({ unknown, at }) => unknown && at < (kills[0]?.at ?? 0)).length,
        0,
      );
      if (overrun) assert.ok(runs().some((run) => run.startsWith("job:2.")));
    });

  test("a start without a restart policy, right before the fork: status says that it may not have run, and it is not started twice", async (context) => {
    const folder = folderFor(context as TestContext);
    const { env, arm, reached } = pointsIn(folder, ["keeper.asked"]);
    const once = { id: "once", cmd: "echo $PROCMAN_RUN_ID >> runs" };
    const rig = await startRig(context as TestContext, folder, [once], { env });
    arm("keeper.asked");
    await rig.act("once", "start");
    await reached("keeper.asked");
    const { reason } = await rig.until("once", ({ status }) => status === "errored");
    assert.match(reason ?? "", /^was being started when procman was killed; whether it ran is unknown; not restarted/);
    assert.ok(!existsSync(join(folder, "runs")));
    assert.deepEqual(await rig.procman.end(), []);
  });

  test("a kill of the keeper in the middle of a line: the next keeper finds the rest of the logger", async (context) => {
    const folder = folderFor(context as TestContext);
    const points = ["keeper.took", "keeper.retold"] as const;
    const { env, arm, reached } = pointsIn(folder, points);
    const log = join(folder, "logs/halves.log");
    const cmd = "printf 'one half, '; while [ ! -e go ]; do sleep 0.1; done; echo the other; exec sleep 1000";
    const halves = { id: "halves", cmd, autostart: true, logger: { stdout: "logs/halves.log" } };
    const rig = await startRig(context as TestContext, folder, [halves], { env });
    for (const point of points) {
      const { keeper } = rig.procman.parts();
      arm(point);
      rig.killPart("keeper");
      await reached(point);
      await eventually(() => (rig.procman.parts().keeper.some((pid) => !keeper.includes(pid)) ? true : undefined));
      await rig.records();
    }
    writeFileSync(join(folder, "go"), "");
    assert.equal(await eventually(() => readFileSync(log, "utf8") || undefined), "one half, the other\n");
    assert.deepEqual(await rig.verdict(), []);
  });

  for (const point of ["keeper.parted", "keeper.housed", "keeper.took"] as const)
    test(`an upgrade of the logger, at ${point}: what a run prints after the end of the old logger and before its own is not lost`, async (context) => {
      const folder = folderFor(context as TestContext);
      const { env, arm, reached } = pointsIn(folder, [point]);
      // It ends together with the keeper, so that no later keeper opens its FIFOs.
      const cmd = "while kill -0 $PPID 2> /dev/null; do sleep 0.01; done; echo last words";
      const rig = await startRig(
        context as TestContext,
        folder,
        [{ id: "brief", cmd, logger: { stdout: "logs/brief.log" } }],
        { env },
      );
      await rig.act("brief", "start");
      arm(point);
      const upgrade = rig.procman.upgrade();
      await reached(point);
      await rig.until("brief", ({ status }) => status !== "running");
      const log = join(folder, "logs/brief.log");
      assert.equal(await eventually(() => readFileSync(log, "utf8") || undefined), "last words\n");
      await upgrade;
      assert.deepEqual(await rig.verdict(), []);
    });

  for (const point of [
    ...DECISION,
    "keeper.told",
    "keeper.noted",
    "keeper.signalled",
    "keeper.exited",
    "keeper.over",
    "keeper.removed",
  ] as const)
    test(`a shutdown, at ${point}`, async (context) => {
      const folder = folderFor(context as TestContext);
      const { env, arm, reached } = pointsIn(folder, [point]);
      const print = {
        id: "print",
        cmd: program(folder, "printer", "print", 5_000, 20),
        ...patient,
        logger: { stdout: "logs/print.log" },
      };
      const { procman } = await startRig(context as TestContext, folder, [print], { env });
      await eventually(() => (procman.journal.runs.size > 0 ? true : undefined));
      arm(point);
      const first = await procman.api.ask("POST", "/terminate");
      await reached(point);
      const isOver = (): boolean => Object.values(procman.parts()).flat().length === 0;
      // A request without an answer is repeated.
      for (let answer = first; answer === undefined && !isOver(); )
        answer = await procman.api.ask("POST", "/terminate");
      await eventually(() => (isOver() ? true : undefined));
      assert.deepEqual(await procman.end(), []);
      assert.ok(!procman.journal.ends.has("print#2"), "no second run");
    });
});

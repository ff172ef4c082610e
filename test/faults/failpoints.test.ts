/** procman kills itself at each step of each transition, by `src/os/failpoint.ts`; whoever comes after goes on. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { kill } from "../../examples/kill-the-manager/processes.mjs";
import { monotonicMs } from "../../examples/kill-the-manager/programs/instance.mjs";
import type { ProcessRecord } from "../../src/contract/records.ts";
import type { Failpoint } from "../../src/os/failpoint.ts";
import { found } from "../procman.ts";
import { folderFor, program, type Rig, started } from "./rig.ts";
import type { Kill } from "./schedule.ts";

const START = ["keeper.told", "keeper.noted", "keeper.asked", "keeper.forked", "keeper.recorded"] as const;
const DECISION = ["service.decided", "service.sent"] as const;
const END = ["keeper.exited", "keeper.over", "logger.drained"] as const;
const TAKE_OVER = ["keeper.locked", "keeper.adopted", "keeper.took", "service.loaded", "service.resumed", "service.settled"] as const;

type Transition = {
  /** Of `print`. */
  readonly process?: object;
  readonly points: readonly Failpoint[];
  readonly begin: (rig: Rig, before: ProcessRecord) => Promise<void> | void;
  readonly isOver: (now: ProcessRecord, before: ProcessRecord) => boolean;
  /** What `print` has to be before: running, if nothing is said. */
  readonly from?: "stopped";
};

const runsOn = (now: ProcessRecord, before: ProcessRecord): boolean => now.status === "running" && (now.run ?? 0) > (before.run ?? 0);
const isSame = (now: ProcessRecord, before: ProcessRecord): boolean => now.status === "running" && now.pid === before.pid;
const crash = (_rig: Rig, { pid = 0 }: ProcessRecord): void => void kill(pid, "SIGUSR2");
const always = { autostart: true, restart: "always" };

const TRANSITIONS: Readonly<Record<string, Transition>> = {
  "a start": {
    points: [...DECISION, ...START],
    from: "stopped",
    begin: (rig) => rig.act("print", "start"),
    isOver: runsOn,
  },
  "a crash with a restart at once": {
    process: { ...always, restartDelayMs: 0 },
    points: [...END, ...DECISION, ...START],
    begin: crash,
    isOver: runsOn,
  },
  "a crash with a later restart": {
    process: { ...always, restartDelayMs: 300 },
    points: [...END, ...DECISION, ...START],
    begin: crash,
    isOver: runsOn,
  },
  // A keeper that dies between its record and the deed leaves a process that never got its SIGTERM: it is killed in the end.
  "a stop": {
    process: { autostart: true, terminateTimeout: 1 },
    points: [...DECISION, "keeper.told", "keeper.noted", "keeper.signalled", ...END],
    begin: (rig) => rig.act("print", "stop"),
    isOver: ({ status }) => status === "stopped",
  },
  "a stop that takes SIGKILL": {
    process: { autostart: true, terminateTimeout: 0.2, env: { STUBBORN: "1" } },
    points: [...DECISION, "keeper.told", "keeper.noted", "keeper.signalled", ...END],
    begin: (rig) => rig.act("print", "stop"),
    isOver: ({ status }) => status === "stopped",
  },
  "a restart by hand": {
    process: { autostart: true, terminateTimeout: 1 },
    points: [...DECISION, "keeper.signalled", ...END, ...START],
    begin: (rig) => rig.act("print", "restart"),
    isOver: runsOn,
  },
  "a death of the keeper": {
    points: [...TAKE_OVER, "logger.handing", "logger.handed"],
    begin: ({ procman }) => void procman.kill("keeper"),
    isOver: isSame,
  },
  "a death of the service": {
    points: ["service.loaded", "service.resumed", "service.settled"],
    begin: ({ procman }) => void procman.kill("service"),
    isOver: isSame,
  },
  "output that is written and rotated": {
    process: { autostart: true, logger: { stdout: "logs/print.log", rotate: { size: "1MB" } } },
    points: ["logger.read", "logger.written", "logger.rotated", "logger.compressing", "logger.compressed"],
    begin: () => undefined,
    isOver: isSame,
  },
};

async function walk(context: TestContext, { process = { autostart: true }, points, begin, isOver, from }: Transition): Promise<void> {
  const folder = folderFor(context);
  const arms = join(folder, "arms");
  mkdirSync(arms);
  const env = { PROCMAN_FAILPOINTS: points.map((point) => `${point}=${join(arms, point)}`).join(",") };
  const [burst, pause] = points.includes("logger.rotated") ? [200_000, 10] : [5_000, 20];
  const print = { id: "print", cmd: program(folder, "printer", "print", burst, pause), logger: { stdout: "logs/print.log" }, ...process };
  const rig = await started(context, folder, [print], { env });
  const kills: Kill[] = [];
  for (const point of points) {
    if (from === "stopped") await rig.act("print", "stop");
    const before = await rig.until("print", ({ status }) => status === (from ?? "running"));
    const at = monotonicMs();
    writeFileSync(join(arms, point), "");
    await begin(rig, before);
    await found(() => (existsSync(join(arms, point)) ? undefined : true)).catch(() => assert.fail(`${point} is not reached`));
    kills.push(
      { what: point.split(".")[0] ?? "", at, pids: [] },
      ...(begin.toString().includes('"keeper"') ? [{ what: "keeper", at, pids: [] }] : []),
    );
    await rig.until("print", (now) => isOver(now, before));
    if (isOver === TRANSITIONS["a stop"]?.isOver || from === undefined) await rig.act("print", "start").catch(() => undefined);
  }
  const loggersKilled = points.filter((point) => point.startsWith("logger")).length;
  assert.deepEqual(await rig.verdict({ loggersKilled, kills }), []);
}

describe("procman dies at each step of", { concurrency: 3 }, () => {
  for (const [name, transition] of Object.entries(TRANSITIONS)) test(name, (context) => walk(context as TestContext, transition));
});

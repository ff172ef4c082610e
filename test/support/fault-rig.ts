/** Runs procman with programs that record their lives, and checks the records. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { monotonicMs } from "../programs/run-diary.mjs";
import { checkDiary } from "./diary-check.ts";
import { exits, type Kill, numbering } from "./fault-verdict.ts";
import { KillableProcman } from "./killable-procman.ts";
import { checkLog } from "./line-check.ts";
import { eventually, within } from "./procman-process.ts";
import { ROOT } from "./product.ts";

/** They write a diary of their runs, and print numbered lines. */
const PROGRAMS = { printer: "print-numbered-lines.mjs", crasher: "end-with-codes.mjs" } as const;

export type Excuses = {
  readonly loggersKilled?: number;
  readonly isUnread?: boolean;
  readonly kills?: readonly Kill[];
};

export type FaultRig = {
  readonly folder: string;
  readonly procman: KillableProcman;
  /** All records, once the service answers. */
  readonly records: () => Promise<readonly ProcessRecord[]>;
  /** Resolves once `holds` is true for the record of a process. */
  readonly until: (id: string, holds: (record: ProcessRecord) => boolean) => Promise<ProcessRecord>;
  /** Repeats a request until there is an answer. A repeated one may be refused as already done. */
  readonly act: (id: string, action: string) => Promise<void>;
  /** Kills a component, and records that for the verdict. Returns the pids, which may still exist for a moment. */
  readonly killPart: (part: "keeper" | "service" | "logger" | "everything") => readonly number[];
  /** procman's output so far. */
  readonly output: () => readonly string[];
  /** Stops everything, and returns what is wrong with runs and lines. `kills`: beside those by `killPart`. */
  readonly verdict: (more?: Excuses) => Promise<readonly string[]>;
};

/** Command line of a program in a load's folder. */
export function program(
  folder: string,
  name: keyof typeof PROGRAMS,
  id: string,
  ...args: readonly (string | number)[]
): string {
  return [process.execPath, join(ROOT, "test/programs", PROGRAMS[name]), folder, id, ...args].join(" ");
}

/** A process that prints all the time, and one that crashes again and again: each into a file in `logs`. */
export function printerAndCrasher(
  folder: string,
): readonly { readonly id: string; readonly [field: string]: unknown }[] {
  const always = { autostart: true, restart: "always" };
  return [
    {
      id: "print",
      cmd: program(folder, "printer", "print", 20_000, 20),
      ...always,
      logger: { stdout: "logs/print.log" },
    },
    {
      id: "crash",
      cmd: program(folder, "crasher", "crash", 100, 400),
      ...always,
      restartDelayMs: 100,
      logger: { stdout: "logs/crash.log" },
    },
  ];
}

/** By folder. A procman that runs when a test fails would write into the folder while that is removed. */
const started = new Map<string, KillableProcman>();

/** A folder for one procman, which is killed and removed with it after the test. */
export function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-fault-"));
  mkdirSync(join(folder, "progress"));
  context.after(() => {
    started.get(folder)?.destroy();
    if (!process.env.KEEP) rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Failpoints of a procman in this folder; `arm` kills the next process that reaches one. */
export function pointsIn(folder: string, points: readonly Failpoint[]) {
  const arms = join(folder, "arms");
  mkdirSync(arms);
  return {
    env: { PROCMAN_FAILPOINTS: points.map((point) => `${point}=${join(arms, point)}`).join(",") },
    arm: (point: Failpoint): void => writeFileSync(join(arms, point), ""),
    reached: (point: Failpoint) =>
      eventually(() => (existsSync(join(arms, point)) ? undefined : true)).catch(() =>
        assert.fail(`${point} was not reached`),
      ),
  };
}

/** Starts procman with these processes; ids whose name begins with `print` or `crash` have numbered lines in `logs/ID.log`. */
export async function startRig(
  context: TestContext,
  folder: string,
  processes: readonly { readonly id: string; readonly [field: string]: unknown }[],
  options: {
    readonly env?: NodeJS.ProcessEnv;
    readonly config?: object;
    readonly args?: readonly string[];
    readonly output?: number;
    readonly launcher?: readonly string[];
    readonly also?: number;
  } = {},
): Promise<FaultRig> {
  const procman = new KillableProcman({ folder, processes, ...options });
  started.set(folder, procman);
  context.after(() => procman.destroy());
  // `also`: so many more at the same moment.
  for (let count = 0; count <= (options.also ?? 0); count += 1) procman.start();
  const records = async (): Promise<readonly ProcessRecord[]> => {
    const answer = await procman.answered();
    if (answer === undefined) throw new Error("procman does not answer");
    return answer;
  };
  await records();
  const ownKills: Kill[] = [];
  return {
    folder,
    killPart: (part) => {
      const [at, pids] = [monotonicMs(), procman.kill(part)];
      ownKills.push({ what: part, at, pids });
      return pids;
    },
    procman,
    records,
    until: async (id, holds) => {
      const found = await within(30_000, async () => {
        const record = (await records()).find((each) => each.id === id);
        return record !== undefined && holds(record) && record;
      });
      return found ?? assert.fail(`timed out waiting for ${id}: ${JSON.stringify(await records())}`);
    },
    act: async (id, action) => {
      for (let attempt = 1, end = performance.now() + 60_000; ; attempt += 1) {
        assert.ok(performance.now() < end, `${action} of ${id}: procman does not answer`);
        const answer = await procman.api.ask("POST", `/processes/${id}/${action}`);
        if (answer?.status === 200 || (answer?.status === 409 && attempt > 1)) return;
        if (answer !== undefined && answer.status !== 503)
          throw new Error(`${action} of ${id}: ${JSON.stringify(answer)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    output: () => readFileSync(join(folder, "said.log"), "utf8").split("\n"),
    verdict: async ({ loggersKilled = 0, isUnread = false, kills = [] } = {}) => {
      const left = await procman.end();
      const { runs, findings } = checkDiary(folder);
      const { ends, runs: startedRuns } = procman.journal;
      const lines = processes
        .filter(({ id }) => /^(print|crash)/.test(id))
        .flatMap(({ id }) => {
          const own = runs.filter((run) => run.id === id);
          const known = own.map((run) => ({
            ...run,
            isCut: run.to === undefined,
            readersKilled: loggersKilled,
            isUnread,
          }));
          const { findings, marks } = checkLog(join(folder, "logs", `${id}.log`), known);
          return marks > 0 && loggersKilled === 0
            ? [...findings, `${marks} marks in ${id}.log, though no logger was killed`]
            : findings;
        });
      return [
        ...findings,
        ...lines,
        ...exits(runs, ends, [...ownKills, ...kills]),
        ...numbering(startedRuns, ends),
        ...left.map(({ command }) => `left behind: ${command}`),
      ];
    },
  };
}

/** Where the journal that the rig follows lacks a part, as on a full disk or in a folder that others replace: what is wrong without it. */
export async function verdictWithoutJournal(rig: FaultRig, more?: Excuses): Promise<readonly string[]> {
  const findings = await rig.verdict(more);
  return findings.filter(
    (finding) => !/^lost exit: procman does not know|^run numbers|never ended in the journal/.test(finding),
  );
}

/** Resolves with the pid of this component once it is none of `before`. */
export function successor(
  procman: KillableProcman,
  part: "keeper" | "service" | "logger",
  before: readonly number[],
): Promise<number> {
  return eventually(() => procman.parts()[part].find((pid) => !before.includes(pid)));
}

/** Resolves once procman has printed a matching line. */
export function waitForOutput(rig: FaultRig, line: RegExp): Promise<string> {
  return eventually(() => rig.output().find((each) => line.test(each)));
}

/** Resolves once the log of this process has grown by `bytes`. */
export async function waitForGrowth({ folder }: FaultRig, id: string, bytes = 300_000): Promise<void> {
  const file = join(folder, `logs/${id}.log`);
  const size = (): number => (existsSync(file) ? statSync(file).size : 0);
  const from = size();
  await eventually(() => (size() > from + bytes ? true : undefined));
}

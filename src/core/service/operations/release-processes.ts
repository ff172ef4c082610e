/** The processes that belong to the present release: which they are, which must be restarted for it, and whether they keep to the gate. */
import { existsSync, lstatSync, readlinkSync, realpathSync } from "node:fs";
import { ProcmanError } from "../../base/errors.ts";
import type { ProcessSpec, ReleasesSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { isWithin } from "../../os/files.ts";
import type { Process } from "../../supervisor/process.ts";
import {
  hasCurrentRun,
  hasFailed,
  isInBackoff,
  isRunning,
  wasNeverStarted,
  wasStopped,
} from "../../supervisor/verdict.ts";
import type { Balancing } from "../balancer/balancing.ts";
import type { OperationContext } from "./operation-context.ts";
import { settle } from "./settle.ts";

type ReleaseContext = Pick<OperationContext, "incidents" | "records" | "specs" | "supervisor"> & {
  readonly balancing: Pick<Balancing, "standby" | "watch">;
};

/** How often numbers are looked at that change without an event. Milliseconds. */
const LOOK_MS = 250;
const TELLS_FOLDERS = existsSync("/proc/self/cwd");

/** Its folder or its module lies behind the link. */
function isOfRelease({ cwd, command }: ProcessSpec, { current }: ReleasesSpec): boolean {
  return isWithin(current, cwd) || (command.kind === "worker" && isWithin(current, command.script));
}

export function specsOfRelease(
  { specs }: Pick<ReleaseContext, "specs">,
  releases: ReleasesSpec,
): readonly ProcessSpec[] {
  return specs.config.processes.filter((spec) => isOfRelease(spec, releases));
}

export function processesOf(
  { specs, supervisor }: Pick<ReleaseContext, "specs" | "supervisor">,
  releases: ReleasesSpec,
): readonly Process[] {
  const ids = new Set(specsOfRelease({ specs }, releases).map(({ id }) => id));
  return supervisor.processes.filter(({ id }) => ids.has(id));
}

/**
 * Processes that don't run in the release which the link leads to, but should. What was stopped by hand, or is blocked, is left
 * alone, unless it is the first release; what runs to an end by itself (a task, a schedule) gets the release with its next run.
 */
export function staleProcesses(context: ReleaseContext, releases: ReleasesSpec, isFirst: boolean): readonly Process[] {
  const isDown = ({ states, definition }: Process): boolean =>
    states.some(
      (state) =>
        isInBackoff(state) ||
        hasFailed(state) ||
        (definition.autostart && (wasNeverStarted(state) || (isFirst && wasStopped(state)))),
    );
  return processesOf(context, releases).filter(
    (process) => mayBeRestarted(context, process) && (isDown(process) || isOutdated(context, process, releases)),
  );
}

function mayBeRestarted({ specs }: ReleaseContext, { id, isBlocked, isDisabled }: Process): boolean {
  const { task, cron } = specs.of(id);
  return !isBlocked && !isDisabled && task !== true && cron === undefined;
}

/** Whether a run of it is not of the present release. */
function isOutdated(context: ReleaseContext, process: Process, releases: ReleasesSpec): boolean {
  return process.states.filter(hasCurrentRun).some((state) => {
    const place = isRunning(state) ? placeOf(state.pid, releases) : undefined;
    return place === undefined ? isFromBefore(context, process, releases) : place === "other";
  });
}

/** Whether its run began before the link was switched; what is being started may have got the folder of before, too. */
function isFromBefore({ records }: ReleaseContext, process: Process, { current }: ReleasesSpec): boolean {
  const { started } = records.of(process);
  const switched = lstatSync(current, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  return started === undefined || Date.parse(started) < switched;
}

/** Whether something of an old release may still run whose folder doesn't tell: a module, and where the system tells no folders, anything. */
export function mayRunOld(context: ReleaseContext, releases: ReleasesSpec): boolean {
  const isSeen = (id: string): boolean => TELLS_FOLDERS && isWithin(releases.current, context.specs.of(id).cwd);
  return runningOf(context, releases).some((each) => !isSeen(each.id) && isFromBefore(context, each, releases));
}

/** The release in which a process has its folder, where the system tells that. */
function placeOf(pid: number, { folder, current }: ReleasesSpec): "present" | "other" | undefined {
  try {
    const at = readlinkSync(`/proc/${pid}/cwd`);
    if (!isWithin(realpathSync(folder), at)) return undefined;
    return isWithin(realpathSync(current), at) ? "present" : "other";
  } catch {
    return undefined;
  }
}

/** Processes of the release that run. */
export function runningOf(context: ReleaseContext, releases: ReleasesSpec): readonly Process[] {
  return processesOf(context, releases).filter(({ states }) => states.some(hasCurrentRun));
}

/** Resolves when the time of the gate is over. @throws Error with what the release doesn't keep to */
export async function keepToGate(
  context: ReleaseContext,
  releases: ReleasesSpec & Required<Pick<ReleasesSpec, "gate">>,
  signal: AbortSignal,
): Promise<void> {
  const gate = new Gate(context, releases);
  let problem: string | undefined;
  await settle(
    [
      {
        sources: [context.supervisor, context.balancing],
        look: (again) => {
          again(LOOK_MS);
          problem = gate.problem();
          return problem === undefined ? "pending" : "failed";
        },
      },
    ],
    { timeoutMs: releases.gate.ms, signal },
  );
  signal.throwIfAborted();
  problem ??= gate.finalProblem();
  if (problem !== undefined) throw new Error(`the gate: ${problem}`);
}

type Counts = { readonly restarts: number; readonly refused: number };

class Gate {
  readonly #context: ReleaseContext;
  readonly #releases: ReleasesSpec & Required<Pick<ReleasesSpec, "gate">>;
  readonly #before: ReadonlyMap<string, Counts>;
  /** By name of the number and id: the first report. */
  readonly #first = new Map<string, number>();
  readonly #reported = new Set<string>();

  constructor(context: ReleaseContext, releases: ReleasesSpec & Required<Pick<ReleasesSpec, "gate">>) {
    this.#context = context;
    this.#releases = releases;
    this.#before = new Map(
      processesOf(context, releases).map((process) => [process.id, countsOf(context.records.of(process))]),
    );
  }

  /** What stands by is of the release before. */
  get #processes(): readonly Process[] {
    const { standby } = this.#context.balancing;
    return processesOf(this.#context, this.#releases).filter(({ id }) => !standby.has(id));
  }

  problem(): string | undefined {
    const { restarts, refused, metrics = {} } = this.#releases.gate;
    const records = this.#processes.map((process) => this.#context.records.of(process));
    const sums = { restarts: 0, refused: 0 };
    for (const record of records) {
      const before = this.#before.get(record.id) ?? { restarts: 0, refused: 0 };
      const now = countsOf(record);
      sums.restarts += Math.max(0, now.restarts - before.restarts);
      sums.refused += Math.max(0, now.refused - before.refused);
    }
    const last = records.find(({ restarts: count, id }) => count > (this.#before.get(id)?.restarts ?? 0));
    if (sums.restarts > restarts)
      return `"${last?.id}" ${this.#context.incidents.lastEnd(last?.id ?? "")?.reason ?? last?.reason}; allowed: ${restarts} restarts, there were ${sums.restarts}`;
    if (refused !== undefined && sums.refused > refused)
      return `${sums.refused} connections were refused; allowed: ${refused}`;
    for (const record of records)
      for (const [name, limit] of Object.entries(metrics)) {
        const problem = this.#metricProblem(record, name, limit);
        if (problem !== undefined) return problem;
      }
    return undefined;
  }

  /** At the end of its time. */
  finalProblem(): string | undefined {
    const { metrics = {}, ms } = this.#releases.gate;
    const missing = Object.keys(metrics).find((name) => !this.#reported.has(name));
    if (missing !== undefined)
      return `no process of the release has reported the metric "${missing}" within ${ms / 1_000} s; report it (procman/telemetry), or take it out of "releases.gate.metrics"`;
    const down = this.#processes.find(({ states }) => states.some((state) => isInBackoff(state) || hasFailed(state)));
    return down === undefined ? undefined : `"${down.id}" ${this.#context.records.of(down).reason}`;
  }

  #metricProblem({ id, telemetry, started }: ProcessRecord, name: string, limit: number | string): string | undefined {
    const value = telemetry?.metrics?.[name];
    // The last report may be that of the release before.
    if (telemetry === undefined || value === undefined || Date.parse(telemetry.sent) < Date.parse(started ?? ""))
      return undefined;
    this.#reported.add(name);
    const key = `${name} ${id}`;
    const first = this.#first.get(key) ?? value;
    this.#first.set(key, first);
    const grown = typeof limit === "string";
    if ((grown ? value - first : value) <= Number(limit)) return undefined;
    return `the metric "${name}" of "${id}" ${grown ? `has grown by ${value - first}` : `is ${value}`}; allowed: ${limit}`;
  }
}

function countsOf({ restarts, backend }: ProcessRecord): Counts {
  return { restarts, refused: backend?.refused ?? 0 };
}

/** @throws {ProcmanError} `deploy-refused` */
export function releasesOf({ specs }: Pick<ReleaseContext, "specs">, what: string): ReleasesSpec {
  const { releases } = specs.config;
  if (releases !== undefined) return releases;
  throw new ProcmanError(
    "deploy-refused",
    `Cannot ${what}: the configuration has no "releases", which say where they are; add it, and run "procman reload"`,
  );
}

/** Restarts processes and clusters for changes of watched files that they have not seen since their start. */
import { basename, dirname, relative } from "node:path";
import type { Config, ProcessSpec } from "../config/spec.ts";
import { statsOf } from "../file-watcher/file-stamp.ts";
import { RestartLoopGuard } from "../file-watcher/restart-loop-guard.ts";
import type { ChangedFiles } from "../file-watcher/watcher.ts";
import { monotonicMs } from "../os/clock.ts";
import { startFolder } from "../os/start-folder.ts";
import { BESIDE_CONFIGURATION } from "../os/state-folder.ts";
import type { FileChange } from "../supervisor/file-change.ts";
import type { Process } from "../supervisor/process.ts";
import { isIdle, isRunning } from "../supervisor/verdict.ts";
import { warn } from "./log-line.ts";
import { MAX_FILE_NAMES, type RollingRestarts } from "./operations/rolling-restart.ts";
import type { FileChangeBatch } from "./recovery/notes.ts";
import type { Log, Services } from "./services.ts";
import { systemClock } from "./system-clock.ts";

/** On a busy machine, or after a pause of the service, a change is reported up to this much later. Milliseconds. */
const MAX_REPORT_DELAY_MS = 60_000;

export class RestartOnChange {
  readonly #services: Pick<Services, "link" | "specs" | "supervisor">;
  readonly #rollingRestarts: Pick<RollingRestarts, "onFileChange">;
  readonly #guards: RestartLoopGuards;

  constructor(
    services: Pick<Services, "link" | "log" | "specs" | "supervisor">,
    rollingRestarts: Pick<RollingRestarts, "onFileChange">,
  ) {
    this.#services = services;
    this.#rollingRestarts = rollingRestarts;
    this.#guards = new RestartLoopGuards(services.log);
  }

  /** Processes are handled one by one, the instances of a cluster together. */
  onChange(specs: readonly ProcessSpec[], files: readonly ChangedFiles[]): void {
    const clusters = new Map<string, Process[]>();
    for (const { id, cluster } of specs) {
      const process = this.#services.supervisor.processes.find((each) => each.id === id);
      if (process === undefined) continue;
      if (cluster === undefined) this.#restartProcess(process, files);
      else clusters.set(cluster.id, [...(clusters.get(cluster.id) ?? []), process]);
    }
    for (const [cluster, instances] of clusters) this.#restartCluster(cluster, instances, files);
  }

  /** Clears all timers. */
  close(): void {
    this.#guards.close();
  }

  #restartProcess(process: Process, files: readonly ChangedFiles[]): void {
    const change = this.#changeOf(files.filter((file) => hasChangedSinceStart(file, process)));
    const effect = change === undefined ? undefined : process.effectOf(change);
    if (change === undefined || effect === undefined) return;
    const retry = (): void => {
      process.onFileChange({ ...change, at: monotonicMs() });
      this.#services.link.flush();
    };
    if (
      effect === "blocked" ||
      this.#guards.allows({ id: process.id, since: sinceOf([process], change.at) }, change, retry)
    )
      process.onFileChange(change);
  }

  #restartCluster(cluster: string, instances: readonly Process[], files: readonly ChangedFiles[]): void {
    const concerned = instances.filter((process) => files.some((file) => hasChangedSinceStart(file, process)));
    const change = this.#changeOf(
      files.filter((file) => concerned.some((process) => hasChangedSinceStart(file, process))),
    );
    if (change === undefined) return;
    const batch: FileChangeBatch = { ...change, ids: concerned.map(({ id }) => id) };
    const retry = (): void => {
      this.#rollingRestarts.onFileChange(cluster, { ...batch, at: monotonicMs() }, () => true);
      this.#services.link.flush();
    };
    this.#rollingRestarts.onFileChange(cluster, batch, () =>
      this.#guards.allows({ id: cluster, since: sinceOf(instances, batch.at) }, batch, retry),
    );
  }

  #changeOf(files: readonly ChangedFiles[]): Omit<FileChangeBatch, "ids"> | undefined {
    if (files.length === 0) return undefined;
    const folder = folderOf(this.#services.specs.config);
    const names = files.slice(0, MAX_FILE_NAMES).map(({ file }) => relative(folder, file) || ".");
    return { files: names, count: files.length, at: files.reduce((latest, { at }) => Math.max(latest, at), 0) };
  }
}

/** Messages name files by their path from this folder, and patterns begin there: also for a file that procman has made, from an import or the object of a program. */
export function folderOf({ file }: Config): string {
  const folder = file === "" ? startFolder() : dirname(file);
  return basename(dirname(folder)) === BESIDE_CONFIGURATION ? dirname(dirname(folder)) : folder;
}

/** Start of the latest run that began before `at`; monotonic milliseconds. */
function sinceOf(processes: readonly Process[], at: number): number | undefined {
  const starts = processes.flatMap(({ states: [state] }) =>
    isRunning(state) && state.since <= at ? [state.since] : [],
  );
  return starts.length === 0 ? undefined : Math.max(...starts);
}

/** Whether the file itself has changed since the run began, or since the last one ended, not only the report of the change arrived since. */
function hasChangedSinceStart({ file, at }: ChangedFiles, { states: [state], endedAt }: Process): boolean {
  if (!isRunning(state) && !isIdle(state)) return true;
  const since = isRunning(state) ? state.since : endedAt;
  if (at <= since || at - since > MAX_REPORT_DELAY_MS) return at > since;
  // File times lag by a tick of the kernel, but a program also starts later than its fork: it reads what changes in
  // between.
  return changedAt(file) > Date.now() - (monotonicMs() - since);
}

/** When a file was changed last; the folder of a removed file tells it. A folder that is named itself stands for anything in it. */
function changedAt(file: string): number {
  let path = file;
  let stats = statsOf(file);
  if (stats?.isDirectory() === true) return Number.POSITIVE_INFINITY;
  for (; stats === undefined; stats = statsOf(path)) path = dirname(path);
  return Math.max(stats.mtimeMs, stats.ctimeMs);
}

type GuardedProcess = { readonly guard: RestartLoopGuard; rested: () => void };

/** A process or cluster, and its last start if it runs; monotonic milliseconds. */
type GuardedStart = { readonly id: string; readonly since: number | undefined };

/** Keeps processes that write their own watched files from being restarted forever, and logs that. */
class RestartLoopGuards {
  readonly #log: Pick<Log, "write">;
  readonly #guarded = new Map<string, GuardedProcess>();

  constructor(log: Pick<Log, "write">) {
    this.#log = log;
  }

  /** Whether it may be restarted now. If not, `rested` is called when its files have stopped changing. */
  allows({ id, since }: GuardedStart, { files: [file = ""], at }: FileChange, rested: () => void): boolean {
    const { guard } = this.#of(id, rested);
    const verdict = guard.verdict(at, since);
    if (verdict === "held")
      this.#log.write(
        id,
        warn(
          `${file} has changed soon after a start, and not for the first time; waiting until no file has changed for 10 s`,
        ),
      );
    if (verdict === "looping")
      this.#log.write(
        id,
        warn(
          `${file} has changed soon after that start, too: it is restarted when no file has changed for 10 s, in ${guard.pauseSeconds} s at the earliest. If it writes that file itself, add the file to "skip" of the watcher, or watch less`,
        ),
      );
    return verdict === "go";
  }

  /** Clears all timers. */
  close(): void {
    for (const { guard } of this.#guarded.values()) guard.close();
    this.#guarded.clear();
  }

  #of(id: string, rested: () => void): GuardedProcess {
    const known = this.#guarded.get(id);
    if (known !== undefined) return Object.assign(known, { rested });
    const guarded: GuardedProcess = {
      rested,
      guard: new RestartLoopGuard(systemClock, () => guarded.rested()),
    };
    this.#guarded.set(id, guarded);
    return guarded;
  }
}

/** The supervisor's port to the operating system, over the keeper. */
import { join } from "node:path";
import { EXIT } from "../../base/errors.ts";
import type { RunMarkers } from "../../base/run-marker.ts";
import type { AnySignal, StopSignal } from "../../base/signals.ts";
import { MissingVariableError } from "../../config/run-variables.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type {
  CgroupReport,
  EndReport,
  ExitedReport,
  FailedReport,
  FromKeeper,
  RunKey,
  RunningRun,
  SpawnedReport,
  SpawnRequest,
} from "../../ipc/keeper-protocol.ts";
import { keyOf } from "../../ipc/logger-protocol.ts";
import { monotonicMs } from "../../os/clock.ts";
import { failpoint } from "../../os/failpoint.ts";
import type { UidOfSlot } from "../../os/process-tree.ts";
import type { HookCall, RestartOrderCondition, RunReports, Spawner } from "../../supervisor/ports.ts";
import { stopSignalOf } from "../../supervisor/restart-policy.ts";
import { encodeSnapshot, type ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { ExitInfo, Occupied, SignalName, StopRequest } from "../../supervisor/states.ts";
import type { PendingStop } from "../recovery/notes.ts";
import type { KeeperLink, Services } from "../services.ts";
import { type AccessOfProcess, EnvFileWarnings } from "./environment.ts";
import type { HookRunner } from "./hooks.ts";
import {
  exitCodeOf,
  hasChannel,
  InputFileError,
  type SpawnRequestContext,
  spawnRequestOf,
  whyUnstartable,
} from "./spawn-request.ts";
import type { Sweeper } from "./sweeper.ts";
import type { TakenPorts } from "./taken-ports.ts";

/** The logger waits less. Milliseconds. */
const RELEASE_MS = 5_000;

export type KeeperSpawnerOptions = {
  readonly link: KeeperLink;
  readonly sweeper: Sweeper;
  readonly hooks: Pick<HookRunner, "load" | "run" | "end">;
  /** Makes the spawn request of a run. */
  readonly request: (slot: string, run: number) => Omit<SpawnRequest, keyof RunKey>;
  /** Whether the request can be made before the start: secrets and env files are read at the start. */
  readonly isKnownInAdvance: (slot: string) => boolean;
  readonly markers: RunMarkers;
  /** The user of a slot, if it isn't procman's own. */
  readonly uidOf: UidOfSlot;
  /** For workers, which get a message: the signal if it can't be sent, and to which processes. undefined: the process gets signals only. */
  readonly workerSignal: (slot: string) => { readonly signal: StopSignal; readonly to?: "leader" } | undefined;
  /** Puts off the start of a run whose port another process has still; false: it is started at once. */
  readonly defersStart: (slot: string, start: () => void) => boolean;
  /** Takes over the stop of an instance behind the load balancer, and calls `sendStop` when its connections are drained; false: it is sent at once. */
  readonly defersStop: (stop: PendingStop) => boolean;
  readonly whyUnstartable: (failed: FailedReport) => { readonly message: string; readonly exitCode: number };
  /** The program that holds the port of a run that has failed. */
  readonly occupied: (exited: ExitedReport) => Occupied | undefined;
};

export class KeeperSpawner implements Spawner {
  readonly #options: KeeperSpawnerOptions;
  /** The latest run of each slot. */
  readonly #reports = new Map<string, { readonly run: number; readonly on: RunReports }>();
  /** Runs and ends of the keeper's snapshot that are not adopted yet. */
  readonly #running = new Map<string, RunningRun>();
  readonly #ended = new Map<string, EndReport>();
  /** Deliver what the snapshot has of adopted runs. */
  readonly #buffered: (() => void)[] = [];
  /** Restart orders, by slot. */
  readonly #restartOrders = new Map<string, { readonly run: number; readonly after: RestartOrderCondition }>();
  #cgroups: string | undefined;
  #isLoaded = false;
  #isDelivered = false;

  constructor(options: KeeperSpawnerOptions) {
    this.#options = options;
  }

  /** Takes the keeper's snapshot, before the supervisor adopts runs. */
  load({ running, ended, cgroups, markerKey }: FromKeeper & { readonly t: "snapshot" }): void {
    this.#options.markers.key = markerKey;
    this.#options.hooks.load(markerKey);
    this.#cgroups = cgroups;
    this.#isLoaded = true;
    for (const run of running) this.#running.set(keyOf(run), run);
    for (const report of ended) this.#ended.set(keyOf(report), report);
    this.#release(ended.filter(({ at }) => isFresh(at)));
    failpoint("service.loaded");
  }

  /** The folder of cgroups, or why there is none. */
  useCgroups({ folder, problem }: CgroupReport, warn: (problem: string) => void): void {
    this.#cgroups = folder ?? this.#cgroups;
    if (problem !== undefined) warn(problem);
  }

  spawn(slot: string, run: number, on: RunReports): void {
    this.#reports.set(slot, { run, on });
    if (!this.#options.defersStart(slot, () => this.#start(slot, run, on))) this.#start(slot, run, on);
  }

  #start(slot: string, run: number, on: RunReports): void {
    try {
      this.#options.link.send({ t: "spawn", slot, run, ...this.#options.request(slot, run) });
    } catch (error) {
      if (!isUnstartable(error)) throw error;
      on.ended(
        { kind: "unstartable", message: error.message, permanent: true, exitCode: EXIT.refused, at: monotonicMs() },
        false,
      );
    }
  }

  giveRestartOrder(slot: string, run: number, after: RestartOrderCondition): void {
    this.#restartOrders.set(slot, { run, after });
    if (!this.#options.isKnownInAdvance(slot)) return;
    try {
      this.#options.link.send({ t: "prepare", slot, run, ...this.#options.request(slot, run), after });
    } catch (error) {
      // Reported when the run is started.
      if (!isUnstartable(error)) throw error;
    }
  }

  cancelRestartOrder(slot: string, run: number): void {
    this.#restartOrders.delete(slot);
    this.#options.link.send({ t: "unprepare", slot, run });
  }

  /** Sends restart orders again: spawn requests may have changed. */
  refreshOrders(): void {
    for (const [slot, { run, after }] of this.#restartOrders) {
      this.#options.link.send({ t: "unprepare", slot, run });
      this.giveRestartOrder(slot, run, after);
    }
  }

  adoptRestarted(slot: string, run: number, on: RunReports): void {
    if (this.#isDelivered) this.#reports.set(slot, { run, on });
    else this.#adoptRun(slot, run, { seen: "asked", on })();
  }

  signal(slot: string, run: number, signal: AnySignal, to?: "leader"): void {
    this.#options.link.send({ t: "signal", slot, run, signal, ...(to && { to }) });
  }

  stop(slot: string, run: number, request: StopRequest): void {
    const stop = { slot, run, ...request };
    if (!this.#options.defersStop(stop)) this.sendStop(stop);
  }

  sendStop({ slot, run, signal, to }: PendingStop): void {
    if (signal !== undefined) return this.signal(slot, run, signal, to);
    const otherwise = this.#options.workerSignal(slot);
    if (otherwise !== undefined) this.#options.link.send({ t: "drain", slot, run, ...otherwise });
  }

  kill(slot: string, run: number): void {
    this.signal(slot, run, "SIGKILL");
  }

  sweep(slot: string, run: number, pid: number, signal: SignalName): void {
    const cgroup = this.#cgroups === undefined ? {} : { cgroup: join(this.#cgroups, slot) };
    const uid = this.#options.uidOf(slot);
    this.#options.sweeper.sweep(
      { slot, run, pid, ...(uid === undefined ? {} : { uid }), ...cgroup },
      signal,
      (left) => {
        this.#on(slot, run)?.swept(left);
        this.#options.link.flush();
      },
    );
  }

  runHook(slot: string, run: number, call: HookCall, on: RunReports): void {
    this.#options.hooks.run(slot, run, call, on);
  }

  endHook(slot: string, run: number, on: RunReports): void {
    this.#options.hooks.end(slot, run, on);
  }

  adopt(slot: string, run: number, seen: "asked" | "alive" | "ended", on: RunReports): void {
    const deliver = this.#adoptRun(slot, run, { seen, on });
    if (seen !== "ended") this.#buffered.push(deliver);
  }

  /** Returns the function that delivers what the snapshot has of the run. */
  #adoptRun(
    slot: string,
    run: number,
    { seen, on }: { readonly seen: "asked" | "alive" | "ended"; readonly on: RunReports },
  ): () => void {
    const key = keyOf({ slot, run });
    const running = this.#running.get(key);
    const ended = this.#ended.get(key);
    this.#reports.set(slot, { run, on });
    if (seen !== "ended") this.#ended.delete(key);
    return () => {
      if (running !== undefined) return on.spawned(running.pid, running.since);
      // The keeper has no report of the run: its request was lost or is still queued, or the run ended unseen.
      if (ended === undefined) return seen === "asked" ? on.lost() : on.ended({ kind: "unknown" }, false);
      // The previous service may not have known that it has begun: what it left behind is found by its pid.
      if (ended.t === "exited" && (ended.survivors || ended.pid > 0)) on.spawned(ended.pid, ended.since ?? ended.at);
      this.#end(ended);
    };
  }

  /** Called after all runs have been adopted and the current configuration applied: delivers the buffered reports and acknowledges the rest. */
  deliverBuffered(): void {
    const begun = [...this.#running.values()].filter(({ since }) => isFresh(since));
    for (const deliver of this.#buffered.splice(0)) deliver();
    this.#release(begun);
    for (const { slot, run } of this.#ended.values()) this.#options.link.send({ t: "ack", slot, run });
    this.#ended.clear();
    this.#running.clear();
    this.#isDelivered = true;
    failpoint("service.settled");
  }

  remember(id: string, snapshot: ProcessSnapshot): void {
    this.#options.link.remember(id, encodeSnapshot(snapshot));
  }

  forget(id: string): void {
    this.#options.link.forget(id);
  }

  receive(message: SpawnedReport | EndReport): void {
    // Reports before the snapshot are in it. An acknowledgement now would make the keeper forget them.
    if (!this.#isLoaded) return;
    if (message.t !== "spawned") return this.#end(message);
    this.#on(message.slot, message.run)?.spawned(message.pid, message.since);
    this.#release([message]);
  }

  /** Sent behind the entries about the starts of these runs: from now on the logger reads their output. */
  #release(runs: readonly RunKey[]): void {
    if (runs.length > 0)
      this.#options.link.sendInOrder({ t: "logger", message: { t: "release", keys: runs.map(keyOf) } });
  }

  #on(slot: string, run: number): RunReports | undefined {
    const latest = this.#reports.get(slot);
    return latest?.run === run ? latest.on : undefined;
  }

  #end(report: EndReport): void {
    const { slot, run, at } = report;
    this.#restartOrders.delete(slot);
    this.#options.link.send({ t: "ack", slot, run });
    const on = this.#on(slot, run);
    // Its process may be gone.
    if (on === undefined) return;
    const ending = this.#endingOf(report);
    if (report.t === "exited" && report.followed) on.endedAndRestarted(ending, at);
    else on.ended(ending, report.t === "exited" && report.survivors, at);
  }

  #endingOf(report: EndReport): ExitInfo {
    const { at } = report;
    if (report.t === "exited") {
      const occupied =
        report.code === 0 || report.code === null || report.followed ? undefined : this.#options.occupied(report);
      const how = {
        ...(report.outOfMemory === true && { outOfMemory: true as const }),
        ...(occupied && { occupied }),
        at,
      };
      const unseen = report.pid === 0 && { unseen: true as const };
      return report.unknown
        ? { kind: "unknown", ...unseen, ...how }
        : { kind: "exited", code: report.code, signal: report.signal, ...how };
    }
    return {
      kind: "unstartable",
      permanent: report.step === "cwd" || report.step === "program",
      ...this.#options.whyUnstartable(report),
      at,
    };
  }
}

/** The logger may still wait for the release of a run that has begun or ended then. */
function isFresh(at: number): boolean {
  return monotonicMs() - at < RELEASE_MS;
}

export type SpawnerContext = {
  readonly sweeper: Sweeper;
  readonly hooks: HookRunner;
  readonly ports: Pick<TakenPorts, "of">;
  readonly accessOf: AccessOfProcess;
  /** What to do if its shared socket can't be opened; undefined: nothing is known. */
  readonly remedy: (spec: ProcessSpec) => string | undefined;
  readonly defersStart: KeeperSpawnerOptions["defersStart"];
  readonly defersStop: KeeperSpawnerOptions["defersStop"];
};

/** Its spawn requests are made from the specification at the time of the start. */
export function spawnerOf(
  { link, log, specs, markers }: Pick<Services, "link" | "log" | "specs" | "markers">,
  { sweeper, hooks, ports, accessOf, remedy, defersStart, defersStop }: SpawnerContext,
): KeeperSpawner {
  const faults = new EnvFileWarnings(log);
  return new KeeperSpawner({
    link,
    sweeper,
    hooks,
    markers,
    uidOf: (slot) => specs.of(slot).user?.uid,
    isKnownInAdvance: (slot) => isKnownInAdvance(specs.of(slot)),
    request: (slot, run) => {
      const onFaults: SpawnRequestContext["onFaults"] = (file, found) => faults.report(slot, file, found);
      const own = specs.of(slot);
      const marker = markers.of(slot, run);
      const proxyToken = (): string => markers.proxyToken(own.id);
      return spawnRequestOf(own, { config: specs.config, marker, proxyToken, slot, run, accessOf, onFaults });
    },
    defersStart,
    defersStop,
    workerSignal: (slot) => {
      const own = specs.of(slot);
      if (!hasChannel(own)) return undefined;
      const { policy } = own;
      return { signal: stopSignalOf(policy), ...(policy.killMode && { to: policy.killMode }) };
    },
    whyUnstartable: (failed) => {
      const own = specs.of(failed.slot);
      const what = failed.step === "socket" ? remedy(own) : undefined;
      const message = whyUnstartable(own, failed, specs.config);
      return { message: what === undefined ? message : `${message}; ${what}`, exitCode: exitCodeOf(failed) };
    },
    occupied: (exited) => (exited.survivors ? undefined : ports.of(exited)),
  });
}

function isUnstartable(error: unknown): error is MissingVariableError | InputFileError {
  return error instanceof MissingVariableError || error instanceof InputFileError;
}

/** False if the request may differ at the time of the start: files are read and looked for then, a cgroup is made for each run. */
function isKnownInAdvance({ envFile = [], env, stdin, memoryMax, cpuQuota }: ProcessSpec): boolean {
  const hasFile = envFile.length > 0 || typeof stdin === "object";
  const hasCgroup = memoryMax !== undefined || cpuQuota !== undefined;
  return !hasFile && Object.values(env).every((value) => typeof value === "string") && !hasCgroup;
}

/** Tells processes and clusters which changes of watched files are news to them. */
import { relative } from "node:path";
import type { ProcessSpec } from "../config/spec.ts";
import { monotonicMs } from "../os/monotonic.ts";
import type { Process } from "../supervisor/process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Changed } from "../watch/batch.ts";
import { seenAt } from "../watch/stamp.ts";
import { FileGuards } from "./file-guards.ts";
import type { Line } from "./narrator.ts";
import type { Rolling } from "./rolling.ts";
import { NAMES, type News } from "./rolls.ts";

/** On a busy machine a change is heard of so much later. Milliseconds. */
const LATE_MS = 2_000;

/** Who is told. */
export type Told = { readonly supervisor: Supervisor; readonly rolling: Pick<Rolling, "onFileChange"> };

export type FileNewsPorts = {
  readonly say: (id: string, line: Line) => void;
  /** Files are named by their path from there. */
  readonly folder: () => string;
  /** Sends what was decided. */
  readonly flush: () => void;
};

export class FileNews {
  readonly #told: Told;
  readonly #ports: FileNewsPorts;
  readonly #guards: FileGuards;

  constructor(told: Told, ports: FileNewsPorts) {
    this.#told = told;
    this.#ports = ports;
    this.#guards = new FileGuards(ports.say);
  }

  /** To each process for itself, to the instances of a cluster together. */
  tell(specs: readonly ProcessSpec[], files: readonly Changed[]): void {
    const clusters = new Map<string, Process[]>();
    for (const { id, cluster } of specs) {
      const process = this.#told.supervisor.processes.find((each) => each.id === id);
      if (process === undefined) continue;
      if (cluster === undefined) this.#tellProcess(process, files);
      else clusters.set(cluster.id, [...(clusters.get(cluster.id) ?? []), process]);
    }
    for (const [cluster, instances] of clusters) this.#tellCluster(cluster, instances, files);
  }

  /** All over: no timer is left. */
  close(): void {
    this.#guards.close();
  }

  #tellProcess(process: Process, files: readonly Changed[]): void {
    const change = this.#changeOf(files.filter((file) => isNews(file, process)));
    const effect = change === undefined ? undefined : process.heeds(change);
    if (change === undefined || effect === undefined) return;
    const again = (): void => {
      process.onFileChange({ ...change, at: monotonicMs() });
      this.#ports.flush();
    };
    if (effect === "blocked" || this.#guards.admits({ id: process.id, since: sinceOf([process], change.at) }, change, again))
      process.onFileChange(change);
  }

  #tellCluster(cluster: string, instances: readonly Process[], files: readonly Changed[]): void {
    const concerned = instances.filter((process) => files.some((file) => isNews(file, process)));
    const change = this.#changeOf(files.filter((file) => concerned.some((process) => isNews(file, process))));
    if (change === undefined) return;
    const news: News = { ...change, ids: concerned.map(({ id }) => id) };
    const { rolling } = this.#told;
    const again = (): void => {
      rolling.onFileChange(cluster, { ...news, at: monotonicMs() }, () => true);
      this.#ports.flush();
    };
    rolling.onFileChange(cluster, news, () => this.#guards.admits({ id: cluster, since: sinceOf(instances, news.at) }, news, again));
  }

  #changeOf(files: readonly Changed[]): Omit<News, "ids"> | undefined {
    if (files.length === 0) return undefined;
    const names = files.slice(0, NAMES).map(({ file }) => relative(this.#ports.folder(), file) || ".");
    return { files: names, count: files.length, at: files.reduce((latest, { at }) => Math.max(latest, at), 0) };
  }
}

/** When the latest of their runs began that was there before; monotonic milliseconds. */
function sinceOf(processes: readonly Process[], at: number): number | undefined {
  const starts = processes.flatMap(({ states: [state] }) => (state?.status === "running" && state.since <= at ? [state.since] : []));
  return starts.length === 0 ? undefined : Math.max(...starts);
}

/** Whether it has changed since the run began, and was not only heard of since. What a run has from its beginning is no news. */
function isNews({ file, at }: Changed, { states: [state] }: Process): boolean {
  if (state?.status !== "running") return true;
  const { since } = state;
  if (at <= since || at - since > LATE_MS) return at > since;
  const changedAt = seenAt(file)?.changedAt;
  // File times lag by a tick of the kernel, and so does the program behind its fork: what changes in between, it reads.
  return changedAt === undefined || changedAt > Date.now() - (monotonicMs() - since);
}

/** Samples the process table: CPU and memory of each process with all its descendants. */
import type { RunMarkers } from "../base/run-marker.ts";
import { monotonicMs } from "../os/clock.ts";
import { ownersOf, ProcessMarkers, type UidOfSlot } from "../os/process-tree.ts";
import { ownMemory, type ProcessUsage, processUsages, residentMemory } from "../os/process-usage.ts";
import { SHORTEST_MS, WatchPace } from "./watch-pace.ts";

export type Sample = {
  /** undefined in the first sample. 100 is one core. */
  readonly cpuPercent: number | undefined;
  /** Private memory. */
  readonly memoryBytes: number;
  /** With memory that may be shared (RSS), where that is another figure. */
  readonly residentBytes?: number;
  readonly processes: number;
  /** Total CPU time that was sampled. */
  readonly cpuSeconds: number;
  /** Pids of the leaders of its runs: a sample says nothing of a later run. */
  readonly leaders: readonly number[];
};

export type SamplerPorts = {
  readonly markers: RunMarkers;
  /** The user of a slot, if it isn't procman's own. */
  readonly uidOf: UidOfSlot;
  /** Processes by the pids of the leaders of their runs. */
  readonly roots: () => ReadonlyMap<number, string>;
  /** The process of a slot. */
  readonly processOf: (slot: string) => string;
  /** `at`: milliseconds since 1970. */
  readonly sampled: (samples: ReadonlyMap<string, Sample>, at: number) => void;
  /** A process has a memory limit, so samples must always be recent. */
  readonly isLimited: () => boolean;
  readonly report: (problem: string) => void;
  readonly usages?: () => Promise<readonly ProcessUsage[]>;
};

/** Interval of samples, aligned with the clock. Milliseconds. */
export const STEP_MS = 5_000;
/** Largest share of a core that sampling may use, however many processes the machine has. */
const COST = 1 / 200;
/** The same while a process has a memory limit, which is looked at each second. */
const LIMITED_COST = 1 / 20;

/** A process with its private memory in bytes. */
type MemoryUse = ProcessUsage & { ownBytes?: number };

/** A process with its descendants. */
type ProcessTreeUse = readonly MemoryUse[];

export class Sampler {
  readonly #ports: SamplerPorts;
  readonly #markers: ProcessMarkers;
  #samples: ReadonlyMap<string, Sample> = new Map();
  #trees: ReadonlyMap<string, ProcessTreeUse> = new Map();
  /** Monotonic milliseconds of the last sample, and its CPU time. */
  #last: number | undefined;
  #costMs = 0;
  /** Monotonic milliseconds. */
  #started = 0;
  readonly #pace = new WatchPace();
  #timer: NodeJS.Timeout | undefined;
  #due = 0;
  #isSampling = false;
  #isStopped = false;
  #hasFailed = false;

  constructor(ports: SamplerPorts) {
    this.#ports = ports;
    this.#markers = new ProcessMarkers(ports.markers, ports.uidOf);
  }

  start(): void {
    this.#arm(SHORTEST_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  of(id: string): Sample | undefined {
    return this.#samples.get(id);
  }

  /** A client wants metrics: samples follow its requests for a while. */
  watch(): void {
    const now = monotonicMs();
    this.#pace.asked(now);
    const ms = this.#watchedIn(now) ?? this.#shortest;
    if (this.#timer !== undefined && !this.#isSampling && this.#due - now > ms) this.#arm(ms);
  }

  get #shortest(): number {
    return Math.max(SHORTEST_MS, this.#costMs / COST);
  }

  /** undefined: nothing asks. */
  #watchedIn(now: number): number | undefined {
    return this.#pace.dueIn(now, this.#shortest);
  }

  /** Schedules the next sample. */
  #plan(): void {
    // The first sample has no CPU value, which is a difference of two.
    const hasCpu = [...this.#samples.values()].every(({ cpuPercent }) => cpuPercent !== undefined);
    const idle = Math.max(STEP_MS - (Date.now() % STEP_MS), this.#costMs / COST);
    const now = monotonicMs();
    if (this.#ports.isLimited())
      return this.#arm(Math.max(this.#started + SHORTEST_MS - now, this.#costMs / LIMITED_COST));
    this.#arm(hasCpu ? (this.#watchedIn(now) ?? idle) : this.#shortest);
  }

  #arm(ms: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#due = monotonicMs() + ms;
    this.#timer = setTimeout(() => void this.sample().finally(() => this.#plan()), ms).unref();
  }

  /** Takes one sample. */
  async sample(): Promise<void> {
    if (this.#isSampling) return;
    this.#isSampling = true;
    try {
      await this.#sample();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed)
        this.#ports.report(`Cannot measure CPU and memory: ${(error as Error).message}; processes keep running`);
      this.#hasFailed = true;
    } finally {
      this.#isSampling = false;
    }
  }

  async #sample(): Promise<void> {
    const start = monotonicMs();
    const before = process.cpuUsage();
    this.#started = start;
    if (this.#ports.roots().size === 0) return this.#take(new Map(), new Map(), start);
    const usages = await (this.#ports.usages ?? processUsages)();
    // Read again: some runs may have ended meanwhile.
    const roots = this.#ports.roots();
    this.#take(this.#treesOf(usages, roots), roots, start);
    // CPU time, because the elapsed time includes that of other processes between the slices.
    const { user, system } = process.cpuUsage(before);
    this.#costMs = (user + system) / 1_000;
  }

  #treesOf(usages: readonly ProcessUsage[], roots: ReadonlyMap<number, string>): ReadonlyMap<string, ProcessTreeUse> {
    const ids = new Set(roots.values());
    const owners = ownersOf(usages, roots, (usage) => {
      const slot = this.#markers.slotOf(usage);
      const id = slot === undefined ? undefined : this.#ports.processOf(slot);
      return id !== undefined && ids.has(id) ? id : undefined;
    });
    this.#markers.endScan();
    const trees = new Map<string, ProcessUsage[]>();
    for (const [usage, id] of owners) {
      const known = trees.get(id);
      if (known === undefined) trees.set(id, [usage]);
      else known.push(usage);
    }
    return trees;
  }

  #take(trees: ReadonlyMap<string, ProcessTreeUse>, roots: ReadonlyMap<number, string>, at: number): void {
    const elapsed = this.#last === undefined ? undefined : (at - this.#last) / 1_000;
    const samples = new Map<string, Sample>();
    for (const [id, tree] of trees) {
      const before = this.#trees.get(id);
      const known = new Map(before?.map((usage) => [usage.pid, usage]));
      for (const usage of tree) usage.ownBytes = weightOf(usage, known.get(usage.pid));
      const used = before === undefined ? 0 : cpuBetween(known, tree);
      samples.set(id, {
        cpuPercent: before === undefined || elapsed === undefined ? undefined : (100 * used) / Math.max(elapsed, 0.001),
        memoryBytes: tree.reduce((sum, { ownBytes = 0 }) => sum + ownBytes, 0),
        ...residentOf(tree),
        processes: tree.length,
        cpuSeconds: (this.#samples.get(id)?.cpuSeconds ?? 0) + used,
        leaders: tree.flatMap(({ pid }) => (roots.get(pid) === id ? pid : [])),
      });
    }
    this.#trees = trees;
    this.#samples = samples;
    this.#last = at;
    this.#ports.sampled(samples, Date.now());
  }
}

function residentOf(tree: ProcessTreeUse): Pick<Sample, "residentBytes"> {
  const sizes = tree.flatMap((usage) => residentMemory(usage) ?? []);
  return sizes.length === 0 ? {} : { residentBytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}

/** If CPU time and resident size are unchanged, so is private memory: this saves half of a sample when most processes are idle. */
function weightOf(now: MemoryUse, before: MemoryUse | undefined): number {
  const isAsBefore =
    before?.startTime === now.startTime &&
    before.cpuSeconds === now.cpuSeconds &&
    before.residentPages !== undefined &&
    before.residentPages === now.residentPages;
  return (isAsBefore ? before.ownBytes : undefined) ?? ownMemory(now);
}

function secondsOf(tree: Iterable<ProcessUsage>): number {
  let sum = 0;
  for (const { cpuSeconds, reapedSeconds } of tree) sum += cpuSeconds + reapedSeconds;
  return sum;
}

/**
 * When a child exits, its CPU time moves to its parent, so the sum of the tree keeps growing. If another process reaped
 * the child, the sum falls; then the CPU time of the remaining processes is the lower bound.
 */
function cpuBetween(before: ReadonlyMap<number, ProcessUsage>, now: ProcessTreeUse): number {
  let least = 0;
  for (const { pid, startTime, cpuSeconds } of now) {
    const usage = before.get(pid);
    least += cpuSeconds - (usage?.startTime === startTime ? usage.cpuSeconds : 0);
  }
  return Math.max(least, secondsOf(now) - secondsOf(before.values()), 0);
}

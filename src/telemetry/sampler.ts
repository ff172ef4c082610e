/** Looks at the process table now and then: CPU and memory of each process with all its descendants. */

import { fingerprint } from "../base/fingerprint.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { Marks, ownersOf } from "../os/process-tree.ts";
import { ownMemory, type ProcessUsage, processUsages } from "../os/process-usage.ts";

export type Sample = {
  /** Not known from the first look. 100 is one core. */
  readonly cpuPercent: number | undefined;
  readonly memoryBytes: number;
  readonly processes: number;
  /** All that was seen of it. */
  readonly cpuSeconds: number;
};

export type SamplerPorts = {
  readonly stateDir: string;
  /** Processes by the pids of the leaders of their runs. */
  readonly roots: () => ReadonlyMap<number, string>;
  /** The process of a slot. */
  readonly processOf: (slot: string) => string;
  /** `at`: milliseconds since 1970. */
  readonly sampled: (samples: ReadonlyMap<string, Sample>, at: number) => void;
  /** Somebody is stopped by these numbers: they are always fresh. */
  readonly isLimited: () => boolean;
  readonly report: (problem: string) => void;
  readonly usages?: () => Promise<readonly ProcessUsage[]>;
};

/** So often, in step with the clock; while somebody looks; and at the beginning. Milliseconds. */
export const STEP_MS = 5_000;
const WATCHED_MS = 1_000;
/** Somebody who has looked so long ago is gone. Milliseconds. */
const WATCHING_MS = 10_000;
/** A look costs at most this part of a core, however many processes the machine has. */
const COST = 1 / 200;

/** With what it has for itself. */
type Weighed = ProcessUsage & { ownBytes?: number };

/** A process with its descendants. */
type Tree = readonly Weighed[];

export class Sampler {
  readonly #ports: SamplerPorts;
  readonly #marks: Marks;
  #samples: ReadonlyMap<string, Sample> = new Map();
  #trees: ReadonlyMap<string, Tree> = new Map();
  /** Monotonic milliseconds of the last look, and the CPU time that it took. */
  #last: number | undefined;
  #costMs = 0;
  #watched = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #due = 0;
  #isLooking = false;
  #isStopped = false;
  #hasFailed = false;

  constructor(ports: SamplerPorts) {
    this.#ports = ports;
    this.#marks = new Marks(fingerprint(ports.stateDir));
  }

  start(): void {
    this.#arm(WATCHED_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  of(id: string): Sample | undefined {
    return this.#samples.get(id);
  }

  /** Somebody wants numbers: they are fresher for a while. */
  watch(): void {
    const now = monotonicMs();
    this.#watched = now;
    if (this.#timer !== undefined && !this.#isLooking && this.#due - now > this.#shortest) this.#arm(this.#shortest);
  }

  get #shortest(): number {
    return Math.max(WATCHED_MS, this.#costMs / COST);
  }

  /** The next look. */
  #plan(): void {
    const isWatched = monotonicMs() - this.#watched < WATCHING_MS;
    // The first look has no CPU yet, as that is a difference.
    const hasCpu = [...this.#samples.values()].every(({ cpuPercent }) => cpuPercent !== undefined);
    this.#arm(
      isWatched || !hasCpu || this.#ports.isLimited() ? this.#shortest : Math.max(STEP_MS - (Date.now() % STEP_MS), this.#costMs / COST),
    );
  }

  #arm(ms: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#due = monotonicMs() + ms;
    this.#timer = setTimeout(() => void this.look().finally(() => this.#plan()), ms).unref();
  }

  /** One look at all. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#look();
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#ports.report(`Cannot measure CPU and memory: ${(error as Error).message}; processes run on`);
      this.#hasFailed = true;
    } finally {
      this.#isLooking = false;
    }
  }

  async #look(): Promise<void> {
    const [start, before] = [monotonicMs(), process.cpuUsage()];
    if (this.#ports.roots().size === 0) return this.#take(new Map(), start);
    const usages = await (this.#ports.usages ?? processUsages)();
    // Asked anew: some have ended while it looked.
    this.#take(this.#treesOf(usages, this.#ports.roots()), start);
    // With what others have done between its slices; on a busy machine far less than the time that went by.
    const { user, system } = process.cpuUsage(before);
    this.#costMs = (user + system) / 1_000;
  }

  #treesOf(usages: readonly ProcessUsage[], roots: ReadonlyMap<number, string>): ReadonlyMap<string, Tree> {
    const ids = new Set(roots.values());
    const owners = ownersOf(usages, roots, (usage) => {
      const slot = this.#marks.slotOf(usage);
      const id = slot === undefined ? undefined : this.#ports.processOf(slot);
      return id !== undefined && ids.has(id) ? id : undefined;
    });
    this.#marks.turn();
    const trees = new Map<string, ProcessUsage[]>();
    for (const [usage, id] of owners) {
      const known = trees.get(id);
      if (known === undefined) trees.set(id, [usage]);
      else known.push(usage);
    }
    return trees;
  }

  #take(trees: ReadonlyMap<string, Tree>, at: number): void {
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
        processes: tree.length,
        cpuSeconds: (this.#samples.get(id)?.cpuSeconds ?? 0) + used,
      });
    }
    [this.#trees, this.#samples, this.#last] = [trees, samples, at];
    this.#ports.sampled(samples, Date.now());
  }
}

/** Who has done nothing since then, and is as large, is asked nothing more: nearly half of a look where most processes wait. */
function weightOf(now: Weighed, before: Weighed | undefined): number {
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
 * The time of a child that has ended is its parent's now, so that the sum of the tree goes on growing; where somebody else
 * awaited it, the sum falls, and what the others have used since then is the least.
 */
function cpuBetween(before: ReadonlyMap<number, ProcessUsage>, now: Tree): number {
  let least = 0;
  for (const { pid, startTime, cpuSeconds } of now) {
    const usage = before.get(pid);
    least += cpuSeconds - (usage?.startTime === startTime ? usage.cpuSeconds : 0);
  }
  return Math.max(least, secondsOf(now) - secondsOf(before.values()), 0);
}

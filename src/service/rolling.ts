/** A restart of a cluster, asked for or for changed files: its instances one after another, each when the one before it serves again. */
import type { ProcessSpec } from "../config/spec.ts";
import type { Caller } from "../contract/control.ts";
import { monotonicMs } from "../os/monotonic.ts";
import type { Process } from "../supervisor/process.ts";
import { error, info, type Line, type Subject, warn } from "./narrator.ts";
import { fileSentence } from "./notices.ts";
import type { Notes } from "./part.ts";
import { whyNotUp } from "./reason.ts";
import { alreadyRunning, named, problemOf } from "./roll-words.ts";
import { merged, type News, ROLLS, type Roll, readRolls, writeRolls } from "./rolls.ts";
import { isSteady, isThere, type Serving, serves } from "./serves.ts";
import { aborted } from "./settling.ts";
import { followedBy, runs, turnsOf } from "./turns.ts";

/** An instance that shows in no other way that it is up has to run for so long. Milliseconds. */
const STEADY_MS = 1_000;

/** What is rolled. */
export type Rolled = Serving & {
  readonly reloading: {
    /** Whether a reload restarts instances of this cluster one after another. */
    readonly rolls: (cluster: string) => boolean;
    /** Resolves when the one that is under way is over. */
    readonly settled: () => Promise<void>;
  };
  /** Throws when a next run could not have the socket that it shares. */
  readonly sharing: { readonly checkRoll: (spec: ProcessSpec) => void };
  readonly observatory: {
    /** The end of its run that comes next is by this caller's wish. */
    readonly asked: (id: string, caller: Caller) => void;
    readonly subject: (id: string) => Subject;
    /** For whoever follows the events. */
    readonly tell: (id: string, text: string) => void;
  };
};

export type RollingPorts = {
  readonly voice: { readonly say: (id: string, line: Line) => void };
  /** The service's memory: "" forgets. */
  readonly link: { readonly remember: (id: string, note: unknown) => void };
  /** Instead of a second. Milliseconds. */
  readonly steadyMs?: number | undefined;
};

/** `others` need no roll, and come first. Each roll resolves with why it came to nothing, if so. */
export type Restart = { readonly others: readonly Process[]; readonly begin: () => readonly Promise<string | undefined>[] };

/** What is under way, and why it came to nothing, if so. `admits` has the last word on the roll that follows. */
type Work = { readonly done: Promise<string | undefined>; readonly abort: AbortController; roll: Roll; admits: () => boolean };

export class Rolling {
  readonly #rolled: Rolled;
  readonly #ports: RollingPorts;
  readonly #works = new Map<string, Work>();
  #lineage = "";

  constructor(rolled: Rolled, ports: RollingPorts) {
    this.#rolled = rolled;
    this.#ports = ports;
  }

  /** A service was killed in the middle of a roll: its successor goes on with it. */
  resume({ [ROLLS]: note }: Notes, lineage: string): void {
    this.#lineage = lineage;
    const rolls = readRolls(note, lineage);
    if (note !== undefined && rolls.length === 0) this.#ports.link.remember(ROLLS, "");
    for (const roll of rolls) {
      if (roll.at.length > 0) this.#ports.voice.say(roll.cluster, info(`the rolling restart goes on with ${named(roll.at)}`));
      this.#begin(roll);
    }
  }

  /**
   * Restarts what runs of each cluster one by one, and starts the others at once; blocked ones stay as they are. Who would
   * follow a cluster that it depends on is restarted after that.
   *
   * @throws {ProcmanError} `roll-running`, `roll-failed`, `process-blocked`, `process-leaving`
   */
  restart(processes: readonly Process[], caller: Caller): Restart {
    const { rolls, others } = turnsOf(this.#rolled, processes);
    for (const [cluster, instances] of rolls) {
      for (const { id } of instances) this.#rolled.sharing.checkRoll(this.#rolled.spec(id));
      if (this.#works.has(cluster)) throw alreadyRunning(cluster, "a rolling restart");
      if (this.#rolled.reloading.rolls(cluster)) throw alreadyRunning(cluster, "a reload");
    }
    // It says why it refuses.
    if (processes.every(({ isBlocked }) => isBlocked)) processes[0]?.restart();
    return { others, begin: () => [...rolls].map(([cluster, instances]) => this.#roll(cluster, instances, caller)) };
  }

  /** For changed files: once nothing else restarts instances of this cluster. `admits` has the last word then. */
  onFileChange(cluster: string, news: News, admits: () => boolean): void {
    const work = this.#works.get(cluster) ?? this.#begin({ cluster, at: [], left: [] });
    const { at, left, again } = work.roll;
    const isLate = news.ids.some((id) => !left.includes(id) && this.#process(id)?.heeds(news) !== undefined);
    if (at.length > 0 && again === undefined && isLate)
      this.#ports.voice.say(cluster, info(`${fileSentence(news)} meanwhile: what started before that restarts when this roll is over`));
    work.roll = { ...work.roll, again: merged(again, news) };
    work.admits = admits;
    this.#note();
  }

  /** It is restarted when its turn comes. */
  isToCome(id: string): boolean {
    return [...this.#works.values()].some(({ roll }) => roll.left.includes(id));
  }

  isUnderWay(cluster: string): boolean {
    return this.#works.has(cluster);
  }

  /** Resolves when those that are under way now are over. */
  async settled(): Promise<void> {
    await Promise.all([...this.#works.values()].map(({ done }) => done));
  }

  /** Somebody wants something else of these. */
  abort(processes: readonly Process[], why: string): void {
    if (this.#works.size === 0) return;
    for (const cluster of new Set(processes.map(({ id }) => this.#rolled.spec(id).cluster?.id ?? id))) {
      const work = this.#works.get(cluster);
      if (work === undefined) continue;
      if (work.roll.at.length > 0) this.#ports.voice.say(cluster, warn(`the rolling restart ends at ${named(work.roll.at)}: ${why}`));
      work.abort.abort(`Cannot restart "${cluster}" any further: ${why}`);
      this.#works.delete(cluster);
    }
    this.#note();
  }

  /** Nothing is done any more. `isOver`: nor by a later service. */
  stop(isOver: boolean): void {
    for (const { abort } of this.#works.values()) abort.abort();
    if (isOver && this.#works.size > 0) this.#ports.link.remember(ROLLS, "");
    this.#works.clear();
  }

  #roll(cluster: string, instances: readonly Process[], caller: Caller): Promise<string | undefined> {
    const free = instances.filter(({ isBlocked }) => !isBlocked);
    for (const process of free.filter((each) => !runs(each))) process.restart();
    const all = free.filter(runs).map(({ id }) => id);
    const [at, ...left] = all;
    if (at === undefined) return Promise.resolve(undefined);
    const { consumer } = caller;
    if (this.#awaited(cluster) !== undefined) return this.#begin({ cluster, at: [], left: all, consumer }).done;
    this.#restart(at, { consumer });
    return this.#begin({ cluster, at: [at], left, consumer }).done;
  }

  /** Those that don't run come first: until they come up, the others run on as before. */
  #change(cluster: string, news: News, admits: () => boolean): void {
    const heeding = news.ids.flatMap((id) => this.#process(id) ?? []).filter((process) => process.heeds(news) !== undefined);
    const free = heeding.filter(({ isBlocked }) => !isBlocked);
    for (const process of heeding) if (process.isBlocked) process.onFileChange(news);
    if (free.length === 0 || !admits()) return;
    const down = free.filter((process) => !isThere(process));
    const left = free.filter(isThere).toSorted((one, other) => Number(isSteady(one)) - Number(isSteady(other)));
    const first = down.length > 0 ? down : left.splice(0, 1);
    for (const process of first) process.onFileChange(news);
    this.#begin({ cluster, at: first.map(({ id }) => id), left: left.map(({ id }) => id), news });
  }

  #begin(roll: Roll): Work {
    const abort = new AbortController();
    const work: Work = { abort, roll, admits: () => true, done: Promise.resolve().then(() => this.#run(work)) };
    this.#works.set(roll.cluster, work);
    this.#note();
    return work;
  }

  async #run(work: Work): Promise<string | undefined> {
    const { signal } = work.abort;
    for (;;) {
      const missing = await this.#missing(work.roll, signal);
      if (signal.aborted) return typeof signal.reason === "string" ? signal.reason : undefined;
      const { roll } = work;
      // Whoever was stopped or taken away meanwhile is not for us to start.
      const [next, ...later] = roll.left.filter((id) => this.#process(id) !== undefined && runs(this.#process(id)));
      if (missing !== undefined || next === undefined) return this.#over(work, missing);
      work.roll = { ...roll, at: [next], left: later };
      this.#restart(next, roll);
      this.#note();
    }
  }

  /** Until the next one, if more has changed. `missing`: who has not come up. */
  #over({ roll, admits }: Work, missing: string | undefined): string | undefined {
    const { cluster, news, again } = roll;
    this.#works.delete(cluster);
    const problem = missing === undefined ? this.#succeeded(roll) : this.#failed(roll, missing);
    if (again !== undefined && missing === undefined) this.#change(cluster, again, admits);
    // What the failed one was for is still to be done, also by those that have ended since.
    else if (again !== undefined) this.#change(cluster, { ...merged(news, again), at: monotonicMs() }, admits);
    this.#note();
    return problem;
  }

  #succeeded({ cluster, at }: Roll): undefined {
    if (at.length > 0 && at[0] !== cluster) this.#ports.voice.say(cluster, info("the rolling restart is done"));
  }

  #failed(roll: Roll, at: string): string {
    const { supervisor, observatory, balancing } = this.#rolled;
    const problem = problemOf(roll, at, whyNotUp(supervisor.find(at), observatory.subject(at), balancing.flawOf(at)));
    this.#ports.voice.say(roll.cluster, error(problem));
    observatory.tell(at, problem);
    return problem;
  }

  #restart(id: string, { consumer, news }: Pick<Roll, "consumer" | "news">): void {
    if (news !== undefined) return this.#process(id)?.onFileChange(news);
    if (consumer !== undefined) this.#rolled.observatory.asked(id, { consumer });
    this.#process(id)?.restart();
  }

  /** The first of those that are awaited which doesn't come up. */
  async #missing({ cluster, at }: Roll, signal: AbortSignal): Promise<string | undefined> {
    if (at.length === 0)
      for (let other = this.#awaited(cluster); other !== undefined; other = this.#awaited(cluster)) {
        await Promise.race([other, aborted(signal)]);
        if (signal.aborted) return undefined;
      }
    const { steadyMs = STEADY_MS } = this.#ports;
    for (const id of at) if (!(await serves(this.#rolled, id, { steadyMs, signal }))) return id;
    return undefined;
  }

  /** What has to be over before a roll of this cluster begins. */
  #awaited(cluster: string): Promise<unknown> | undefined {
    const { reloading } = this.#rolled;
    if (reloading.rolls(cluster)) return reloading.settled();
    return followedBy(this.#rolled, cluster).flatMap((id) => this.#works.get(id)?.done ?? [])[0];
  }

  #process(id: string): Process | undefined {
    return this.#rolled.supervisor.processes.find((process) => process.id === id);
  }

  #note(): void {
    const rolls = [...this.#works.values()].map(({ roll }) => roll);
    this.#ports.link.remember(ROLLS, writeRolls(rolls, this.#lineage));
    // Who was to come, and comes no longer, may have to follow what it depends on.
    this.#rolled.supervisor.look();
  }
}

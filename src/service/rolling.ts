/** A restart of a cluster: its instances one after another, each when the one before it serves again. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
import { listOf, record, text } from "../base/shape.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { Caller } from "../contract/control.ts";
import { isUnderWay } from "../supervisor/change.ts";
import type { Process } from "../supervisor/process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { error, info, type Line, type Subject, warn } from "./narrator.ts";
import { whyNotUp } from "./reason.ts";
import { isUp } from "./settling.ts";

/** Memory of the rolls that are under way; no process has an id like this. */
export const ROLLS = ":rolls";
/** An instance that shows in no other way that it is up has to run for so long. Milliseconds. */
const STEADY_MS = 1_000;
/** Beside the times that its former run may take to end, and it to become ready, an instance may take so long to serve. Milliseconds. */
const COME_UP_MS = 60_000;
const LOOK_MS = 10;

/** `at`: the instance whose new run is awaited. `left`: those that still run as they did. */
type Roll = { readonly cluster: string; readonly at: string; readonly left: readonly string[]; readonly consumer: string };

/** What is rolled. */
export type Rolled = {
  readonly supervisor: Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  /** Whether a reload restarts instances of this cluster one after another. */
  readonly reloading: { readonly rolls: (cluster: string) => boolean };
  /** Whether the load balancer sends it connections. */
  readonly balancing: { readonly accepts: (id: string) => boolean };
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
};

/** Those that belong to no cluster are not for us. */
export type Begun = { readonly others: readonly Process[]; readonly rolls: readonly Promise<string | undefined>[] };

/** What is under way, and why it came to nothing, if so. */
type Work = { readonly done: Promise<string | undefined>; readonly abort: AbortController; roll: Roll };

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
  resume(note: string | undefined, lineage: string): void {
    this.#lineage = lineage;
    const rolls = rollsIn(note, lineage);
    if (note !== undefined && rolls.length === 0) this.#ports.link.remember(ROLLS, "");
    for (const roll of rolls) {
      this.#ports.voice.say(roll.cluster, info(`the rolling restart goes on with "${roll.at}"`));
      void this.#begin(roll);
    }
  }

  /**
   * Restarts what runs of each cluster one by one, and starts the others at once; blocked ones stay as they are. Each roll
   * resolves with why it came to nothing, if so.
   *
   * @throws {ProcmanError} `roll-running`, `process-blocked`, `process-leaving`
   */
  restart(processes: readonly Process[], caller: Caller): Begun {
    const clusters = new Map<string, Process[]>();
    for (const process of processes) {
      const id = this.#rolled.spec(process.id).cluster?.id;
      if (id !== undefined) clusters.set(id, [...(clusters.get(id) ?? []), process]);
    }
    for (const cluster of clusters.keys()) {
      if (this.#works.has(cluster)) throw running(cluster, "a rolling restart");
      if (this.#rolled.reloading.rolls(cluster)) throw running(cluster, "a reload");
    }
    // It says why it refuses.
    if (processes.every(({ isBlocked }) => isBlocked)) processes[0]?.restart();
    return {
      others: processes.filter(({ id }) => this.#rolled.spec(id).cluster === undefined),
      rolls: [...clusters].map(([cluster, instances]) => this.#roll(cluster, instances, caller)),
    };
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
    for (const cluster of new Set(processes.map(({ id }) => this.#rolled.spec(id).cluster?.id ?? ""))) {
      const work = this.#works.get(cluster);
      if (work === undefined) continue;
      this.#ports.voice.say(cluster, warn(`the rolling restart ends at "${work.roll.at}": ${why}`));
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
    const [at, ...left] = free.filter(runs).map(({ id }) => id);
    if (at === undefined) return Promise.resolve(undefined);
    this.#restart(at, caller);
    return this.#begin({ cluster, at, left, consumer: caller.consumer });
  }

  #begin(roll: Roll): Promise<string | undefined> {
    const abort = new AbortController();
    const work: Work = { abort, roll, done: Promise.resolve().then(() => this.#run(work)) };
    this.#works.set(roll.cluster, work);
    this.#note();
    return work.done;
  }

  async #run(work: Work): Promise<string | undefined> {
    const { signal } = work.abort;
    for (;;) {
      const { cluster, at, left, consumer } = work.roll;
      const serves = await this.#serves(at, signal);
      if (signal.aborted) return typeof signal.reason === "string" ? signal.reason : undefined;
      // Whoever was stopped or taken away meanwhile is not for us to start.
      const [next, ...later] = left.filter((id) => this.#process(id) !== undefined && runs(this.#process(id)));
      if (serves && next !== undefined) {
        work.roll = { cluster, at: next, left: later, consumer };
        this.#restart(next, { consumer });
        this.#note();
        continue;
      }
      this.#works.delete(cluster);
      this.#note();
      return serves ? this.#succeeded(cluster) : this.#failed(work.roll);
    }
  }

  #succeeded(cluster: string): undefined {
    this.#ports.voice.say(cluster, info("the rolling restart is done"));
  }

  #failed({ cluster, at, left }: Roll): string {
    const { supervisor, observatory } = this.#rolled;
    const reason = whyNotUp(supervisor.find(at), observatory.subject(at));
    const rest = left.length === 0 ? "" : `; ${left.join(", ")} ${left.length === 1 ? "runs" : "run"} on as before`;
    const problem = `Cannot restart "${cluster}" any further: "${at}" did not come up: it ${reason}${rest}`;
    this.#ports.voice.say(cluster, error(problem));
    observatory.tell(at, problem);
    return problem;
  }

  #restart(id: string, caller: Caller): void {
    this.#rolled.observatory.asked(id, caller);
    this.#process(id)?.restart();
  }

  /** It is up, and where there is a load balancer, gets connections. */
  async #serves(id: string, signal: AbortSignal): Promise<boolean> {
    const { supervisor, balancing } = this.#rolled;
    const process = this.#process(id);
    if (process === undefined) return true;
    const { policy, front } = this.#rolled.spec(id);
    const { graceMs, terminateMs, readyMs } = policy;
    const late = performance.now() + graceMs + terminateMs + (readyMs ?? 0) + COME_UP_MS;
    const patience = (): { readonly limitMs: number; readonly signal: AbortSignal } => ({ limitMs: late - performance.now(), signal });
    if (!(await isUp(supervisor, id, { ...patience(), steadyMs: readyMs === undefined && front === undefined ? STEADY_MS : 0 })))
      return false;
    while (front !== undefined && !balancing.accepts(id) && !signal.aborted) {
      await sleep(LOOK_MS);
      // It may fail on its way.
      if (performance.now() > late || !(await isUp(supervisor, id, { ...patience(), steadyMs: 0 }))) return false;
      if (!runs(process)) return true;
    }
    return true;
  }

  #process(id: string): Process | undefined {
    return this.#rolled.supervisor.processes.find((process) => process.id === id);
  }

  #note(): void {
    const rolls = [...this.#works.values()].map(({ roll }) => roll);
    this.#ports.link.remember(ROLLS, rolls.length === 0 ? "" : { lineage: this.#lineage, rolls });
  }
}

function running(cluster: string, what: string): ProcmanError {
  const remedy = "wait for its end, or restart all instances at once with --hard";
  return new ProcmanError("roll-running", `Cannot restart "${cluster}": ${what} of it is under way; ${remedy}`);
}

function runs(process: Process | undefined): boolean {
  return process?.states.some(isUnderWay) === true;
}

const isRoll = record({ cluster: text, at: text, left: listOf(text), consumer: text });

/** Notes may be lost, torn or strange. Whoever runs procman anew has asked for nothing. */
function rollsIn(note: string | undefined, lineage: string): readonly Roll[] {
  try {
    const known = JSON.parse(note ?? "{}") as { readonly lineage?: unknown; readonly rolls?: unknown };
    return known.lineage === lineage && Array.isArray(known.rolls)
      ? (known.rolls as unknown[]).filter((roll): roll is Roll => isRoll(roll))
      : [];
  } catch {
    return [];
  }
}

/** Asks for things by the API while procman is killed, and checks that what was accepted is completed, and stays. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Procman } from "../../examples/kill-the-manager/managers/procman.mjs";
import { monotonicMs } from "../../examples/kill-the-manager/programs/instance.mjs";
import type { Action } from "../../src/contract/control.ts";
import type { ProcessRecord } from "../../src/contract/records.ts";
import { CLUSTER, PROFILE, PROFILED } from "./fault-load.ts";
import { isDone, Requested } from "./requested.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** Time limit of an accepted command, while procman is down half of the time. Milliseconds. */
const TIMEOUT_MS = 30_000;
const POLL_MS = 40;
const MOST_INSTANCES = 4;
/** Longest time between two requests. Of a cluster: long enough for several kills, as the number of instances must outlive each. Milliseconds. */
const PAUSE_MS = { process: 400, cluster: 4_000 };

export type OperatorReport = { accepted: number; refused: number; compared: number; readonly findings: string[] };

export type OperatorOptions = {
  readonly procman: Procman;
  readonly random: SeededRandom;
  readonly isOver: () => boolean;
};

type Answer = { readonly status: number; readonly body: ProcessRecord };

/** Resolves when the kills are over, procman has settled, and the last command is completed. */
export async function runOperator(id: string, options: OperatorOptions): Promise<OperatorReport> {
  const operator = new Operator(id, options, new Requested());
  while (!options.isOver())
    await operator.act(options.random.weighted({ start: 3, stop: 3, restart: 3, block: 1, unblock: 2, disable: 2, enable: 2 }));
  return operator.end();
}

/** Also changes the number of instances, at run time and in the file, and the profile. `write`: a file with so many instances. */
export async function runClusterOperator(
  options: OperatorOptions & { readonly instances: number; readonly write: (instances: number) => void },
): Promise<OperatorReport> {
  const { random, isOver, instances } = options;
  const operator = new ClusterOperator(CLUSTER, options, new Requested(instances), instances);
  while (!isOver()) {
    const action = random.weighted({ scale: 6, reload: 3, profile: 2, plan: 2, start: 2, stop: 1, restart: 2, block: 1, unblock: 2 });
    if (action === "scale") await operator.scale();
    else if (action === "reload") await operator.reload(options.write);
    else if (action === "profile") await operator.changeProfile();
    else if (action === "plan") await operator.plan();
    else await operator.act(action);
  }
  return operator.end();
}

class Operator {
  readonly report: OperatorReport = { accepted: 0, refused: 0, compared: 0, findings: [] };
  protected readonly id: string;
  protected readonly procman: Procman;
  protected readonly random: SeededRandom;
  protected readonly requested: Requested;
  protected readonly longestPause: number = PAUSE_MS.process;

  constructor(id: string, { procman, random }: OperatorOptions, requested: Requested) {
    this.id = id;
    this.procman = procman;
    this.random = random;
    this.requested = requested;
  }

  async act(action: Action): Promise<void> {
    await this.pause();
    const before = this.requested.copy();
    this.requested.asking(action);
    const answer = await this.ask(`/processes/${this.id}/${action}`);
    const isAccepted = this.count(answer);
    // A repeated request may be refused because the first one, which had no answer, was carried out.
    if (isAccepted || !answer.isRepeated) this.requested.answered(action, isAccepted, before);
    if (!isAccepted) return;
    const last = await this.#waitUntilDone(action, answer.body);
    if (last === undefined) this.requested.completed(action);
    else if (!this.#isUnseenStart(last))
      this.report.findings.push(
        `${action} of ${this.id}, accepted with ${JSON.stringify(answer.body)}, was not completed: ${JSON.stringify(last)}`,
      );
  }

  /** The last comparison. */
  async end(): Promise<OperatorReport> {
    await this.procman.answered();
    await this.compare();
    return this.report;
  }

  /** Compares what was asked for with what is, for a random time. */
  protected async pause(): Promise<void> {
    for (const end = monotonicMs() + this.random.between(0, this.longestPause); monotonicMs() < end; await sleep(POLL_MS))
      await this.compare();
  }

  protected async compare(): Promise<ProcessRecord | undefined> {
    const answer = (await this.procman.api.ask("GET", "/processes")) as { status: number; body: readonly ProcessRecord[] } | undefined;
    if (answer?.status !== 200) return undefined;
    this.report.compared += 1;
    const record = answer.body.find(({ id }) => id === this.id);
    const found = record === undefined ? "it is gone" : this.requested.contradictionOf(record);
    if (found !== undefined) this.#find(`${this.id}: ${found}; ${JSON.stringify(record)}`);
    const contradiction = this.requested.profileContradiction(answer.body, PROFILED);
    if (contradiction !== undefined) this.#find(contradiction);
    return record;
  }

  /** Repeats the request until there is an answer: without one, what was asked for may hold or not. */
  protected async ask(path: string, body?: object): Promise<Answer & { readonly isRepeated: boolean }> {
    let isRepeated = false;
    for (const end = monotonicMs() + TIMEOUT_MS; monotonicMs() < end; await sleep(POLL_MS)) {
      const answer = (await this.procman.api.ask("POST", path, body)) as Answer | undefined;
      if (answer !== undefined) return { ...answer, isRepeated };
      isRepeated = true;
    }
    throw new Error(`procman does not answer POST ${path}`);
  }

  protected count({ status }: { readonly status: number }): boolean {
    if (status === 200) this.report.accepted += 1;
    else this.report.refused += 1;
    return status === 200;
  }

  /** Each finding once, though it may show in each later record. */
  #find(what: string): void {
    const { findings } = this.report;
    if (!findings.some((known) => known.slice(0, 60) === what.slice(0, 60))) findings.push(what);
  }

  /** The keeper was killed between its record of the start and the fork: the run is not started again, as it may have run. */
  #isUnseenStart({ run, status, reason }: Partial<ProcessRecord>): boolean {
    const end = this.procman.journal.ends.get(`${this.id}#${run}`);
    return status === "errored" && end?.unknown === true && end.pid === 0 && /was being started when procman was killed/.test(reason ?? "");
  }

  /** The last record seen, if it was not completed. */
  async #waitUntilDone(action: Action, after: ProcessRecord): Promise<Partial<ProcessRecord> | undefined> {
    let last: ProcessRecord | undefined;
    for (const end = monotonicMs() + TIMEOUT_MS; monotonicMs() < end; await sleep(POLL_MS)) {
      const answer = (await this.procman.api.ask("GET", `/processes/${this.id}`)) as Answer | undefined;
      if (answer?.status !== 200) continue;
      last = answer.body;
      if (isDone(action, after, last)) return undefined;
      if (this.#isUnseenStart(last)) return last;
    }
    return last ?? {};
  }
}

class ClusterOperator extends Operator {
  protected override readonly longestPause = PAUSE_MS.cluster;
  /** The number of instances in the file. */
  #configured: number;

  constructor(id: string, options: OperatorOptions, requested: Requested, configured: number) {
    super(id, options, requested);
    this.#configured = configured;
    requested.hasProfile(true);
  }

  async scale(): Promise<void> {
    await this.pause();
    const instances = this.#count();
    this.requested.askingFor(instances);
    if (this.count(await this.ask(`/processes/${this.id}/scale`, { instances }))) return this.requested.has(instances);
    // An earlier request, which had no answer, may have been carried out.
    await this.procman.answered();
    const record = await this.compare();
    if (record !== undefined) this.requested.agree(record);
  }

  /** Until the file is applied: a rolling restart may be under way. A service that starts meanwhile applies it, too. */
  async reload(write: (instances: number) => void): Promise<void> {
    await this.pause();
    this.#configured = this.#count();
    write(this.#configured);
    await this.#applyFile("/reload");
  }

  /** Another profile, or none, from now on. */
  async changeProfile(): Promise<void> {
    await this.pause();
    const isActive = this.random.weighted({ on: 1, off: 1 }) === "on";
    this.requested.askingForProfile(isActive);
    await this.#applyFile(`/reload?profile=${isActive ? PROFILE : ""}`);
    this.requested.hasProfile(isActive);
  }

  /** The number of instances is that of the file then. */
  async #applyFile(path: string): Promise<void> {
    this.requested.askingFor(this.#configured);
    this.requested.mayBeUnblocked();
    for (const end = monotonicMs() + TIMEOUT_MS; !this.count(await this.ask(path)); await sleep(POLL_MS))
      if (monotonicMs() > end) throw new Error("the changed configuration is refused");
    this.requested.has(this.#configured);
  }

  /** It changes nothing. */
  async plan(): Promise<void> {
    await this.pause();
    const answer = (await this.procman.api.ask("GET", "/plan")) as { readonly status: number } | undefined;
    if (answer !== undefined) this.count(answer);
  }

  #count(): number {
    return Math.floor(this.random.between(1, MOST_INSTANCES + 1));
  }
}

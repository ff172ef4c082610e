/** Takes up a changed configuration file: what it would do, and doing it; all of it or nothing. */
import { basename } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import type { Config } from "../config/spec.ts";
import type { ActOptions, PlanOptions } from "../contract/control.ts";
import type { PlanRecord } from "../contract/plan.ts";
import type { Link } from "../runtime/link.ts";
import type { Changeover } from "./changeover.ts";
import { FileWatch } from "./file-watch.ts";
import { forecast, rollOf, summary } from "./forecast.ts";
import type { Subject } from "./narrator.ts";
import type { Notes } from "./part.ts";
import { whyNotUp } from "./reason.ts";
import { reloaded } from "./reload-end.ts";
import { isOnTheWay, type Journey, ROLL, readJourney, roll, writeJourney } from "./roll.ts";
import type { Rolling } from "./rolling.ts";
import type { Serving } from "./serves.ts";
import type { Source } from "./source.ts";
import type { Voice } from "./voice.ts";

const STEADY_MS = 1_000;

export type ReloadOptions = {
  /** Where the configuration is read. */
  readonly source?: Source | undefined;
  /** A changed file is taken up by itself. */
  readonly watchFile?: boolean | undefined;
  /** In a roll, an instance that has run for so long is taken for one that is up. Milliseconds, default 1000. */
  readonly steadyMs?: number | undefined;
};

export type ReloadPorts = ReloadOptions & { readonly changeover: Changeover; readonly link: Link; readonly voice: Voice };

/** Whose configuration it is. */
export type Reloaded = Serving & {
  readonly isTerminating: boolean;
  /** Resolves once the keeper has all that was decided. */
  readonly commit: () => Promise<void>;
  readonly observatory: { readonly subject: (id: string) => Subject };
  readonly rolling: Pick<Rolling, "isUnderWay" | "settled">;
  /** Numbers of instances that the file doesn't have: it counts again. */
  readonly scaling: { readonly forget: () => void };
};

export class Reload {
  readonly #service: Reloaded;
  readonly #ports: ReloadPorts;
  readonly #abort = new AbortController();
  #lineage = "";
  /** What is under way; resolves with why it came to nothing, if so. */
  #work: Promise<string | undefined> | undefined;
  /** The instance that it waits for, and what comes then. */
  #journey: Journey | undefined;
  #isWantedAgain: string | undefined;
  readonly #watch: FileWatch | undefined;

  constructor(service: Reloaded, ports: ReloadPorts) {
    this.#service = service;
    this.#ports = ports;
    const { file } = ports.changeover.config;
    if (ports.watchFile) this.#watch = new FileWatch(file, () => void this.ask(`${basename(file)} has changed`));
  }

  /** A service was killed in the middle of a roll: its successor goes on with it, whatever the file says by now. */
  resume({ [ROLL]: note }: Notes, lineage: string): boolean {
    this.#lineage = lineage;
    this.#watch?.start();
    const journey = readJourney(note, lineage);
    if (journey === undefined) {
      if (note !== undefined) this.#ports.link.forget(ROLL);
      return false;
    }
    const { changeover, voice } = this.#ports;
    voice.info(`the reload goes on ${journey.from === undefined ? "backwards " : ""}with "${journey.at}"`);
    this.#journey = journey;
    changeover.apply(changeover.config);
    void this.#begin(journey);
    return true;
  }

  get isUnderWay(): boolean {
    return this.#work !== undefined;
  }

  /** Resolves when the one that is under way now is over. */
  async settled(): Promise<void> {
    await this.#work;
  }

  /** It is restarted when its turn comes. */
  isToCome(id: string): boolean {
    return this.#journey?.left?.includes(id) === true;
  }

  /** Instances of this cluster are restarted one after another now: forwards, or when that fails, backwards. */
  rolls(cluster: string): boolean {
    const { config } = this.#ports.changeover;
    return this.#journey !== undefined && isOnTheWay(this.#journey, cluster, { config, processes: this.#service.supervisor.processes });
  }

  /** At a start: what the file says that the former service had not taken up yet. */
  takeUp(to: Config): void {
    const { changeover, voice } = this.#ports;
    const plan = to === changeover.config ? undefined : this.#forecast(to);
    if (plan !== undefined && rollOf(plan, to).length > 0) voice.info(`${basename(to.file)} has changed meanwhile: ${summary(plan)}`);
    void this.#begin({ to, from: changeover.config });
  }

  /** @throws {ProcmanError} `configuration-missing`, `configuration-invalid`, `reload-failed` */
  plan({ profile }: PlanOptions = {}): PlanRecord {
    return this.#forecast(this.#read(profile));
  }

  /**
   * Resolves when it has begun; with `waitSeconds` when it is done.
   *
   * @throws {ProcmanError} what `plan` does; `reload-running`, `roll-running`; while it waits, `reload-failed`, `wait-timeout`
   */
  async reload(why: string, options: ActOptions = {}): Promise<PlanRecord> {
    if (this.#work !== undefined) throw new ProcmanError("reload-running", "Cannot reload: a reload is under way; wait for its end");
    const { changeover, voice } = this.#ports;
    const found = this.#read();
    const plan = this.#forecast(found);
    this.#checkRolls(found, plan);
    voice.info(`reload (${why}): ${summary(plan)}`);
    const work = this.#begin({ to: adopted(found, changeover.config), from: changeover.config });
    await this.#service.commit();
    if (options.waitSeconds === undefined) return plan;
    const { supervisor } = this.#service;
    const end = { plan, work, supervisor, whyNotUp: (id: string) => this.#whyNotUp(id) };
    return reloaded(end, options.waitSeconds, [this.#abort.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  }

  /** By a signal, or as the file has changed: nobody waits, so what is wrong is said. One that is under way is followed by another. */
  async ask(why: string): Promise<void> {
    if (this.#work !== undefined) {
      this.#isWantedAgain = why;
      return;
    }
    try {
      await this.reload(why);
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      if (error.code === "roll-running") return this.#askAfterRolls(why);
      for (const line of `${error.message}\n\neverything stays as it was`.split("\n"))
        if (line.trim() !== "") this.#ports.voice.error(line);
    }
  }

  /** Nothing is done any more. `isOver`: nor by a later service. */
  stop(isOver: boolean): void {
    this.#watch?.stop();
    this.#abort.abort();
    if (isOver && this.#work !== undefined) this.#ports.link.forget(ROLL);
  }

  async #askAfterRolls(why: string): Promise<void> {
    this.#ports.voice.info(`reload (${why}): waits for the end of a rolling restart`);
    await this.#service.rolling.settled();
    if (!this.#abort.signal.aborted) await this.ask(why);
  }

  #checkRolls(found: Config, plan: PlanRecord): void {
    const ids = new Set(rollOf(plan, found));
    const busy = found.processes.find(({ id, cluster }) => ids.has(id) && this.#service.rolling.isUnderWay(cluster?.id ?? ""))?.cluster;
    if (busy === undefined) return;
    throw new ProcmanError("roll-running", `Cannot reload: a rolling restart of "${busy.id}" is under way; wait for its end`);
  }

  #read(profile?: string): Config {
    const { source } = this.#ports;
    if (this.#service.isTerminating)
      throw new ProcmanError("reload-failed", "Cannot reload: everything is being stopped; run procman again then");
    if (source === undefined) throw new ProcmanError("reload-failed", "Cannot reload: there is no configuration file");
    return source(undefined, profile);
  }

  #forecast(found: Config): PlanRecord {
    return forecast(this.#ports.changeover.config, found, this.#service.supervisor.processes);
  }

  #begin(journey: Journey): Promise<string | undefined> {
    const { changeover, voice, link, steadyMs = STEADY_MS } = this.#ports;
    let problem: string | undefined;
    let isNoted = journey.at !== undefined;
    this.#journey = isNoted ? journey : undefined;
    const note = (next: Journey | undefined): void => {
      if (next !== undefined) link.remember(ROLL, writeJourney(next, this.#lineage));
      else if (isNoted) link.forget(ROLL);
      isNoted = next !== undefined;
      this.#journey = next;
      if (next === undefined && problem === undefined && journey.from !== undefined) this.#service.scaling.forget();
    };
    const failed = (id: string): void => {
      problem = `Cannot reload: "${id}" did not come up by the new configuration: it ${this.#whyNotUp(id)}; everything goes back to what it was`;
      voice.error(problem);
    };
    const work = roll(journey, { changeover, serving: this.#service, note, failed, signal: this.#abort.signal, steadyMs }).then(() => {
      this.#work = undefined;
      if (isNoted || this.#abort.signal.aborted) return problem;
      if (problem !== undefined || journey.from === undefined) voice.info("everything is by the former configuration again");
      else if (journey.at !== undefined || isRolled) voice.info("the reload is done");
      const why = this.#isWantedAgain;
      this.#isWantedAgain = undefined;
      if (why !== undefined) void this.ask(why);
      return problem;
    });
    const isRolled = isNoted;
    if (isNoted) this.#work = work;
    return work;
  }

  #whyNotUp(id: string): string {
    const { supervisor, observatory, balancing } = this.#service;
    return whyNotUp(supervisor.find(id), observatory.subject(id), balancing.flawOf(id));
  }
}

/** What is fixed for as long as procman runs stays as it is. */
function adopted(found: Config, { name, stateDir, api }: Config): Config {
  return { ...found, name, stateDir, api: { ...api, revoked: found.api.revoked } };
}

/** The composition root of the service: configuration in, supervised processes out. */
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { FromKeeper } from "../contract/keeper-protocol.ts";
import { systemClock } from "../runtime/clock.ts";
import type { ApiAccess } from "../runtime/environment.ts";
import type { Link } from "../runtime/link.ts";
import type { KeeperSpawner } from "../runtime/spawner.ts";
import { Sweeper } from "../runtime/sweeper.ts";
import { lastLines } from "../store/query.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { Balancing } from "./balancing.ts";
import { Changeover } from "./changeover.ts";
import { controlsOf } from "./control.ts";
import { ExitWith } from "./exit-with.ts";
import { CONFIGURATION } from "./former.ts";
import { StoredLog } from "./log-book.ts";
import type { Samples } from "./memory-watch.ts";
import { ServiceObservatory } from "./observatory.ts";
import type { Part } from "./part.ts";
import { Plugins } from "./plugins.ts";
import { recall } from "./recall.ts";
import { Reload } from "./reload.ts";
import { Rolling } from "./rolling.ts";
import { Scaling } from "./scaling.ts";
import type { ServiceOptions } from "./service-options.ts";
import { Serving } from "./serving.ts";
import { Sharing } from "./sharing.ts";
import { spawnerOf } from "./spawning.ts";
import { takeUp } from "./take-up.ts";
import { readTermination, TERMINATION, type Termination, writeTermination } from "./termination.ts";
import { Voice } from "./voice.ts";
import { Watching } from "./watching.ts";
import { Witness } from "./witness.ts";

type Snapshot = FromKeeper & { readonly t: "snapshot" };

export class Service {
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now();
  /** Pid of the keeper. */
  readonly keeper = process.ppid;
  readonly supervisor: Supervisor;
  readonly commit = (): Promise<void> => this.#link.commit();
  readonly logBook: StoredLog;
  readonly observatory: ServiceObservatory;
  readonly balancing: Balancing;
  readonly sharing: Sharing;
  readonly reloading: Reload;
  readonly rolling: Rolling;
  readonly scaling: Scaling;
  readonly plugins: Plugins;
  readonly #link: Link;
  readonly #voice: Voice;
  readonly #sweeper = new Sweeper();
  readonly #spawner: KeeperSpawner;
  readonly #serving: Serving;
  readonly #witness: Witness;
  readonly #exitWith: ExitWith | undefined;
  readonly #parts: readonly Part[];
  readonly #changeover: Changeover;
  #termination: Termination | undefined;
  #lineage = "";

  constructor(config: Config, link: Link, { exitWith, ...options }: ServiceOptions = {}) {
    this.#link = link;
    this.#voice = new Voice(link, (slot) => this.#changeover.instanceOf(slot));
    this.#changeover = new Changeover(config, link, {
      supervisor: () => this.supervisor,
      apply: () => {
        for (const part of [...this.#parts, this.plugins]) part.apply();
        this.#spawner.renew();
      },
      check: (id) => this.#witness.check(id),
    });
    this.#exitWith = exitWith === undefined ? undefined : new ExitWith(exitWith, (id) => this.spec(id));
    const { stateDir } = config;
    this.logBook = new StoredLog({ stateDir, voice: this.#voice, find: (id) => this.config.processes.find((spec) => spec.id === id) });
    const api = (id: string): ApiAccess | undefined => this.#serving.accessOf(id);
    this.sharing = new Sharing(this, { link, voice: this.#voice, sockets: options.sockets });
    const { remedy } = this.sharing;
    this.#spawner = spawnerOf(link, this.#sweeper, { stateDir, spec: (slot) => this.spec(slot), api, remedy, voice: this.#voice });
    this.balancing = new Balancing(this, link, this.#voice);
    this.#parts = [this.balancing, this.sharing, new Watching(this, link, this.#voice)];
    this.supervisor = new Supervisor({
      clock: systemClock,
      spawner: this.balancing.guard(this.#spawner),
      publish: (transition) => {
        this.#witness.onTransition(transition);
        if (transition.to.status === "idle") this.#endIfOver();
      },
      notice: (id, notice) => this.#witness.onNotice(id, notice),
      removed: (id) => this.#onRemoved(id),
      begun: (id) => this.#link.begun(id),
      isToCome: (id) => this.reloading.isToCome(id) || this.rolling.isToCome(id),
    });
    const report = (problem: string): void => this.#voice.warn(problem);
    const sampled = (samples: Samples): void => this.#witness.onSamples(samples);
    this.observatory = new ServiceObservatory(this, { notes: link, lastLines: (query) => lastLines(stateDir, query), sampled, report });
    this.#witness = new Witness(this, this.#voice);
    this.reloading = new Reload(this, { ...options, changeover: this.#changeover, link, voice: this.#voice });
    this.rolling = new Rolling(this, { link, voice: this.#voice, steadyMs: options.steadyMs });
    this.scaling = new Scaling(this, { source: options.source, changeover: this.#changeover, link, voice: this.#voice });
    const control = controlsOf(this, this.#voice);
    this.#serving = new Serving({ config, control, voice: this.#voice, keeper: this.keeper, moved: () => this.#spawner.renew() });
    this.plugins = new Plugins(this, { control, link, voice: this.#voice });
  }

  get config(): Config {
    return this.#changeover.config;
  }

  get leaving(): readonly ProcessSpec[] {
    return this.#changeover.leaving;
  }

  get isTerminating(): boolean {
    return this.#termination !== undefined;
  }

  /** Takes the port of the API; the keeper's snapshot, which everything else follows, is to be heard once the promise is fulfilled. */
  listen(): Promise<void> | undefined {
    return this.#serving.listen();
  }

  receive(message: Exclude<FromKeeper, { readonly t: "refused" | "aside" | "keep" | "drop" }>): void {
    switch (message.t) {
      case "snapshot":
        return this.#begin(message);
      case "spawned":
      case "exited":
      case "failed":
        return this.#spawner.receive(message);
      case "logger":
        return this.#voice.repeat(message.message);
      case "stop":
        return void this.terminate(message.signal);
      case "synced":
        return this.#link.synced(message.number);
      case "ping":
        return this.#link.send({ t: "pong" });
      case "cgroups":
        return this.#spawner.useCgroups(message, (problem) => this.#voice.warn(problem));
      case "renewed":
        return this.#serving.renew();
      case "signalled":
        return void this.reloading.ask(message.signal);
      default:
        return message satisfies never;
    }
  }

  /** Stops everything in reverse order of start; the keeper ends when that is done. */
  async terminate(why: string, code?: number): Promise<void> {
    this.#link.send({ t: "stopping" });
    if (this.#termination !== undefined) return;
    this.#termination = { why, ...(code === undefined ? {} : { code }) };
    this.#link.remember(TERMINATION, writeTermination(this.#termination, this.#lineage));
    this.#voice.info(`stopping everything (${why})`);
    this.observatory.onTermination(why);
    for (const part of this.#parts) part.end();
    this.reloading.stop(true);
    this.rolling.stop(true);
    await this.supervisor.stopAll();
    await this.plugins.close(true);
    this.observatory.close();
    this.#serving.withdraw();
    this.#voice.info("everything is stopped");
    this.#link.sendLater({ t: "end", code: code ?? this.#exitWith?.code(this.supervisor.processes) ?? 0 });
  }

  /** Steps aside for another service: what runs goes on, nothing is decided, answered or sent here any more. */
  async retire(): Promise<void> {
    this.supervisor.dispose();
    this.reloading.stop(false);
    this.rolling.stop(false);
    this.#sweeper.stop();
    this.#witness.retire();
    const plugins = this.plugins.close(false);
    for (const part of this.#parts) part.retire();
    this.#link.close();
    await Promise.all([plugins, this.#serving.close()]);
  }

  /** Of a process or one of its slots. */
  spec(slot: string): ProcessSpec {
    return this.#changeover.spec(slot);
  }

  #begin(snapshot: Snapshot): void {
    const { notes, running, lineage } = snapshot;
    const config = this.scaling.resume(notes, lineage, this.config);
    this.#lineage = lineage;
    this.#changeover.tellStyle();
    this.#spawner.load(snapshot);
    const past = recall(snapshot, config);
    this.#changeover.resume(past.former, notes[CONFIGURATION]);
    takeUp(past, config, {
      supervisor: this.supervisor,
      spawner: this.#spawner,
      link: this.#link,
      voice: this.#voice,
      spec: (id) => this.spec(id),
    });
    for (const part of [...this.#parts, this.plugins]) part.resume(notes);
    const termination = readTermination(notes[TERMINATION], lineage);
    if (termination !== undefined) void this.terminate(termination.why, termination.code);
    else {
      if (notes[TERMINATION] !== undefined) this.#link.forget(TERMINATION);
      // First: files that have changed meanwhile are told when the configuration is taken up.
      this.rolling.resume(notes, lineage);
      if (!this.reloading.resume(notes, lineage)) this.reloading.takeUp(config);
      this.#endIfOver();
    }
    this.#spawner.settle();
    this.observatory.begin(notes);
    for (const { slot, run, captured } of running) if (!captured) this.#changeover.route(slot, run);
    this.#link.flush();
    // At a first start nobody asks before the first processes run; otherwise clients wait already.
    this.#serving.start(Object.keys(notes).length === 0 && running.length === 0, (problem) => {
      if (problem !== undefined) this.#voice.error(`${problem}; processes run on`);
      this.#link.send({ t: "ready", ...(problem === undefined ? {} : { problem }) });
    });
  }

  #onRemoved(id: string): void {
    this.observatory.forget(id);
    this.#changeover.drop(id);
  }

  #endIfOver(): void {
    const code = this.#exitWith?.over(this.supervisor.processes);
    if (code !== undefined) void this.terminate(`"${this.#exitWith?.id}" is over`, code);
  }
}

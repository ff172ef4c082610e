/** From one configuration to another: the one way, at the start, after a come-back and at a reload. */
import { diff } from "../config/diff.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { Link } from "../runtime/link.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { CONFIGURATION, type Former } from "./former.ts";
import { captureOf } from "./launch.ts";
import { removePidFile } from "./pid-file.ts";
import { planOf, Specs } from "./specs.ts";
import { consoleStyle, storeSettings } from "./voice.ts";

/** Who hears of it. */
export type Affected = {
  readonly supervisor: () => Supervisor;
  /** The load balancer and plugins, which go by the configuration themselves. */
  readonly apply: () => void;
  /** Its pid file, and whether it is asked if it is ready. */
  readonly check: (id: string) => void;
};

export class Changeover {
  readonly #link: Link;
  readonly #affected: Affected;
  #specs: Specs;
  /** The configuration as the keeper has it for a later service. */
  #noted: string | undefined;
  #style = "";

  constructor(config: Config, link: Link, affected: Affected) {
    this.#link = link;
    this.#affected = affected;
    this.#specs = new Specs({ config, leaving: [] });
  }

  get config(): Config {
    return this.#specs.config;
  }

  /** No longer in the configuration, and not over yet. */
  get leaving(): readonly ProcessSpec[] {
    return this.#specs.leaving;
  }

  /** Of a process or one of its slots. */
  spec(slot: string): ProcessSpec {
    return this.#specs.of(slot);
  }

  /** Number of an instance of a cluster, from 1. */
  instanceOf(slot: string): number | undefined {
    return this.#specs.instanceOf(slot);
  }

  /** By this the runs of now were started; `note`: as the keeper has it. */
  resume(former: Former, note: string | undefined): void {
    this.#noted = note;
    this.#specs = new Specs(former);
  }

  apply(config: Config): void {
    const before = new Map(this.config.processes.map((spec) => [spec.id, spec]));
    const { changed } = diff([...before.values()], config.processes);
    const supervisor = this.#affected.supervisor();
    this.#specs.replace(config);
    this.tellStyle();
    for (const { id, route } of changed) {
      const { pidFile } = before.get(id) as ProcessSpec;
      if (pidFile !== undefined && pidFile !== this.spec(id).pidFile) removePidFile(pidFile);
      const runs = supervisor.processes.find((process) => process.id === id)?.runs ?? [];
      if (route) for (const { slot, run } of runs) this.route(slot, run);
    }
    supervisor.apply(config.processes.map(planOf), new Map(changed.map((change) => [change.id, change])));
    for (const { id } of config.processes) this.#affected.check(id);
    this.#affected.apply();
    this.#note();
  }

  /** What runs is written elsewhere from now on. */
  route(slot: string, run: number): void {
    const capture = captureOf(this.spec(slot), run);
    if (capture !== undefined) this.#link.send({ t: "route", slot, run, capture });
  }

  /** No configuration has it any more, and it is over. */
  drop(id: string): void {
    this.#specs.drop(id);
    this.#note();
  }

  /** How the console looks, and what the log store may keep; once for each. */
  tellStyle(): void {
    const message = { t: "style", style: consoleStyle(this.config), store: storeSettings(this.config) } as const;
    const text = JSON.stringify(message);
    if (text !== this.#style) this.#link.send({ t: "logger", message });
    this.#style = text;
  }

  /** For a later service; with the commands of the same turn. */
  #note(): void {
    const { text } = this.#specs;
    if (text !== this.#noted) this.#link.remember(CONFIGURATION, text);
    this.#noted = text;
  }
}

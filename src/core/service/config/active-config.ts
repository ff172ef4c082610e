/** The active configuration, and the one way to apply another: at the start, after a restart of the service, at a reload. */
import { diff } from "../../config/diff.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import { printInStyle } from "../../os/error-output.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { KeeperChannel } from "../keeper-channel.ts";
import type { ConfigSnapshot } from "../recovery/config-snapshot.ts";
import type { NoteStore } from "../recovery/notes.ts";
import { styleOf } from "../service-log.ts";
import { removePidFile } from "../spawn/pid-file.ts";
import { captureOf } from "../spawn/spawn-request.ts";
import { definitionOf, SpecRegistry } from "../spec-registry.ts";

export type ActiveConfigPorts = {
  readonly link: KeeperChannel;
  readonly notes: NoteStore;
  readonly supervisor: () => Supervisor;
  /** Calls `apply` of all subsystems. */
  readonly apply: () => void;
  /** That procman was run with. */
  readonly profileOfRun: string | undefined;
};

export class ActiveConfig {
  readonly #ports: ActiveConfigPorts;
  #specs: SpecRegistry;
  #style = "";

  constructor(config: Config, ports: ActiveConfigPorts) {
    this.#ports = ports;
    this.#specs = new SpecRegistry({ config, removing: [] });
  }

  get config(): Config {
    return this.#specs.config;
  }

  /** Processes that are no longer in the configuration but still being stopped. */
  get removing(): readonly ProcessSpec[] {
    return this.#specs.removing;
  }

  /** All of them; the same array until one changes. */
  get specs(): readonly ProcessSpec[] {
    return this.#specs.all;
  }

  /** Whether a process or instance of this id is in the configuration, or still being stopped. */
  has(id: string): boolean {
    return this.#specs.has(id);
  }

  /** Specification of a process or instance that is in the configuration; undefined if it isn't, though it may still be being stopped. */
  configured(id: string): ProcessSpec | undefined {
    return this.#specs.configured(id);
  }

  /** Specification of a process or of one of its slots; undefined: it is gone. */
  find(slot: string): ProcessSpec | undefined {
    return this.#specs.find(slot);
  }

  /** Specification of a process or of one of its slots. */
  spec(slot: string): ProcessSpec {
    return this.#specs.of(slot);
  }

  /** Number of an instance of a cluster, from 1. */
  instanceOf(slot: string): number | undefined {
    return this.#specs.instanceOf(slot);
  }

  /** `previous`: the configuration that the running processes were started by. */
  resume(previous: ConfigSnapshot): void {
    this.#specs = new SpecRegistry(previous);
  }

  apply(config: Config): void {
    const before = new Map(this.config.processes.map((spec) => [spec.id, spec]));
    const { changed } = diff([...before.values()], config.processes);
    const supervisor = this.#ports.supervisor();
    this.#specs.replace(config);
    this.sendStyle();
    for (const { id, route } of changed) {
      const { pidFile } = before.get(id) as ProcessSpec;
      if (pidFile !== undefined && pidFile !== this.spec(id).pidFile) removePidFile(pidFile);
      const runs = supervisor.processes.find((process) => process.id === id)?.runs ?? [];
      if (route) for (const { slot, run } of runs) this.route(slot, run);
    }
    supervisor.apply(config.processes.map(definitionOf), new Map(changed.map((change) => [change.id, change])));
    this.#ports.apply();
    this.#note();
  }

  /** The output of this run goes to other places from now on. */
  route(slot: string, run: number): void {
    const capture = captureOf(this.spec(slot), run);
    if (capture !== undefined) this.#ports.link.send({ t: "route", slot, run, capture });
  }

  /** Called when a removed process has stopped. */
  drop(id: string): void {
    this.#specs.drop(id);
    this.#note();
  }

  /** Sends the console style and the retention of the log store, if they have changed. */
  sendStyle(): void {
    const message = styleOf(this.config);
    printInStyle(message.style);
    const text = JSON.stringify(message);
    if (text !== this.#style) this.#ports.link.send({ t: "logger", message });
    this.#style = text;
  }

  /** For the next service; sent with the commands of the same turn. */
  #note(): void {
    const { notes, profileOfRun: ofRun } = this.#ports;
    const { profile } = this.config;
    notes.write(":config", { config: this.config, removing: this.removing });
    if (profile === ofRun) notes.remove(":profile");
    else notes.write(":profile", { profile, ofRun });
  }
}

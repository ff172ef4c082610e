/** The active configuration, and the one way to apply another: at the start, after a restart of the service, at a reload. */
import { diff } from "../../config/diff.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import { printInStyle } from "../../os/error-output.ts";
import { styleOf } from "../service-log.ts";
import type { Services } from "../services.ts";
import { removePidFile } from "../spawn/pid-file.ts";
import { captureOf } from "../spawn/spawn-request.ts";
import { definitionOf, type SpecRegistry } from "../spec-registry.ts";

export class ActiveConfig {
  readonly #services: Pick<Services, "link" | "notes" | "supervisor">;
  readonly #specs: SpecRegistry;
  readonly #onApplied: () => void;
  readonly #profileOfRun: string | undefined;
  #style = "";

  /** `onApplied`: calls `apply` of all subsystems. `profileOfRun`: that procman was run with. */
  constructor(
    services: Pick<Services, "link" | "notes" | "supervisor">,
    specs: SpecRegistry,
    onApplied: () => void,
    profileOfRun: string | undefined,
  ) {
    this.#services = services;
    this.#specs = specs;
    this.#onApplied = onApplied;
    this.#profileOfRun = profileOfRun;
  }

  apply(config: Config): void {
    const before = new Map(this.#specs.config.processes.map((spec) => [spec.id, spec]));
    const { changed } = diff([...before.values()], config.processes);
    const supervisor = this.#services.supervisor;
    this.#specs.replace(config);
    this.sendStyle();
    for (const { id, route } of changed) {
      const { pidFile } = before.get(id) as ProcessSpec;
      if (pidFile !== undefined && pidFile !== this.#specs.of(id).pidFile) removePidFile(pidFile);
      const runs = supervisor.processes.find((process) => process.id === id)?.runs ?? [];
      if (route) for (const { slot, run } of runs) this.route(slot, run);
    }
    supervisor.apply(config.processes.map(definitionOf), new Map(changed.map((change) => [change.id, change])));
    this.#onApplied();
    this.#note();
  }

  /** The output of this run goes to other places from now on. */
  route(slot: string, run: number): void {
    const capture = captureOf(this.#specs.of(slot), run);
    if (capture !== undefined) this.#services.link.send({ t: "route", slot, run, capture });
  }

  /** Called when a removed process has stopped. */
  drop(id: string): void {
    this.#specs.drop(id);
    this.#note();
  }

  /** Sends the console style and the retention of the log store, if they have changed. */
  sendStyle(): void {
    const message = styleOf(this.#specs.config);
    printInStyle(message.style);
    const text = JSON.stringify(message);
    if (text !== this.#style) this.#services.link.send({ t: "logger", message });
    this.#style = text;
  }

  /** For the next service; sent with the commands of the same turn. */
  #note(): void {
    const { notes } = this.#services;
    const ofRun = this.#profileOfRun;
    const { profile } = this.#specs.config;
    notes.write(":config", { config: this.#specs.config, removing: this.#specs.removing });
    if (profile === ofRun) notes.remove(":profile");
    else notes.write(":profile", { profile, ofRun });
  }
}

/** The plugins of the service: nothing is loaded, and nothing done, where the configuration has none. */
import type { Fault } from "../base/errors.ts";
import { mapOf, number } from "../base/shape.ts";
import { placeIn } from "../config/place.ts";
import { stepsOf } from "../config/plugin-checks.ts";
import type { Config } from "../config/spec.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginSpec } from "../contract/plugin-protocol.ts";
import type { PluginRecord } from "../contract/plugin-record.ts";
import type { Severity } from "../contract/records.ts";
import type { Host } from "../plugins/host.ts";
import type { Link } from "../runtime/link.ts";
import type { Voice } from "./voice.ts";

/** How often each was started in a row: one that ends the service must not end each one that comes. */
const ATTEMPTS = ":plugins";
/** The first processes are started before. Milliseconds. */
const DELAY_MS = 300;
/** At the end of all, and where somebody waits for it: an upgrade, a change. Milliseconds. */
const LAST_MS = 5_000;
const SOON_MS = 2_000;

/** Whose plugins these are. */
export type Hosting = {
  readonly config: Config;
  readonly observatory: {
    readonly listen: (listener: (event: EventRecord) => void) => () => void;
    readonly onPlugin: (plugin: PluginRecord) => void;
  };
};

export type PluginPorts = { readonly control: (caller: Caller) => Control; readonly link: Link; readonly voice: Voice };

export class Plugins {
  readonly #hosting: Hosting;
  readonly #ports: PluginPorts;
  #attempts: Readonly<Record<string, number>> = {};
  #host: Host | undefined;
  #loading: Promise<void> | undefined;
  #stopListening: () => void = () => undefined;
  #isClosed = false;

  constructor(hosting: Hosting, ports: PluginPorts) {
    this.#hosting = hosting;
    this.#ports = ports;
  }

  /** Absent: there is none. */
  get records(): readonly PluginRecord[] | undefined {
    return this.#hosting.config.plugins.length === 0 ? undefined : (this.#host?.records ?? []);
  }

  /** What a service before this one has noted. */
  resume(notes: Readonly<Record<string, string>>): void {
    this.#attempts = attemptsIn(notes[ATTEMPTS]);
  }

  /** The configuration is there, or is another one. */
  apply(): void {
    const { plugins } = this.#hosting.config;
    if (this.#isClosed) return;
    if (this.#host !== undefined) void this.#host.apply(plugins, SOON_MS);
    else if (plugins.length > 0) this.#loading ??= this.#load();
  }

  /** `isLast`: everything has ended; what they have not dealt with yet may take a little longer. */
  async close(isLast: boolean): Promise<void> {
    this.#isClosed = true;
    // At once: the link may be closed soon. An orderly end is nobody's failure.
    if (this.#host !== undefined) this.#ports.link.forget(ATTEMPTS);
    await this.#loading;
    await this.#host?.close(isLast ? LAST_MS : SOON_MS);
    this.#stopListening();
  }

  async #load(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    const { Host } = await import("../plugins/host.ts");
    if (this.#isClosed) return;
    const { config, observatory } = this.#hosting;
    const { control, link } = this.#ports;
    const { name, stateDir } = config;
    this.#host = new Host(
      {
        ...{ name, stateDir, control },
        said: (id, severity, text) => this.#say(id, severity, text),
        place: (spec, fault) => this.#place(spec, fault),
        changed: (plugin) => observatory.onPlugin(plugin),
        remember: (attempts) => (Object.keys(attempts).length === 0 ? link.forget(ATTEMPTS) : link.remember(ATTEMPTS, attempts)),
      },
      this.#attempts,
    );
    this.#stopListening = observatory.listen((event) => this.#host?.offer(event));
    void this.#host.apply(this.#hosting.config.plugins, SOON_MS);
  }

  #say(id: string, severity: Severity, text: string): void {
    const quiet = severity === "debug" ? ({ isQuiet: true } as const) : {};
    this.#ports.voice.enter({ at: Date.now(), severity, category: "plugin", text: `plugin ${id}: ${text}`, ...quiet });
  }

  #place({ id }: PluginSpec, fault?: Fault): string {
    const { file, plugins } = this.#hosting.config;
    const index = plugins.findIndex((spec) => spec.id === id);
    return placeIn(file, ["plugins", index, ...(fault === undefined ? ["url"] : stepsOf(fault.place))]);
  }
}

function attemptsIn(note: string | undefined): Readonly<Record<string, number>> {
  try {
    const value: unknown = JSON.parse(note ?? "{}");
    return mapOf(number)(value) ? (value as Readonly<Record<string, number>>) : {};
  } catch {
    return {};
  }
}

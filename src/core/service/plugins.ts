/** The plugins of the service. Without plugins in the configuration nothing is loaded. */
import type { ErrorPlace } from "../base/errors.ts";
import { stepsOf } from "../config/checks/plugin-checks.ts";
import { placeIn } from "../config/source-location.ts";
import type { Config } from "../config/spec.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginRecord } from "../contract/plugin-record.ts";
import type { Severity } from "../contract/records.ts";
import type { PluginSpec } from "../ipc/plugin-protocol.ts";
import type { Host } from "../plugins/host.ts";
import { PluginChildren } from "./plugin-children.ts";
import type { ServiceEvents } from "./reporting/service-events.ts";
import type { Services } from "./services.ts";
import type { Subsystem } from "./subsystem.ts";

/** Delay before plugins are loaded, so that the first processes start earlier. Milliseconds. */
const DELAY_MS = 300;
/** Events that are kept until the plugins are loaded. */
const MAX_EARLY = 10_000;
/** Time to finish: at the shutdown; and at an upgrade or a change, which wait for it. Milliseconds. */
const SHUTDOWN_CLOSE_MS = 5_000;
const CLOSE_MS = 2_000;

export class ServicePlugins implements Subsystem {
  readonly #services: Pick<Services, "log" | "markers" | "notes" | "specs">;
  readonly #events: Pick<ServiceEvents, "listen" | "onPlugin">;
  readonly #control: (caller: Caller) => Control;
  /** Starts of each plugin in a row: a plugin that kills the service must not kill each next one. */
  #attempts: Readonly<Record<string, number>> = {};
  #host: Host | undefined;
  #loading: Promise<void> | undefined;
  #children: PluginChildren | undefined;
  /** Resolves when the processes that earlier services' plugins have left are ended. */
  #leftovers: Promise<void> | undefined;
  #stopListening: () => void = () => undefined;
  #isClosed = false;
  /** Events from before the plugins are there; undefined: they are. */
  #early: EventRecord[] | undefined = [];

  constructor(
    services: Pick<Services, "log" | "markers" | "notes" | "specs">,
    events: Pick<ServiceEvents, "listen" | "onPlugin">,
    control: (caller: Caller) => Control,
  ) {
    this.#services = services;
    this.#events = events;
    this.#control = control;
    if (this.#config.plugins.length > 0) this.#listen();
  }

  get #config(): Config {
    return this.#services.specs.config;
  }

  /** undefined: no plugins are configured. */
  get records(): readonly PluginRecord[] | undefined {
    return this.#config.plugins.length === 0 ? undefined : (this.#host?.records ?? []);
  }

  resume(): void {
    const { notes } = this.#services;
    this.#attempts = notes.read(":plugins") ?? {};
    const hadPlugins = notes.read(":plugin-threads") !== undefined;
    if (hadPlugins && this.#config.plugins.length === 0) this.#leftovers = this.#endLeftovers();
  }

  apply(): void {
    const { plugins } = this.#config;
    if (this.#isClosed) return;
    if (this.#host !== undefined) void this.#host.apply(plugins, CLOSE_MS);
    else if (plugins.length > 0) this.#loading ??= this.#load();
  }

  /** Plugins get more time to handle the last events. */
  stopped(): Promise<void> {
    return this.#close(SHUTDOWN_CLOSE_MS);
  }

  retire(): Promise<void> {
    return this.#close(CLOSE_MS);
  }

  async #close(ms: number): Promise<void> {
    this.#isClosed = true;
    // At once, as the channel may close soon. An orderly end is not a failure of a plugin.
    if (this.#host !== undefined) this.#services.notes.remove(":plugins");
    await this.#loading;
    await Promise.all([this.#host?.close(ms), this.#leftovers]);
    this.#stopListening();
  }

  async #load(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    const { Host } = await import("../plugins/host.ts");
    this.#leftovers ??= this.#endLeftovers();
    if (this.#isClosed) return;
    const { notes } = this.#services;
    notes.write(":plugin-threads", { at: Date.now() });
    const { name, stateDir } = this.#config;
    this.#host = new Host(
      {
        name,
        stateDir,
        control: this.#control,
        children: this.#childrenOf(stateDir),
        log: (id, severity, text) => this.#write(id, severity, text),
        locate: (spec, fault) => this.#place(spec, fault),
        changed: (plugin) => this.#events.onPlugin(plugin),
        saveAttempts: (attempts) =>
          Object.keys(attempts).length === 0 ? notes.remove(":plugins") : notes.write(":plugins", attempts),
      },
      this.#attempts,
    );
    this.#listen();
    await this.#host.apply(this.#config.plugins, CLOSE_MS);
    for (const event of this.#early ?? []) this.#host.offer(event);
    this.#early = undefined;
  }

  async #endLeftovers(): Promise<void> {
    await this.#childrenOf(this.#config.stateDir).endAll();
    if (this.#config.plugins.length === 0) this.#services.notes.remove(":plugin-threads");
  }

  /** The key of the markers is known by now. */
  #childrenOf(stateDir: string): PluginChildren {
    this.#children ??= new PluginChildren(stateDir, this.#services.markers.key);
    return this.#children;
  }

  #listen(): void {
    this.#stopListening();
    this.#stopListening = this.#events.listen((event) => {
      if (this.#early === undefined) this.#host?.offer(event);
      else if (this.#early.length < MAX_EARLY) this.#early.push(event);
    });
  }

  #write(id: string, severity: Severity, text: string): void {
    const quiet = severity === "debug" ? ({ isQuiet: true } as const) : {};
    this.#services.log.add({ at: Date.now(), severity, category: "plugin", text: `plugin ${id}: ${text}`, ...quiet });
  }

  #place({ id }: PluginSpec, fault?: ErrorPlace): string {
    const { file, plugins } = this.#config;
    const index = plugins.findIndex((spec) => spec.id === id);
    return placeIn(file, ["plugins", index, ...(fault === undefined ? ["url"] : stepsOf(fault.place))]);
  }
}

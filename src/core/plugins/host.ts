/** Runs all plugins of a configuration. Loaded only if there are any. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ErrorPlace } from "../base/errors.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginRecord } from "../contract/plugin-record.ts";
import type { Severity } from "../contract/records.ts";
import type { PluginSpec } from "../ipc/plugin-protocol.ts";
import { extraCertificates } from "../os/certificates.ts";
import { type ChildrenOfPlugins, PluginSupervisor } from "./plugin-supervisor.ts";
import { CHECK_MS, MAX_BUFFERS_MB, MAX_HEAP_MB } from "./plugin-thread.ts";

/** Growth of the service allowed on top of the limits of its plugins; beyond it, a plugin that doesn't answer is taken for the cause. Bytes. */
const SERVICE_BYTES = 256 * 1_048_576;
const PLUGIN_BYTES = (MAX_HEAP_MB + MAX_BUFFERS_MB) * 1_048_576;

export type HostPorts = {
  readonly name: string;
  readonly stateDir: string;
  readonly control: (caller: Caller) => Control;
  readonly children: ChildrenOfPlugins;
  readonly log: (id: string, severity: Severity, text: string) => void;
  readonly locate: (spec: PluginSpec, fault?: ErrorPlace) => string;
  readonly changed: (record: PluginRecord) => void;
  /** By id: starts in a row of plugins that have not yet run for a minute. */
  readonly saveAttempts: (attempts: Readonly<Record<string, number>>) => void;
};

export class Host {
  readonly #ports: HostPorts;
  readonly #supervisors = new Map<string, PluginSupervisor>();
  readonly #attempts: Map<string, number>;
  readonly #baseBytes = process.memoryUsage.rss();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Changes are applied one after the other: a plugin has ended before another takes its place. */
  #change: Promise<void> = Promise.resolve();

  constructor(ports: HostPorts, attempts: Readonly<Record<string, number>>) {
    this.#ports = ports;
    this.#attempts = new Map(Object.entries(attempts));
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  get records(): readonly PluginRecord[] {
    return [...this.#supervisors.values()].map(({ record }) => record);
  }

  /** Replaces the plugins; unchanged ones keep running. `ms`: time to finish for those that end. */
  apply(specs: readonly PluginSpec[], ms: number): Promise<void> {
    this.#change = this.#change.then(() => this.#replace(specs, ms));
    return this.#change;
  }

  offer(event: EventRecord): void {
    for (const supervisor of this.#supervisors.values()) supervisor.offer(event);
  }

  close(ms: number): Promise<void> {
    const closed = this.apply([], ms).then(() => clearInterval(this.#timer));
    this.#isClosed = true;
    return closed;
  }

  async #replace(specs: readonly PluginSpec[], ms: number): Promise<void> {
    const wanted = new Map(specs.map((spec) => [spec.id, spec]));
    const ending = [...this.#supervisors.values()].filter(({ spec }) => !isDeepStrictEqual(spec, wanted.get(spec.id)));
    await Promise.all(ending.map((supervisor) => supervisor.close(ms)));
    for (const { spec } of ending) this.#supervisors.delete(spec.id);
    if (this.#isClosed) return;
    for (const spec of specs)
      if (!this.#supervisors.has(spec.id)) this.#supervisors.set(spec.id, this.#supervise(spec));
  }

  #supervise(spec: PluginSpec): PluginSupervisor {
    const { name, stateDir, control, children, log, locate, changed } = this.#ports;
    const { id } = spec;
    const folder = join(stateDir, "plugins", id);
    const start = {
      spec,
      name,
      stateDir,
      folder,
      cache: join(stateDir, "cache/plugins"),
      shipped: import.meta.dirname,
      certificates: extraCertificates(),
    };
    return new PluginSupervisor(
      spec,
      {
        script: join(import.meta.dirname, "plugin-thread.js"),
        start,
        control: control({ consumer: `plugin ${id}` }),
        children,
        log: (severity, text) => log(id, severity, text),
        locate,
        changed,
        saveAttempts: (attempts) => this.#saveAttempts(id, attempts),
      },
      this.#attempts.get(id) ?? 0,
    );
  }

  #saveAttempts(id: string, attempts: number): void {
    if (attempts === 0) this.#attempts.delete(id);
    else this.#attempts.set(id, attempts);
    this.#ports.saveAttempts(Object.fromEntries(this.#attempts));
  }

  #check(): void {
    const isScarce =
      process.memoryUsage.rss() > this.#baseBytes + this.#supervisors.size * PLUGIN_BYTES + SERVICE_BYTES;
    for (const supervisor of this.#supervisors.values()) supervisor.check(isScarce);
  }
}

/** All plugins of a configuration. Loaded only where there are some. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ErrorPlace } from "../base/errors.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginRecord } from "../contract/plugin-record.ts";
import type { Severity } from "../contract/records.ts";
import type { PluginSpec } from "../ipc/plugin-protocol.ts";
import { extraCertificates } from "../os/certificates.ts";
import { PluginSupervisor } from "./plugin-supervisor.ts";
import { MOST_BUFFERS_MB, MOST_HEAP_MB, TICK_MS } from "./plugin-thread.ts";

/** The service may grow by so much beside what its plugins may take, before one that doesn't answer is held to be the cause. Bytes. */
const OTHERS_BYTES = 256 * 1_048_576;
const PLUGIN_BYTES = (MOST_HEAP_MB + MOST_BUFFERS_MB) * 1_048_576;

export type HostPorts = {
  readonly name: string;
  readonly stateDir: string;
  readonly control: (caller: Caller) => Control;
  readonly said: (id: string, severity: Severity, text: string) => void;
  readonly place: (spec: PluginSpec, fault?: ErrorPlace) => string;
  readonly changed: (record: PluginRecord) => void;
  /** Starts in a row, by id, of those that have not run for a minute yet. */
  readonly remember: (attempts: Readonly<Record<string, number>>) => void;
};

export class Host {
  readonly #ports: HostPorts;
  readonly #attendants = new Map<string, PluginSupervisor>();
  readonly #attempts: Map<string, number>;
  readonly #base = process.memoryUsage.rss();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Changes follow each other: what is to end has ended before another takes its place. */
  #last: Promise<void> = Promise.resolve();

  constructor(ports: HostPorts, attempts: Readonly<Record<string, number>>) {
    this.#ports = ports;
    this.#attempts = new Map(Object.entries(attempts));
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  get records(): readonly PluginRecord[] {
    return [...this.#attendants.values()].map(({ record }) => record);
  }

  /** From now on these, and no others. Those that are the same go on. They have so long to finish. Milliseconds. */
  apply(specs: readonly PluginSpec[], ms: number): Promise<void> {
    this.#last = this.#last.then(() => this.#become(specs, ms));
    return this.#last;
  }

  offer(event: EventRecord): void {
    for (const attendant of this.#attendants.values()) attendant.offer(event);
  }

  close(ms: number): Promise<void> {
    const closed = this.apply([], ms).then(() => clearInterval(this.#timer));
    this.#isClosed = true;
    return closed;
  }

  async #become(specs: readonly PluginSpec[], ms: number): Promise<void> {
    const wanted = new Map(specs.map((spec) => [spec.id, spec]));
    const over = [...this.#attendants.values()].filter(({ spec }) => !isDeepStrictEqual(spec, wanted.get(spec.id)));
    await Promise.all(over.map((attendant) => attendant.close(ms)));
    for (const { spec } of over) this.#attendants.delete(spec.id);
    if (this.#isClosed) return;
    for (const spec of specs) if (!this.#attendants.has(spec.id)) this.#attendants.set(spec.id, this.#attend(spec));
  }

  #attend(spec: PluginSpec): PluginSupervisor {
    const { name, stateDir, control, said, place, changed } = this.#ports;
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
        said: (severity, text) => said(id, severity, text),
        place,
        changed,
        remember: (attempts) => this.#remember(id, attempts),
      },
      this.#attempts.get(id) ?? 0,
    );
  }

  #remember(id: string, attempts: number): void {
    if (attempts === 0) this.#attempts.delete(id);
    else this.#attempts.set(id, attempts);
    this.#ports.remember(Object.fromEntries(this.#attempts));
  }

  #tick(): void {
    const isScarce = process.memoryUsage.rss() > this.#base + this.#attendants.size * PLUGIN_BYTES + OTHERS_BYTES;
    for (const attendant of this.#attendants.values()) attendant.tick(isScarce);
  }
}

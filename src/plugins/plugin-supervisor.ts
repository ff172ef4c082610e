/** Keeps one plugin up: starts its thread, and again after a while when that has ended. */
import type { ErrorPlace } from "../base/errors.ts";
import type { Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginRecord } from "../contract/plugin-record.ts";
import type { Severity } from "../contract/records.ts";
import type { PluginSpec, PluginStart } from "../ipc/plugin-protocol.ts";
import { EventQueue } from "./event-queue.ts";
import { type PluginProblem, PluginThread, TICK_MS } from "./plugin-thread.ts";

/** Delay after the first failure; each further one doubles it. Milliseconds. */
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 300_000;
/** A thread that has run for so long begins anew. Milliseconds. */
const STEADY_MS = 60_000;

export type PluginSupervisorPorts = {
  readonly script: string;
  readonly start: PluginStart;
  readonly control: Control;
  readonly said: (severity: Severity, text: string) => void;
  /** Where its entry stands in the configuration, as `procman.json:12:7`; with a fault that of the option. */
  readonly place: (spec: PluginSpec, fault?: ErrorPlace) => string;
  /** Its record is another one. */
  readonly changed: (record: PluginRecord) => void;
  /** So often it was started without running for a minute: for a later service, in case that it ends this one. */
  readonly remember: (attempts: number) => void;
};

type PluginFacts = Omit<PluginRecord, "id" | "url" | "lostEvents" | "memoryBytes">;

export class PluginSupervisor {
  readonly spec: PluginSpec;
  readonly #ports: PluginSupervisorPorts;
  readonly #backlog = new EventQueue();
  #facts: PluginFacts = { status: "starting", restarts: 0 };
  #life: PluginThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempts: number;
  #upTicks = 0;
  #told: string | undefined;

  /** `attempts`: as remembered. */
  constructor(spec: PluginSpec, ports: PluginSupervisorPorts, attempts: number) {
    this.spec = spec;
    this.#ports = ports;
    this.#attempts = attempts;
    if (attempts === 0) this.#start();
    else this.#wait("procman's service has ended soon after it was started");
  }

  get record(): PluginRecord {
    const { id, url } = this.spec;
    const memoryBytes = this.#life?.memory;
    return { id, url, ...this.#facts, lostEvents: this.#backlog.lostInAll, ...(memoryBytes === undefined ? {} : { memoryBytes }) };
  }

  offer(event: EventRecord): void {
    this.#backlog.offer(event);
    this.#life?.offer();
  }

  tick(isScarce: boolean): void {
    this.#life?.tick(isScarce);
    if (this.#facts.status !== "running") return;
    this.#upTicks += 1;
    if (this.#upTicks !== STEADY_MS / TICK_MS) return;
    this.#attempts = 0;
    this.#ports.remember(0);
    const { problem: _over, ...facts } = this.#facts;
    if (_over !== undefined) this.#become(facts);
  }

  /** It has so long to finish. Milliseconds. */
  async close(ms: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#become({ ...this.#facts, status: "stopping" });
    await this.#life?.close(ms);
    this.#ports.remember(0);
  }

  #start(): void {
    this.#attempts += 1;
    this.#ports.remember(this.#attempts);
    const { problem, restarts } = this.#facts;
    this.#become({ status: "starting", restarts, started: new Date().toISOString(), ...(problem === undefined ? {} : { problem }) });
    const { script, start, control, said } = this.#ports;
    this.#life = new PluginThread({
      ...{ script, start, control, said, backlog: this.#backlog },
      up: (name, version) => this.#onUp(name, version),
      over: (why) => this.#onOver(why),
    });
  }

  #onUp(name: string, version: string): void {
    this.#upTicks = 0;
    this.#become({ ...this.#facts, status: "running", name, version });
    this.#ports.said("info", `runs (${name} ${version})`);
    this.#told = undefined;
  }

  #onOver(problem: PluginProblem | undefined): void {
    this.#backlog.lose(this.#life?.unfinished ?? 0);
    this.#life = undefined;
    if (problem === undefined) return;
    this.#wait(problem.message, problem.faults);
  }

  #wait(message: string, faults: readonly ErrorPlace[] = []): void {
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#attempts - 1));
    const detail = faults.map((fault) => `${this.#ports.place(this.spec, fault)}: ${fault.place} ${fault.message}`);
    const problem = [message, ...detail].join("; ");
    this.#become({
      ...this.#facts,
      status: "backoff",
      restarts: this.#facts.restarts + 1,
      nextRestart: new Date(Date.now() + delay).toISOString(),
      problem,
    });
    // The same again and again is told once; its state shows it all the time.
    if (this.#told !== problem)
      this.#ports.said(
        "error",
        `${this.#ports.place(this.spec)}: Cannot run it: ${problem}; tried again in ${delay / 1_000} s, processes run on`,
      );
    this.#told = problem;
    this.#timer = setTimeout(() => this.#start(), delay).unref();
  }

  #become(facts: PluginFacts): void {
    this.#facts = facts;
    this.#ports.changed(this.record);
  }
}

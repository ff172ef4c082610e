/** Supervises one plugin: starts its thread, and starts it again with back-off when it has ended. */
import type { ErrorPlace } from "../base/errors.ts";
import type { Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginRecord } from "../contract/plugin-record.ts";
import type { Severity } from "../contract/records.ts";
import type { PluginSpec, PluginStart } from "../ipc/plugin-protocol.ts";
import { EventQueue } from "./event-queue.ts";
import { CHECK_MS, type PluginProblem, PluginThread } from "./plugin-thread.ts";

/** Delay after the first failure; each further failure doubles it. */
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 300_000;
/** A thread that has run for this time resets the back-off. */
const STEADY_MS = 60_000;

export type PluginSupervisorPorts = {
  readonly script: string;
  readonly start: PluginStart;
  readonly control: Control;
  readonly children: ChildrenOfPlugins;
  readonly log: (severity: Severity, text: string) => void;
  /** Location of its entry in the configuration, like `procman.json:12:7`; with a fault, that of the option. */
  readonly locate: (spec: PluginSpec, fault?: ErrorPlace) => string;
  /** Called when its record has changed. */
  readonly changed: (record: PluginRecord) => void;
  /** Saves the number of starts without a minute of uptime, for the next service if the plugin crashes this one. */
  readonly saveAttempts: (attempts: number) => void;
};

/** One thread of a plugin, by its number. */
export type PluginThreadKey = { readonly plugin: string; readonly thread: number };

/** The processes that plugins start. */
export type ChildrenOfPlugins = {
  /** By which those of this thread are found. */
  readonly variables: (key: PluginThreadKey) => Readonly<Record<string, string>>;
  /** Ends those of this thread. Resolves when they have ended. */
  readonly end: (key: PluginThreadKey) => Promise<void>;
};

type PluginFacts = Omit<PluginRecord, "id" | "url" | "lostEvents" | "memoryBytes">;

export class PluginSupervisor {
  readonly spec: PluginSpec;
  readonly #ports: PluginSupervisorPorts;
  readonly #queue = new EventQueue();
  #facts: PluginFacts = { status: "starting", restarts: 0 };
  #thread: PluginThread | undefined;
  /** Key of the present or last thread; different from those of all others, also of other services. */
  #key: PluginThreadKey | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempts: number;
  #upChecks = 0;
  #loggedProblem: string | undefined;

  /** `attempts`: as saved. */
  constructor(spec: PluginSpec, ports: PluginSupervisorPorts, attempts: number) {
    this.spec = spec;
    this.#ports = ports;
    this.#attempts = attempts;
    if (attempts === 0) this.#start();
    else this.#retryLater("procman's service has ended within a minute of its start");
  }

  get record(): PluginRecord {
    const { id, url } = this.spec;
    const memoryBytes = this.#thread?.memory;
    return {
      id,
      url,
      ...this.#facts,
      lostEvents: this.#queue.lostTotal,
      ...(memoryBytes === undefined ? {} : { memoryBytes }),
    };
  }

  offer(event: EventRecord): void {
    this.#queue.offer(event);
    this.#thread?.offer();
  }

  check(isScarce: boolean): void {
    this.#thread?.check(isScarce);
    if (this.#facts.status !== "running") return;
    this.#upChecks += 1;
    if (this.#upChecks !== STEADY_MS / CHECK_MS) return;
    this.#attempts = 0;
    this.#ports.saveAttempts(0);
    const { problem: _over, ...facts } = this.#facts;
    if (_over !== undefined) this.#update(facts);
  }

  /** `ms`: time that it has to finish. */
  async close(ms: number): Promise<void> {
    clearTimeout(this.#timer);
    this.#update({ ...this.#facts, status: "stopping" });
    await this.#thread?.close(ms);
    await this.#endChildren();
    this.#ports.saveAttempts(0);
  }

  #start(): void {
    this.#attempts += 1;
    this.#ports.saveAttempts(this.#attempts);
    const { problem, restarts } = this.#facts;
    this.#update({
      status: "starting",
      restarts,
      started: new Date().toISOString(),
      ...(problem === undefined ? {} : { problem }),
    });
    const { script, start, control, children, log } = this.#ports;
    const key = { plugin: this.spec.id, thread: Math.max(Date.now(), (this.#key?.thread ?? 0) + 1) };
    this.#key = key;
    this.#thread = new PluginThread({
      script,
      start,
      control,
      log,
      queue: this.#queue,
      variables: children.variables(key),
      endChildren: () => children.end(key),
      onUp: (name, version) => this.#onUp(name, version),
      onEnd: (why) => this.#onEnd(why),
    });
  }

  async #endChildren(): Promise<void> {
    if (this.#key !== undefined) await this.#ports.children.end(this.#key);
  }

  #onUp(name: string, version: string): void {
    this.#upChecks = 0;
    this.#update({ ...this.#facts, status: "running", name, version });
    this.#ports.log("info", `runs (${name} ${version})`);
    this.#loggedProblem = undefined;
  }

  #onEnd(problem: PluginProblem | undefined): void {
    this.#queue.lose(this.#thread?.unfinished ?? 0);
    this.#thread = undefined;
    if (problem === undefined) return;
    void this.#endChildren();
    this.#retryLater(problem.message, problem.faults);
  }

  #retryLater(message: string, faults: readonly ErrorPlace[] = []): void {
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#attempts - 1));
    const detail = faults.map((fault) => `${this.#ports.locate(this.spec, fault)}: ${fault.place} ${fault.message}`);
    const problem = [message, ...detail].join("; ");
    this.#update({
      ...this.#facts,
      status: "backoff",
      restarts: this.#facts.restarts + 1,
      nextRestart: new Date(Date.now() + delay).toISOString(),
      problem,
    });
    // A repeated problem is logged once; the record always has it.
    if (this.#loggedProblem !== problem)
      this.#ports.log(
        "error",
        `${this.#ports.locate(this.spec)}: Cannot run it: ${problem}; retrying in ${delay / 1_000} s, processes keep running`,
      );
    this.#loggedProblem = problem;
    this.#timer = setTimeout(() => this.#start(), delay).unref();
  }

  #update(facts: PluginFacts): void {
    this.#facts = facts;
    this.#ports.changed(this.record);
  }
}

/** One thread of a plugin, from its start to its end: bounded in time and memory. */
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { type ErrorPlace, ProcmanError } from "../base/errors.ts";
import type { Control } from "../contract/control.ts";
import type { Severity } from "../contract/records.ts";
import type { FromPlugin, PluginStart, ToPlugin } from "../ipc/plugin-protocol.ts";
import { locationOf } from "./error-location.ts";
import type { EventQueue } from "./event-queue.ts";

/** What its heap may be, and its buffers outside of that. Megabytes. */
export const MOST_HEAP_MB = 128;
export const MOST_BUFFERS_MB = 128;
const MB = 1_048_576;

/** Looks, 250 ms each: a machine that sleeps takes none. */
export const TICK_MS = 250;
const PING_TICKS = 4;
const SILENT_TICKS = 40;
const SETUP_TICKS = 120;
const LISTENER_TICKS = 480;

export type PluginProblem = { readonly message: string; readonly faults: readonly ErrorPlace[] };

export type PluginThreadPorts = {
  /** Path of what runs in the thread. */
  readonly script: string;
  readonly start: PluginStart;
  readonly control: Control;
  readonly backlog: EventQueue;
  readonly said: (severity: Severity, text: string) => void;
  readonly up: (name: string, version: string) => void;
  /** Its end; without a problem: it was asked for. */
  readonly over: (problem?: PluginProblem) => void;
};

export class PluginThread {
  readonly #ports: PluginThreadPorts;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  #ticks = 0;
  #isUp = false;
  #isClosing = false;
  #problem: PluginProblem | undefined;
  /** It waits for events. */
  #isIdle = false;
  /** Events that it has not dealt with yet, and for how many looks. */
  #sent = 0;
  #busyTicks = 0;
  /** Looks since the ping that is not answered yet. */
  #silentTicks: number | undefined;
  #memory: number | undefined;
  #closed: () => void = () => undefined;
  /** All that waited for it is dealt with. */
  #drained: () => void = () => undefined;
  readonly #over: Promise<void>;

  constructor(ports: PluginThreadPorts) {
    this.#ports = ports;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#worker = new Worker(ports.script, {
      workerData: { port: port2, start: ports.start },
      transferList: [port2],
      resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB, maxYoungGenerationSizeMb: 16 },
      execArgv: ["--disable-warning=ExperimentalWarning"],
      // It says what it has to say by messages, of which there are only so many.
      stdout: true,
      stderr: true,
    });
    this.#worker.unref();
    port1.on("message", (message: FromPlugin) => this.#receive(message));
    port1.unref();
    this.#worker.on("error", (error: Error) => this.#fail(whyOf(error)));
    this.#over = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        this.#onExit(code);
        resolve();
      });
    });
  }

  /** Bytes; as it said last. */
  get memory(): number | undefined {
    return this.#memory;
  }

  /** Events that went to it, and were not dealt with at its end. */
  get unfinished(): number {
    return this.#sent;
  }

  /** There may be something in the backlog. */
  offer(): void {
    const { backlog } = this.#ports;
    if (!this.#isIdle) return;
    const events = backlog.isEmpty ? [] : backlog.take();
    if (events.length === 0) return this.#drained();
    [this.#isIdle, this.#sent, this.#busyTicks] = [false, events.length, 0];
    this.#send({ t: "events", events });
  }

  /** `isScarce`: the service has become larger than all plugins together may make it. */
  tick(isScarce: boolean): void {
    this.#ticks += 1;
    if (this.#problem !== undefined) return;
    if (!this.#isUp && this.#ticks > SETUP_TICKS) return this.end(`its setup has not finished within ${(SETUP_TICKS * TICK_MS) / 1_000} s`);
    if (this.#sent > 0) this.#busyTicks += 1;
    if (this.#busyTicks > LISTENER_TICKS)
      return this.end(`a listener of its has not finished within ${(LISTENER_TICKS * TICK_MS) / 1_000} s`);
    if (this.#silentTicks !== undefined) return this.#onSilence(this.#silentTicks + 1, isScarce);
    if (this.#ticks % PING_TICKS !== 0) return;
    this.#silentTicks = 0;
    this.#send({ t: "ping" });
  }

  /** It has so long to deal with what waits, and to finish. Milliseconds. */
  async close(ms: number): Promise<void> {
    this.#isClosing = true;
    await within(
      ms,
      Promise.race([this.#drain(), this.#over]).then(() => Promise.race([this.#finish(), this.#over])),
    );
    void this.#worker.terminate();
    // One that is in the middle of a call that blocks, as `execSync`, can't be ended before that.
    await within(1_000, this.#over);
  }

  async #drain(): Promise<void> {
    if (!this.#isUp || (this.#isIdle && this.#ports.backlog.isEmpty)) return;
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
    });
  }

  #finish(): Promise<void> {
    this.#send({ t: "close" });
    return new Promise((resolve) => {
      this.#closed = resolve;
    });
  }

  end(message: string, faults: readonly ErrorPlace[] = []): void {
    this.#fail(message, faults);
    void this.#worker.terminate();
  }

  #onSilence(ticks: number, isScarce: boolean): void {
    this.#silentTicks = ticks;
    if (isScarce && ticks > 1) return this.end(`it takes more memory than it may have (${MOST_HEAP_MB + MOST_BUFFERS_MB} MB)`);
    if (ticks > SILENT_TICKS)
      this.end(`it has not answered for ${(SILENT_TICKS * TICK_MS) / 1_000} s: it hangs, or computes without a pause`);
  }

  #receive(message: FromPlugin): void {
    switch (message.t) {
      case "up":
        this.#isUp = true;
        return this.#ports.up(message.name, message.version);
      case "refused":
        return this.end(message.message, message.faults);
      case "log":
        return this.#ports.said(message.severity, message.text);
      case "listen":
        return this.#ports.backlog.want(message.types);
      case "more":
        [this.#isIdle, this.#sent, this.#busyTicks] = [true, 0, 0];
        return this.offer();
      case "ask":
        return void this.#answer(message);
      case "pong":
        return this.#onPong(message);
      case "closed":
        return this.#closed();
      default:
        return message satisfies never;
    }
  }

  #onPong({ heap, buffers }: FromPlugin & { readonly t: "pong" }): void {
    this.#silentTicks = undefined;
    this.#memory = heap + buffers;
    if (buffers > MOST_BUFFERS_MB * MB)
      this.end(
        `its buffers take ${Math.round(buffers / MB)} MB, and may take ${MOST_BUFFERS_MB}; it must let go of what it has dealt with`,
      );
  }

  async #answer({ number, method, args }: FromPlugin & { readonly t: "ask" }): Promise<void> {
    const asked = this.#ports.control[method] as (...args: unknown[]) => Promise<unknown>;
    try {
      this.#send({ t: "answer", number, value: await asked.apply(this.#ports.control, [...args]) });
    } catch (error) {
      const code = error instanceof ProcmanError ? { code: error.code } : {};
      this.#send({ t: "answer", number, error: { ...code, message: (error as Error).message } });
    }
  }

  #send(message: ToPlugin): void {
    this.#port.postMessage(message);
  }

  /** The first reason counts. */
  #fail(message: string, faults: readonly ErrorPlace[] = []): void {
    this.#problem ??= { message, faults };
  }

  #onExit(code: number): void {
    this.#port.close();
    if (this.#isClosing) return this.#ports.over();
    this.#ports.over(this.#problem ?? { message: `it has ended its thread itself (process.exit(${code}))`, faults: [] });
  }
}

function whyOf(error: Error & { readonly code?: string }): string {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return `its heap needs more than ${MOST_HEAP_MB} MB`;
  return error instanceof Error ? `it has thrown ${error.message}${locationOf(error)}` : `it has thrown ${String(error)}`;
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/** One thread of a plugin, from its start to its end, with limits on time and memory. */
import { MessageChannel, type MessagePort, Worker } from "node:worker_threads";
import { type ErrorPlace, ProcmanError } from "../base/errors.ts";
import type { Control } from "../contract/control.ts";
import type { Severity } from "../contract/records.ts";
import type { FromPlugin, PluginStart, ToPlugin } from "../ipc/plugin-protocol.ts";
import { startFolder } from "../os/start-folder.ts";
import { locationOf } from "./error-location.ts";
import type { EventQueue } from "./event-queue.ts";

/** Limits of its heap, and of its buffers outside of the heap. */
export const MAX_HEAP_MB = 128;
export const MAX_BUFFERS_MB = 128;
const MB = 1_048_576;

/** Time limits are counted in checks: while the machine sleeps there are none. */
export const CHECK_MS = 250;
const PING_CHECKS = 4;
const SILENT_CHECKS = 40;
const SETUP_CHECKS = 120;
const LISTENER_CHECKS = 480;
/** Longest wait for the end of the processes that a plugin has started. Milliseconds. */
const CHILDREN_MS = 2_000;

export type PluginProblem = { readonly message: string; readonly faults: readonly ErrorPlace[] };

export type PluginThreadPorts = {
  /** Path of the program of the thread. */
  readonly script: string;
  readonly start: PluginStart;
  /** Added to the environment of the service, which the thread and the processes that it starts get. */
  readonly variables: Readonly<Record<string, string>>;
  readonly control: Control;
  readonly queue: EventQueue;
  readonly log: (severity: Severity, text: string) => void;
  /** Ends the processes that the thread has started. While the thread is there, it awaits them; later they would stay zombies. */
  readonly endChildren: () => Promise<void>;
  readonly onUp: (name: string, version: string) => void;
  /** The thread has ended; without a problem if `close` was called. */
  readonly onEnd: (problem?: PluginProblem) => void;
};

export class PluginThread {
  readonly #ports: PluginThreadPorts;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  #checks = 0;
  #isUp = false;
  #isClosing = false;
  #problem: PluginProblem | undefined;
  /** The plugin is ready for events. */
  #isIdle = false;
  /** Events that it has not handled yet, and for how many checks. */
  #unfinished = 0;
  #busyChecks = 0;
  /** Checks since a ping that is not answered yet. */
  #silentChecks: number | undefined;
  #memory: number | undefined;
  #onClosed: () => void = () => undefined;
  /** Called when the queue is empty and all events are handled. */
  #onDrained: () => void = () => undefined;
  readonly #ended: Promise<void>;

  constructor(ports: PluginThreadPorts) {
    this.#ports = ports;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#worker = new Worker(ports.script, {
      workerData: { port: port2, start: ports.start },
      transferList: [port2],
      // The thread can't leave the folder of the service, which is none of the user.
      env: { ...process.env, ...ports.variables, PWD: startFolder() },
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB, maxYoungGenerationSizeMb: 16 },
      execArgv: ["--disable-warning=ExperimentalWarning"],
      // The thread sends its output as messages, which are limited.
      stdout: true,
      stderr: true,
    });
    this.#worker.unref();
    port1.on("message", (message: FromPlugin) => this.#receive(message));
    port1.unref();
    this.#worker.on("error", (error: Error) => this.#fail(reasonOf(error)));
    this.#ended = new Promise((resolve) => {
      this.#worker.once("exit", (code) => {
        this.#onExit(code);
        resolve();
      });
    });
  }

  /** Bytes, by its last pong. */
  get memory(): number | undefined {
    return this.#memory;
  }

  /** Number of events sent to it and not handled yet. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** Call when there may be something in the queue. */
  offer(): void {
    const { queue } = this.#ports;
    if (!this.#isIdle) return;
    const events = queue.isEmpty ? [] : queue.take();
    if (events.length === 0) return this.#onDrained();
    this.#isIdle = false;
    this.#unfinished = events.length;
    this.#busyChecks = 0;
    this.#send({ t: "events", events });
  }

  /** `isScarce`: the service uses more memory than all its plugins may account for. */
  check(isScarce: boolean): void {
    this.#checks += 1;
    if (this.#problem !== undefined) return;
    if (!this.#isUp && this.#checks > SETUP_CHECKS)
      return this.end(`its setup has not finished within ${(SETUP_CHECKS * CHECK_MS) / 1_000} s`);
    if (this.#unfinished > 0) this.#busyChecks += 1;
    if (this.#busyChecks > LISTENER_CHECKS)
      return this.end(`one of its listeners has not finished within ${(LISTENER_CHECKS * CHECK_MS) / 1_000} s`);
    if (this.#silentChecks !== undefined) return this.#onSilence(this.#silentChecks + 1, isScarce);
    if (this.#checks % PING_CHECKS !== 0) return;
    this.#silentChecks = 0;
    this.#send({ t: "ping" });
  }

  /** `ms`: time that it has to handle queued events and to finish. */
  async close(ms: number): Promise<void> {
    this.#isClosing = true;
    await within(
      ms,
      Promise.race([this.#drain(), this.#ended]).then(() => Promise.race([this.#finish(), this.#ended])),
    );
    await within(CHILDREN_MS, this.#ports.endChildren());
    void this.#worker.terminate();
    // A thread in a blocking call such as `execSync` can't be terminated before it returns.
    await within(1_000, this.#ended);
  }

  async #drain(): Promise<void> {
    if (!this.#isUp || (this.#isIdle && this.#ports.queue.isEmpty)) return;
    await new Promise<void>((resolve) => {
      this.#onDrained = resolve;
    });
  }

  #finish(): Promise<void> {
    this.#send({ t: "close" });
    return new Promise((resolve) => {
      this.#onClosed = resolve;
    });
  }

  end(message: string, faults: readonly ErrorPlace[] = []): void {
    if (this.#problem !== undefined) return;
    this.#fail(message, faults);
    void within(CHILDREN_MS, this.#ports.endChildren()).then(() => this.#worker.terminate());
  }

  /** Ends a thread that hangs or takes too much memory, without waiting for anything. */
  #endNow(message: string): void {
    this.#fail(message);
    void this.#worker.terminate();
  }

  #onSilence(checks: number, isScarce: boolean): void {
    this.#silentChecks = checks;
    if (isScarce && checks > 1)
      return this.#endNow(`it uses more than its ${MAX_HEAP_MB + MAX_BUFFERS_MB} MB of memory`);
    if (checks > SILENT_CHECKS)
      this.#endNow(`it has not answered for ${(SILENT_CHECKS * CHECK_MS) / 1_000} s: it hangs, or blocks its thread`);
  }

  #receive(message: FromPlugin): void {
    switch (message.t) {
      case "up":
        this.#isUp = true;
        this.#ports.queue.open();
        return this.#ports.onUp(message.name, message.version);
      case "refused":
        return this.end(message.message, message.faults);
      case "log":
        return this.#ports.log(message.severity, message.text);
      case "listen":
        return this.#ports.queue.subscribe(message.types);
      case "more":
        {
          this.#isIdle = true;
          this.#unfinished = 0;
          this.#busyChecks = 0;
        }
        return this.offer();
      case "ask":
        return void this.#answer(message);
      case "pong":
        return this.#onPong(message);
      case "closed":
        return this.#onClosed();
      default:
        return message satisfies never;
    }
  }

  #onPong({ heap, buffers }: FromPlugin & { readonly t: "pong" }): void {
    this.#silentChecks = undefined;
    this.#memory = heap + buffers;
    if (buffers > MAX_BUFFERS_MB * MB)
      this.#endNow(
        `its buffers use ${Math.round(buffers / MB)} MB, more than ${MAX_BUFFERS_MB}; it must release what it has handled`,
      );
  }

  async #answer({ number, method, args }: FromPlugin & { readonly t: "ask" }): Promise<void> {
    const call = this.#ports.control[method] as (...args: unknown[]) => Promise<unknown>;
    try {
      this.#send({ t: "answer", number, value: await call.apply(this.#ports.control, [...args]) });
    } catch (error) {
      const own = error instanceof ProcmanError ? { code: error.code, taken: error.taken } : {};
      this.#send({ t: "answer", number, error: { ...own, message: (error as Error).message } });
    }
  }

  #send(message: ToPlugin): void {
    this.#port.postMessage(message);
  }

  /** Only the first problem is kept. */
  #fail(message: string, faults: readonly ErrorPlace[] = []): void {
    this.#problem ??= { message, faults };
  }

  #onExit(code: number): void {
    this.#port.close();
    if (this.#isClosing) return this.#ports.onEnd();
    this.#ports.onEnd(
      this.#problem ?? { message: `it has ended its thread itself (process.exit(${code}))`, faults: [] },
    );
  }
}

function reasonOf(error: Error & { readonly code?: string }): string {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return `its heap needs more than ${MAX_HEAP_MB} MB`;
  return error instanceof Error ? `it threw ${error.message}${locationOf(error)}` : `it threw ${String(error)}`;
}

async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}

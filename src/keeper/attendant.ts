/** A process of procman's own that the keeper starts, and starts again when it ends. */
import { type ChildProcess, spawn } from "node:child_process";

/** Delays of the starts after an end, in milliseconds; the last one goes on. A life of `STABLE_MS` begins anew. */
const DELAYS_MS = [0, 50, 100, 200, 400, 800, 1_600, 3_200, 5_000];
const STABLE_MS = 10_000;

export type AttendantOptions<Message> = {
  readonly argv: readonly string[];
  /** How often in a row it is started again before it stays down. */
  readonly limit: number;
  readonly onStart: (starts: number, pid: number) => void;
  readonly onMessages: (messages: readonly Message[]) => void;
  /** `final`: it stays down. */
  readonly onExit: (how: { readonly code: number | null; readonly signal: string | null; readonly final: boolean }) => void;
};

export class Attendant<ToIt, FromIt> {
  readonly #options: AttendantOptions<FromIt>;
  #process: ChildProcess | undefined;
  #outbox: ToIt[] = [];
  #flushing = false;
  #failures = 0;
  #starts = 0;
  #startedAt = 0;
  #wanted = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AttendantOptions<FromIt>) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Its end has not been seen yet. */
  get exists(): boolean {
    return this.#process !== undefined;
  }

  get isUp(): boolean {
    return this.#process?.connected ?? false;
  }

  start(): void {
    const [program, ...args] = this.#options.argv;
    // An `--inspect` meant for an app must not reach procman; certificates for TLS would cost 30 ms of each start.
    const { NODE_OPTIONS: _options, NODE_EXTRA_CA_CERTS: _certificates, ...env } = process.env;
    const child = spawn(program ?? "", args, { stdio: ["ignore", "inherit", "inherit", "ipc"], detached: true, env });
    this.#process = child;
    this.#startedAt = performance.now();
    this.#starts += 1;
    child.on("message", (messages) => this.#options.onMessages(messages as FromIt[]));
    child.once("error", (error) => this.#ended(child, { code: null, signal: (error as NodeJS.ErrnoException).code ?? "error" }));
    child.once("exit", (code, signal) => this.#ended(child, { code, signal }));
    if (child.pid !== undefined) this.#options.onStart(this.#starts, child.pid);
    this.flush();
  }

  /** All messages of one turn travel as one array. They wait for its first start; while it is down later they are dropped, as its next start gets a fresh account. */
  send(message: ToIt): void {
    if (!this.isUp && this.#starts > 0) return;
    this.#outbox.push(message);
    if (this.#flushing || this.#starts === 0) return;
    this.#flushing = true;
    setImmediate(() => this.flush());
  }

  flush(): void {
    this.#flushing = false;
    const messages = this.#outbox;
    this.#outbox = [];
    // A channel that breaks in this moment shows by its `exit`, and whatever was in it is told to the next one.
    if (messages.length > 0 && this.isUp) this.#process?.send(messages, () => undefined);
  }

  /** It isn't started again. */
  retire(): void {
    this.#wanted = false;
    clearTimeout(this.#timer);
  }

  kill(): void {
    this.retire();
    this.#process?.kill("SIGKILL");
  }

  #ended(child: ChildProcess, how: { readonly code: number | null; readonly signal: string | null }): void {
    if (this.#process !== child) return;
    this.#process = undefined;
    this.#outbox = [];
    if (performance.now() - this.#startedAt > STABLE_MS) this.#failures = 0;
    const final = !this.#wanted || this.#failures >= this.#options.limit;
    this.#options.onExit({ ...how, final });
    if (final || !this.#wanted) return;
    const delay = DELAYS_MS[Math.min(this.#failures, DELAYS_MS.length - 1)] ?? 0;
    this.#failures += 1;
    this.#timer = setTimeout(() => this.start(), delay);
  }
}

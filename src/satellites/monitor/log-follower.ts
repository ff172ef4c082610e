/** Follows the log of the process that is selected, or of all, and continues where it was after a loss of the connection. */
import { ProcmanError } from "../../core/base/errors.ts";
import type { Control } from "../../core/contract/control.ts";
import type { LogItem } from "../../core/contract/records.ts";
import { KEPT_LINES } from "./log-lines.ts";
import { ALL, type MonitorInput } from "./monitor-model.ts";

/** While the selection moves, nothing is asked for. Milliseconds. */
const SETTLE_MS = 100;
/** Lines are passed on together. Milliseconds. */
const BATCH_MS = 40;

type FollowerPorts = {
  readonly dispatch: (input: MonitorInput) => void;
  /** Why there are no logs. */
  readonly problem: () => string | undefined;
};

export class LogFollower {
  readonly #ports: FollowerPorts;
  #id: string | undefined;
  #cursor: string | undefined;
  #stop = new AbortController();
  #settling: NodeJS.Timeout | undefined;
  #batch: LogItem[] = [];
  #flushing: NodeJS.Timeout | undefined;

  constructor(ports: FollowerPorts) {
    this.#ports = ports;
  }

  /** `control` absent: it begins when there is a connection. */
  follow(id: string | undefined, control: Control | undefined): void {
    if (id === this.#id) return;
    this.close();
    this.#id = id;
    this.#cursor = undefined;
    if (id === undefined) return;
    this.#ports.dispatch({ type: "log-begin", id });
    if (control !== undefined) this.#settling = setTimeout(() => this.connected(control), SETTLE_MS);
  }

  /** There is a new connection. */
  connected(control: Control): void {
    this.close();
    const id = this.#id;
    if (id === undefined) return;
    const problem = this.#ports.problem();
    this.#stop = new AbortController();
    if (problem !== undefined) this.#ports.dispatch({ type: "log-problem", id, problem });
    else void this.#read(control, id, this.#stop.signal);
  }

  close(): void {
    this.#stop.abort();
    clearTimeout(this.#settling);
    clearTimeout(this.#flushing);
    this.#flushing = undefined;
    this.#batch = [];
  }

  async #read(control: Control, id: string, signal: AbortSignal): Promise<void> {
    const from = this.#cursor === undefined ? { limit: KEPT_LINES } : { cursor: this.#cursor };
    try {
      for await (const item of control.follow({ processes: id === ALL ? [] : [id], ...from }, signal)) {
        if (signal.aborted) return;
        this.#batch.push(item);
        this.#flushing ??= setTimeout(() => this.#flush(id), BATCH_MS);
      }
    } catch (error) {
      // A lost connection is said once, and comes back.
      const isOwn = error instanceof ProcmanError && error.code !== "service-down" && error.code !== "no-daemon";
      if (isOwn && !signal.aborted) this.#ports.dispatch({ type: "log-problem", id, problem: error.message });
    }
  }

  #flush(id: string): void {
    const items = this.#batch;
    this.#flushing = undefined;
    this.#batch = [];
    this.#cursor = items.at(-1)?.cursor;
    this.#ports.dispatch({ type: "log", id, items });
  }
}

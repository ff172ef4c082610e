/** Instances that run and don't listen where the load balancer looks for them: said once for each run, with the port on which they do. */
import { portsOf } from "../../os/port-owner.ts";
import { type LogLine, warn } from "../reporting/lifecycle-messages.ts";

/** An instance may take so long to listen before its silence is told. Milliseconds. */
export const UNREACHABLE_AFTER_MS = 5_000;

/** It runs, and gets no connections on its port. */
export type UnreachableInstance = { readonly id: string; readonly pid: number; readonly port: number };

type ObservedSocket = { readonly pid: number; readonly at: number; text?: string };

export class UnreachableInstances {
  readonly #find: () => readonly UnreachableInstance[];
  readonly #write: (id: string, line: LogLine) => void;
  readonly #observed = new Map<string, ObservedSocket>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(find: () => readonly UnreachableInstance[], write: (id: string, line: LogLine) => void) {
    this.#find = find;
    this.#write = write;
  }

  /** Somebody may have come up, or ceased to accept. */
  check(): void {
    if (this.#isStopped) return;
    const now = performance.now();
    const unreachable = this.#find();
    const ids = new Set(unreachable.map(({ id }) => id));
    for (const id of this.#observed.keys()) if (!ids.has(id)) this.#observed.delete(id);
    for (const { id, pid, port } of unreachable) {
      const known = this.#observed.get(id);
      if (known?.pid !== pid) this.#observed.set(id, { pid, at: now });
      else if (known.text === undefined && now - known.at >= UNREACHABLE_AFTER_MS) this.#report(id, known, port);
    }
    this.#arm(now);
  }

  /** What is wrong with this one; undefined: nothing, as far as is known. */
  of(id: string): string | undefined {
    return this.#observed.get(id)?.text;
  }

  /** Everything ends, or another service tells from now on. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #report(id: string, socket: ObservedSocket, port: number): void {
    const ports = portsOf(socket.pid);
    const others = ports.length === 0 ? "" : `; it listens on ${ports.join(", ")}`;
    socket.text = `accepts no connections on its port 127.0.0.1:${port} (PROCMAN_CLUSTER_PORT)${others}`;
    this.#write(id, warn(`runs, but ${socket.text}`));
  }

  #arm(now: number): void {
    clearTimeout(this.#timer);
    const unreported = [...this.#observed.values()].filter(({ text }) => text === undefined);
    if (unreported.length === 0) return;
    const next = Math.min(...unreported.map(({ at }) => at)) + UNREACHABLE_AFTER_MS - now;
    this.#timer = setTimeout(() => this.check(), Math.max(next, 1));
    this.#timer.unref();
  }
}

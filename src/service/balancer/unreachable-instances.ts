/** Instances that run but don't accept connections on their port: logged once for each run, with the ports they listen on. */
import { listensOn } from "../../os/port-owner.ts";
import { type LogLine, warn } from "../reporting/lifecycle-messages.ts";

/** Time that an instance may take to listen before it is logged. Milliseconds. */
export const UNREACHABLE_AFTER_MS = 5_000;

/** A running instance that accepts no connections on its port. */
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

  /** Called when an instance has come up or no longer accepts. */
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

  /** The problem of this instance; undefined: none is known. */
  of(id: string): string | undefined {
    return this.#observed.get(id)?.text;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #report(id: string, socket: ObservedSocket, port: number): void {
    const ports = listensOn(socket.pid);
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

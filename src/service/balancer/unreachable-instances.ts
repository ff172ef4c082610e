/** Instances that run but don't accept connections on their port or from their shared socket: logged once for each run, with the ports they listen on. */
import { listensOn } from "../../os/port-owner.ts";
import { type LogLine, warn } from "../reporting/lifecycle-messages.ts";

/** Time that an instance may take to listen before it is logged. Milliseconds. */
export const UNREACHABLE_AFTER_MS = 5_000;

/** How often an instance is asked again that accepted nothing from its shared socket. The balancer reports by itself. Milliseconds. */
const RECHECK_MS = 1_000;

/** A running instance that accepts no connections on its port, or may accept none from the shared socket. */
export type UnreachableInstance = {
  readonly id: string;
  readonly pid: number;
  /** That of the shared socket, if there is one. */
  readonly port: number;
  readonly shared?: { readonly address: string; readonly accepts: () => boolean };
};

/** `accepts`: it was seen to accept from the shared socket, and is not asked again. */
type ObservedSocket = { readonly pid: number; readonly at: number; text?: string; accepts?: true; isShared?: true };

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
    for (const instance of unreachable) {
      const known = this.#observed.get(instance.id);
      if (known?.pid !== instance.pid) this.#observed.set(instance.id, { pid: instance.pid, at: now });
      else if (known.accepts !== true && now - known.at >= UNREACHABLE_AFTER_MS) this.#examine(known, instance);
    }
    this.#arm(now);
  }

  /** The problem of this instance; undefined: none is known. */
  of(id: string): string | undefined {
    return this.#observed.get(id)?.text;
  }

  /** Whether the run was seen to accept from its shared socket. */
  hasAccepted(id: string): boolean {
    return this.#observed.get(id)?.accepts === true;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #examine(known: ObservedSocket, { id, pid, port, shared }: UnreachableInstance): void {
    if (shared?.accepts() === true) {
      known.accepts = true;
      delete known.text;
      return;
    }
    if (known.text !== undefined) return;
    const ports = listensOn(pid).filter((each) => shared === undefined || each !== String(port));
    const others = ports.length === 0 ? "" : `; it listens on ${ports.join(", ")}`;
    if (shared !== undefined) known.isShared = true;
    known.text =
      shared === undefined
        ? `accepts no connections on its port 127.0.0.1:${port} (PROCMAN_CLUSTER_PORT)${others}`
        : `accepts no connections from the shared socket ${shared.address} (descriptor 3)${others}`;
    this.#write(id, warn(`runs, but ${known.text}`));
  }

  #arm(now: number): void {
    clearTimeout(this.#timer);
    const times = [...this.#observed.values()].flatMap(({ at, text, accepts, isShared }) => {
      if (text === undefined) return accepts === true ? [] : [at + UNREACHABLE_AFTER_MS];
      return isShared === true ? [now + RECHECK_MS] : [];
    });
    if (times.length === 0) return;
    const next = Math.min(...times) - now;
    this.#timer = setTimeout(() => this.check(), Math.max(next, 1));
    this.#timer.unref();
  }
}

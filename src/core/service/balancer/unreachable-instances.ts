/** Instances that run but don't accept connections on their port or from their shared socket: logged once for each run, with the ports they listen on. */
import { PORT_OF_INSTANCE } from "../../config/cluster-variables.ts";
import { listensOn } from "../../os/port-owner.ts";
import { type LogLine, warn } from "../log-line.ts";

/** Time that an instance may take to listen before it is logged. Milliseconds. */
export const UNREACHABLE_AFTER_MS = 5_000;

/** How often an instance is looked at that has accepted nothing from its shared socket, before and after that was logged. The balancer reports by itself. Milliseconds. */
const LOOK_MS = 200;
const RECHECK_MS = 1_000;

/** A running instance that accepts no connections on its port, or may accept none from the shared socket. */
export type UnreachableInstance = {
  readonly id: string;
  readonly pid: number;
  /** That of the shared socket, if there is one. */
  readonly port: number;
  /** In which it finds that port. Default: PROCMAN_CLUSTER_PORT. */
  readonly variable?: string;
  readonly shared?: {
    readonly address: string;
    /** undefined: unknown. */
    readonly accepts: () => boolean | undefined;
  };
};

/** `lookAt`: when it is looked at next, if it has a shared socket. `accepts`: it was seen to accept from that, and is not looked at again. */
type ObservedSocket = { readonly pid: number; readonly at: number; lookAt: number; text?: string; accepts?: true };

export class UnreachableInstances {
  readonly #find: () => readonly UnreachableInstance[];
  readonly #write: (id: string, line: LogLine) => void;
  readonly #onAccepts: () => void;
  readonly #observed = new Map<string, ObservedSocket>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    find: () => readonly UnreachableInstance[],
    write: (id: string, line: LogLine) => void,
    onAccepts: () => void,
  ) {
    this.#find = find;
    this.#write = write;
    this.#onAccepts = onAccepts;
  }

  /** Called when an instance has come up or no longer accepts. */
  check(): void {
    if (this.#isStopped) return;
    const now = performance.now();
    const unreachable = this.#find();
    const ids = new Set(unreachable.map(({ id }) => id));
    for (const id of this.#observed.keys()) if (!ids.has(id)) this.#observed.delete(id);
    for (const instance of unreachable) {
      const before = this.#observed.get(instance.id);
      const known = before?.pid === instance.pid ? before : { pid: instance.pid, at: now, lookAt: now };
      this.#observed.set(instance.id, known);
      if (known.accepts !== true && instance.shared !== undefined && now >= known.lookAt)
        this.#look(known, instance.shared, now);
      if (known.accepts !== true && known.text === undefined && now - known.at >= UNREACHABLE_AFTER_MS)
        this.#examine(known, instance);
    }
    this.#arm(now, unreachable);
  }

  /** The problem of this instance; undefined: none is known. */
  of(id: string): string | undefined {
    return this.#observed.get(id)?.text;
  }

  /** Whether the run was seen to accept from its shared socket. */
  hasAccepted(id: string, pid: number): boolean {
    const known = this.#observed.get(id);
    return known?.pid === pid && known.accepts === true;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Where it can't be told, the run counts as accepting after some time. */
  #look(known: ObservedSocket, { accepts }: NonNullable<UnreachableInstance["shared"]>, now: number): void {
    known.lookAt = now + (known.text === undefined ? LOOK_MS : RECHECK_MS);
    if (!(accepts() ?? now - known.at >= UNREACHABLE_AFTER_MS)) return;
    known.accepts = true;
    delete known.text;
    this.#onAccepts();
  }

  #examine(known: ObservedSocket, { id, pid, port, variable = PORT_OF_INSTANCE, shared }: UnreachableInstance): void {
    const ports = listensOn(pid).filter((each) => shared === undefined || each !== String(port));
    const others = ports.length === 0 ? "" : `; it listens on ${ports.join(", ")}`;
    known.text =
      shared === undefined
        ? `accepts no connections on its port 127.0.0.1:${port} (${variable})${others}`
        : `accepts no connections from the shared socket ${shared.address} (descriptor 3)${others}`;
    this.#write(id, warn(`runs, but ${known.text}`));
  }

  #arm(now: number, instances: readonly UnreachableInstance[]): void {
    clearTimeout(this.#timer);
    const times = instances.flatMap(({ id, shared }) => {
      const known = this.#observed.get(id);
      if (known === undefined || known.accepts === true) return [];
      if (shared !== undefined) return [known.lookAt];
      return known.text === undefined ? [known.at + UNREACHABLE_AFTER_MS] : [];
    });
    if (times.length === 0) return;
    const next = Math.min(...times) - now;
    this.#timer = setTimeout(() => this.check(), Math.max(next, 1));
    this.#timer.unref();
  }
}

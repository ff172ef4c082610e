/** Clients that wait on a shared socket from which no instance accepts: after a while they are turned away, as by the load balancer. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Listening } from "../../ipc/keeper-protocol.ts";
import { NO_DEBUGGER } from "../../os/no-debugger.ts";

/** As long as the load balancer lets clients wait. Milliseconds. */
export const STRANDED_AFTER_MS = 10_000;
const CHECK_MS = 1_000;

/** In a build. */
const TURN_AWAY = join(import.meta.dirname, "turn-away.cjs");

export type StrandedClientsPorts = {
  /** Shared sockets from which no instance accepts. */
  readonly idle: () => readonly Listening[];
  /** Clients that wait there. */
  readonly queued: (socket: Listening) => number;
  /** `isFirst`: since an instance accepted there. */
  readonly turnAway: (socket: Listening, isFirst: boolean) => void;
};

export class StrandedClients {
  readonly #ports: StrandedClientsPorts;
  /** When somebody was first seen waiting without a break, and whether clients were turned away already. By port. */
  readonly #observed = new Map<number, { since: number | undefined; isKnown: boolean }>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(ports: StrandedClientsPorts) {
    this.#ports = ports;
  }

  /** Called when an instance was found not to accept. */
  check(): void {
    if (this.#isStopped) return;
    const now = performance.now();
    const idle = this.#ports.idle();
    const ports = new Set(idle.map(({ port }) => port));
    for (const port of this.#observed.keys()) if (!ports.has(port)) this.#observed.delete(port);
    for (const socket of idle) {
      const known = this.#observed.get(socket.port) ?? { since: undefined, isKnown: false };
      this.#observed.set(socket.port, known);
      known.since = this.#ports.queued(socket) === 0 ? undefined : (known.since ?? now);
      if (known.since === undefined || now - known.since < STRANDED_AFTER_MS) continue;
      this.#ports.turnAway(socket, !known.isKnown);
      Object.assign(known, { since: undefined, isKnown: true });
    }
    clearTimeout(this.#timer);
    if (idle.length > 0) this.#timer = setTimeout(() => this.check(), CHECK_MS).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}

/** Starts the helper that accepts what waits on this listening socket, and closes it. */
export function startTurningAway(fd: number, report: (problem: string) => void): void {
  const helper = spawn(process.execPath, [NO_DEBUGGER, TURN_AWAY], {
    stdio: ["ignore", "ignore", "inherit", fd],
    env: {},
  });
  helper.on("error", ({ message }) => report(message));
}

/** How everything ends: in order by the service, by the keeper itself when the service can't answer, at once when asked twice. */
import { setTimeout as sleep } from "node:timers/promises";
import type { FromKeeper, ToKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import type { BalancerProcessKeeper } from "./balancer-process.ts";
import type { RestartingProcess } from "./internal-process.ts";
import type { KeeperState } from "./keeper-state.ts";

/** The service has this long to say that it stops everything. Milliseconds. */
const ANSWER_MS = 2_000;
/** Without a service: from SIGTERM to SIGKILL. Milliseconds. */
const TERMINATE_MS = 30_000;
/** The logger has this long to write what is left. Milliseconds. */
const CLOSE_MS = 5_000;
/** What SIGKILL doesn't end hangs in the kernel, and is waited for no longer than this. Milliseconds. */
const HOPELESS_MS = 5_000;
const LOOK_MS = 50;
/** Service and logger have ended, or have this long to. Milliseconds. */
const GONE_MS = 1_000;
const GONE_LOOK_MS = 5;

export type ShutdownEvents = {
  readonly service: RestartingProcess<FromKeeper, ToKeeper>;
  readonly logger: RestartingProcess<ToLogger, FromLogger>;
  readonly balancer: BalancerProcessKeeper;
  readonly state: () => KeeperState | undefined;
  /** Exit code when it doesn't end in order. */
  readonly cutShort: number;
};

export class KeeperShutdown {
  readonly #ended: ShutdownEvents;
  #phase: "none" | "asked" | "answered" | "finishing" = "none";
  #timer: NodeJS.Timeout | undefined;
  #closed: () => void = () => undefined;

  constructor(ended: ShutdownEvents) {
    this.#ended = ended;
  }

  get isUnderWay(): boolean {
    return this.#phase !== "none";
  }

  /** SIGTERM or SIGINT came. A second one kills. */
  ask(signal: string): void {
    if (this.#phase === "finishing") return this.#ended.state()?.signalAll("SIGKILL");
    if (this.#phase !== "none") return this.#kill();
    if (!this.#ended.service.isUp) return this.#alone();
    this.#phase = "asked";
    this.#ended.service.send({ t: "stop", signal });
    this.#timer = setTimeout(() => this.#alone(), ANSWER_MS);
  }

  answered(): void {
    if (this.#phase !== "asked") return;
    this.#phase = "answered";
    clearTimeout(this.#timer);
  }

  /** Whether the end is under way, so that the service needn't be started again. */
  serviceExited(): boolean {
    if (this.#phase === "asked" || this.#phase === "answered") this.#alone();
    return this.#phase !== "none";
  }

  loggerClosed(): void {
    this.#closed();
  }

  /** Nobody is left, or shall be left: then the logger writes what is left, and all is over. */
  async finish(code: number): Promise<void> {
    if (this.#phase === "finishing") return;
    this.#phase = "finishing";
    clearTimeout(this.#timer);
    this.#ended.service.kill();
    await this.#clear();
    await this.#ended.balancer.end();
    await this.#closeLogger();
    await this.#awaitOwn();
    this.#ended.state()?.remove();
    process.exit(code);
  }

  /** Whoever still runs, or left its run behind: SIGTERM, and after 30 s SIGKILL. */
  async #clear(): Promise<void> {
    const state = this.#ended.state();
    if (state === undefined || state.isEmpty) return;
    state.signalAll("SIGTERM");
    const start = performance.now();
    for (let isKilled = false; !state.isEmpty; await sleep(LOOK_MS)) {
      const waited = performance.now() - start;
      if (waited > TERMINATE_MS && !isKilled) state.signalAll("SIGKILL");
      isKilled ||= waited > TERMINATE_MS;
      if (waited > TERMINATE_MS + HOPELESS_MS) return;
    }
  }

  /** Whoever doesn't await its children leaves zombies where PID 1 doesn't either, as in many containers. */
  async #awaitOwn(): Promise<void> {
    const { service, logger } = this.#ended;
    const late = performance.now() + GONE_MS;
    while ((service.exists || logger.exists) && performance.now() < late) await sleep(GONE_LOOK_MS);
  }

  async #closeLogger(): Promise<void> {
    const { logger } = this.#ended;
    logger.retire();
    if (!logger.isUp) return;
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
    logger.send({ t: "close" });
    const late = setTimeout(() => this.#closed(), CLOSE_MS);
    await closed;
    clearTimeout(late);
  }

  /** The service can't. */
  #alone(): void {
    process.stderr.write("procman: the service does not answer; everything is stopped without it\n");
    this.#ended.service.kill();
    void this.finish(this.#ended.cutShort);
  }

  #kill(): void {
    this.#ended.service.kill();
    this.#ended.state()?.signalAll("SIGKILL");
    void this.finish(this.#ended.cutShort);
  }
}

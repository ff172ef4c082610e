/** The shutdown of procman: in order by the service; by the keeper if the service doesn't answer; at once if asked twice. */
import { setTimeout as sleep } from "node:timers/promises";
import type { FromKeeper, ToKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import type { BalancerProcessKeeper } from "./balancer-process.ts";
import type { Channel } from "./channel.ts";
import type { KeeperState } from "./keeper-state.ts";
import { warn } from "./log.ts";

/** The service has this long to confirm the stop. Milliseconds. */
const ANSWER_MS = 2_000;
/** Time from SIGTERM to SIGKILL without a service. Milliseconds. */
const TERMINATE_MS = 30_000;
/** The logger has this long to write the rest. Milliseconds. */
const CLOSE_MS = 5_000;
/** A process that SIGKILL doesn't end hangs in the kernel; it is awaited no longer than this. Milliseconds. */
const UNKILLABLE_MS = 5_000;
const POLL_MS = 50;
/** Service and logger have this long to end. Milliseconds. */
const GONE_MS = 1_000;
const GONE_POLL_MS = 5;

export type ShutdownOptions = {
  readonly service: Channel<FromKeeper, ToKeeper>;
  readonly logger: Channel<ToLogger, FromLogger>;
  readonly balancer: BalancerProcessKeeper;
  readonly state: () => KeeperState | undefined;
  /** Exit code of a shutdown without the service. */
  readonly unorderlyCode: number;
};

export class KeeperShutdown {
  readonly #options: ShutdownOptions;
  #phase: "none" | "asked" | "answered" | "finishing" = "none";
  #timer: NodeJS.Timeout | undefined;
  #closed: () => void = () => undefined;
  #isClosingLogger = false;

  constructor(options: ShutdownOptions) {
    this.#options = options;
  }

  get isUnderWay(): boolean {
    return this.#phase !== "none";
  }

  /** SIGTERM or SIGINT came. A second one kills. */
  ask(signal: string): void {
    if (this.#phase !== "none") return this.#killAll(signal);
    if (!this.#options.service.isUp) return this.#finishWithoutService();
    this.#phase = "asked";
    this.#options.service.send({ t: "stop", signal });
    this.#timer = setTimeout(() => this.#finishWithoutService(), ANSWER_MS);
  }

  serviceAnswered(): void {
    if (this.#phase !== "asked") return;
    this.#phase = "answered";
    clearTimeout(this.#timer);
  }

  /** Returns whether a shutdown is under way, so that the service isn't restarted. */
  serviceExited(): boolean {
    if (this.#phase === "asked" || this.#phase === "answered") this.#finishWithoutService();
    return this.#phase !== "none";
  }

  loggerClosed(): void {
    this.#options.logger.retire();
    this.#closed();
  }

  /** The next logger has got all captures: it writes what the killed one has left. */
  loggerStarted(): void {
    if (this.#isClosingLogger) this.#options.logger.send({ t: "close" });
  }

  /** Ends what still runs, then balancer and logger, and exits. */
  async finish(code: number): Promise<void> {
    if (this.#phase === "finishing") return;
    this.#phase = "finishing";
    clearTimeout(this.#timer);
    this.#options.service.kill();
    await this.#stopRuns();
    await this.#options.balancer.end();
    await this.#closeLogger();
    await this.#awaitChildren();
    this.#options.state()?.remove();
    process.exit(code);
  }

  /** All runs and what they left behind: SIGTERM, and after 30 s SIGKILL. */
  async #stopRuns(): Promise<void> {
    const state = this.#options.state();
    if (state === undefined || state.isEmpty) return;
    state.signalAll("SIGTERM");
    const start = performance.now();
    for (let isKilled = false; !state.isEmpty; await sleep(POLL_MS)) {
      const waited = performance.now() - start;
      if (waited > TERMINATE_MS && !isKilled) state.signalAll("SIGKILL");
      isKilled ||= waited > TERMINATE_MS;
      if (waited > TERMINATE_MS + UNKILLABLE_MS) return;
    }
  }

  /** Children that aren't awaited stay zombies where PID 1 doesn't reap them, as in many containers. */
  async #awaitChildren(): Promise<void> {
    const { service, logger } = this.#options;
    const deadline = performance.now() + GONE_MS;
    while ((service.isRunning || logger.isRunning) && performance.now() < deadline) await sleep(GONE_POLL_MS);
  }

  /** A logger that was killed, and waits for its next start, is started at once: programs have printed meanwhile. */
  async #closeLogger(): Promise<void> {
    const { logger, state } = this.#options;
    if (!logger.isUp && state() === undefined) return logger.retire();
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve;
    });
    this.#isClosingLogger = true;
    if (logger.isUp) logger.send({ t: "close" });
    else logger.start();
    const deadline = setTimeout(() => this.loggerClosed(), CLOSE_MS);
    await closed;
    clearTimeout(deadline);
  }

  #finishWithoutService(): void {
    warn("the service does not answer; the keeper stops everything");
    this.#options.service.kill();
    void this.finish(this.#options.unorderlyCode);
  }

  #killAll(signal: string): void {
    const state = this.#options.state();
    if (state?.isEmpty === false) warn(`${signal} while everything is being stopped: killing what still runs`);
    state?.signalAll("SIGKILL");
    if (this.#phase === "finishing") return;
    this.#options.service.kill();
    void this.finish(this.#options.unorderlyCode);
  }
}

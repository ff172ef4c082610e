/** Replaces service and logger (the balancer: `balancer-process.ts`) by those of another installation, one by one, while everything runs. If the new one fails, the old one stays. */

import { Deferred } from "../base/async.ts";
import { messagesIn } from "../base/messages.ts";
import type { FromKeeper, ToKeeper } from "../ipc/keeper-protocol.ts";
import { PROTOCOL } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import type { UpgradeStep } from "../ipc/upgrade-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import type { Channel, ComponentProcess } from "./channel.ts";

/** Timeouts of the steps. Milliseconds. */
export type UpgradeTimeouts = {
  /** For a new process to load and to send its first message. */
  readonly load: number;
  /** For the old service to step aside. */
  readonly aside: number;
  /** For the new service to become ready. */
  readonly ready: number;
  /** For the old logger to write what it has read. */
  readonly handover: number;
};

const TIMEOUTS: UpgradeTimeouts = { load: 20_000, aside: 5_000, ready: 20_000, handover: 20_000 };

type UpgradedService = ComponentProcess<FromKeeper, ToKeeper>;
type UpgradedLogger = ComponentProcess<ToLogger, FromLogger>;

export type UpgradeParts = {
  readonly service: Channel<FromKeeper, ToKeeper>;
  readonly logger: Channel<ToLogger, FromLogger>;
  /** Gives the current service a snapshot. */
  readonly sendSnapshot: () => void;
  /** Resolves when this logger holds all that the current one reads. */
  readonly prepareLogger: (candidate: UpgradedLogger) => Promise<void>;
  readonly timeouts?: UpgradeTimeouts;
};

export class UpgradeRun {
  readonly #parts: UpgradeParts;
  readonly #timeouts: UpgradeTimeouts;
  /** A promoted service that isn't ready yet, and the one that it replaces. */
  #serviceHandover:
    | {
        readonly candidate: UpgradedService;
        readonly previous: UpgradedService | undefined;
        readonly done: Deferred<string | undefined>;
      }
    | undefined;
  #loggerHandover: { readonly candidate: UpgradedLogger; readonly done: Deferred<void> } | undefined;
  #aside: Deferred<void> | undefined;

  constructor(parts: UpgradeParts) {
    this.#parts = parts;
    this.#timeouts = parts.timeouts ?? TIMEOUTS;
  }

  service(argv: readonly string[], from: string): Promise<UpgradeStep> {
    return step("service", from, () => this.#replaceService(argv));
  }

  logger(argv: readonly string[], from: string): Promise<UpgradeStep> {
    return step("logger", from, () => this.#replaceLogger(argv));
  }

  onAside(): void {
    this.#aside?.resolve();
  }

  onReady(problem: string | undefined): void {
    this.#serviceHandover?.done.resolve(problem);
  }

  /** The service has ended. Returns true if the upgrade deals with it. */
  serviceExited(): boolean {
    this.#aside?.reject("it has ended");
    const handover = this.#serviceHandover;
    if (handover === undefined) return false;
    this.#serviceHandover = undefined;
    if (handover.previous?.isRunning) this.#restore(handover.previous);
    handover.done.reject("it ended before it took over");
    return true;
  }

  /** The logger has ended. */
  loggerExited(): void {
    const handover = this.#loggerHandover;
    this.#loggerHandover = undefined;
    if (handover === undefined) return;
    failpoint("keeper.parted");
    if (!handover.candidate.isUp) return handover.done.reject("it ended before it took over");
    this.#parts.logger.promote(handover.candidate);
    handover.done.resolve();
  }

  /** Resolves with the new version. */
  async #replaceService(argv: readonly string[]): Promise<string> {
    const { service, sendSnapshot } = this.#parts;
    const candidate = service.spawnCandidate(argv);
    const { version, protocol } = await firstMessage(candidate, "open", this.#timeouts.load);
    if (protocol !== PROTOCOL) {
      candidate.kill();
      throw new Error(
        `it speaks protocol ${protocol}, and this keeper is too ${protocol > PROTOCOL ? "old" : "new"} for that (${PROTOCOL}); stop procman ("procman terminate") and start it again`,
      );
    }
    const previous = service.current;
    if (previous !== undefined) await this.#stepAside(previous);
    const done = new Deferred<string | undefined>(this.#timeouts.ready, "it did not take over in time");
    this.#serviceHandover = { candidate, previous, done };
    service.promote(candidate);
    sendSnapshot();
    const problem = await done.promise().catch((error: Error) => error.message);
    if (problem === undefined) {
      this.#serviceHandover = undefined;
      previous?.kill();
      return version;
    }
    // Its exit restores the previous one.
    if (candidate.isRunning) candidate.kill();
    throw new Error(problem);
  }

  async #replaceLogger(argv: readonly string[]): Promise<string> {
    const { logger, prepareLogger } = this.#parts;
    const candidate = logger.spawnCandidate(argv);
    const { version } = await firstMessage(candidate, "ready", this.#timeouts.load);
    await prepareLogger(candidate);
    const previous = logger.current;
    if (previous === undefined) {
      logger.promote(candidate);
      return version;
    }
    const done = new Deferred<void>(this.#timeouts.handover, "the old one still holds lines that it can't write");
    this.#loggerHandover = { candidate, done };
    previous.kill("SIGUSR1");
    try {
      await done.promise();
    } catch (error) {
      this.#loggerHandover = undefined;
      candidate.kill();
      throw error;
    }
    return version;
  }

  /** A service that doesn't step aside in time is killed. What it had decided has arrived, or is decided again. */
  async #stepAside(previous: UpgradedService): Promise<void> {
    const aside = new Deferred<void>(this.#timeouts.aside, "");
    this.#aside = aside;
    previous.send({ t: "aside" });
    await aside.promise().catch(() => previous.kill());
    this.#aside = undefined;
  }

  #restore(previous: UpgradedService): void {
    this.#parts.service.promote(previous);
    this.#parts.sendSnapshot();
  }
}

/** Resolves with the first message of a candidate; rejects if it ends or is too slow. */
function firstMessage<To, From extends { readonly t: string }, T extends From["t"]>(
  candidate: ComponentProcess<To, From>,
  type: T,
  ms: number,
): Promise<Extract<From, { readonly t: T }>> {
  const deferred = new Deferred<Extract<From, { readonly t: T }>>(ms, "it did not load in time");
  candidate.listen({
    messages: (messages) => {
      const [first] = messagesIn<From>(messages);
      if (first?.t === type) deferred.resolve(first as Extract<From, { readonly t: T }>);
    },
    exit: ({ code, signal }) => deferred.reject(`it ended at once (${signal ?? `exit code ${code}`})`),
  });
  return deferred.promise().catch((error: Error) => {
    if (candidate.isRunning) candidate.kill();
    throw error;
  });
}

async function step(part: UpgradeStep["part"], from: string, replace: () => Promise<string>): Promise<UpgradeStep> {
  const start = performance.now();
  const elapsed = (): number => Math.round(performance.now() - start);
  try {
    return { part, from, to: await replace(), ok: true, ms: elapsed() };
  } catch (error) {
    return { part, from, to: from, ok: false, ms: elapsed(), problem: (error as Error).message };
  }
}

/** Replaces service and logger (the balancer: `balancer-post.ts`) by those of another installation, one by one, while everything runs. The old one goes on where the new one doesn't do. */

import { Deferred } from "../base/async.ts";
import type { FromKeeper, ToKeeper } from "../ipc/keeper-protocol.ts";
import { PROTOCOL } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import type { UpgradeStep } from "../ipc/upgrade-protocol.ts";
import type { RestartingProcess } from "./internal-process.ts";
import type { IpcProcess } from "./ipc-process.ts";

/** How long each is waited for. Milliseconds. */
export type UpgradeTimeouts = {
  /** For a newcomer to load and to say its first word. */
  readonly load: number;
  /** For the old service to step aside. */
  readonly aside: number;
  /** For the new service to take up its work. */
  readonly ready: number;
  /** For the old logger to write what it has read. */
  readonly handover: number;
};

const PATIENCE: UpgradeTimeouts = { load: 20_000, aside: 5_000, ready: 20_000, handover: 20_000 };

type UpgradedService = IpcProcess<FromKeeper, ToKeeper>;

export type UpgradeParts = {
  readonly service: RestartingProcess<FromKeeper, ToKeeper>;
  readonly logger: RestartingProcess<ToLogger, FromLogger>;
  /** Gives the service that is in office now all that it must know. */
  readonly brief: () => void;
  readonly patience?: UpgradeTimeouts;
};

export class UpgradeRun {
  readonly #parts: UpgradeParts;
  readonly #patience: UpgradeTimeouts;
  /** A service on its way into office, and the one that it replaces. */
  #handing:
    | { readonly newcomer: UpgradedService; readonly former: UpgradedService | undefined; readonly done: Deferred<string | undefined> }
    | undefined;
  #leaving: { readonly newcomer: IpcProcess<ToLogger, FromLogger>; readonly done: Deferred<void> } | undefined;
  #aside: Deferred<void> | undefined;

  constructor(parts: UpgradeParts) {
    this.#parts = parts;
    this.#patience = parts.patience ?? PATIENCE;
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
    this.#handing?.done.resolve(problem);
  }

  /** The service has ended. True: it is looked after. */
  serviceExited(): boolean {
    this.#aside?.reject("it has ended");
    const handing = this.#handing;
    if (handing === undefined) return false;
    this.#handing = undefined;
    if (handing.former?.exists) this.#restore(handing.former);
    handing.done.reject("it ended before it had taken up its work");
    return true;
  }

  /** The logger has ended. */
  loggerExited(): void {
    const leaving = this.#leaving;
    this.#leaving = undefined;
    if (leaving === undefined || !leaving.newcomer.isUp) return;
    this.#parts.logger.promote(leaving.newcomer);
    leaving.done.resolve();
  }

  /** Resolves with the version that is in office now. */
  async #replaceService(argv: readonly string[]): Promise<string> {
    const { service, brief } = this.#parts;
    const newcomer = service.spawnCandidate(argv);
    const { version, protocol } = await firstWord(newcomer, "open", this.#patience.load);
    if (protocol !== PROTOCOL) {
      newcomer.kill();
      throw new Error(
        `it speaks protocol ${protocol}, and this keeper is too ${protocol > PROTOCOL ? "old" : "new"} for that (${PROTOCOL}); stop procman ("procman terminate") and start it again`,
      );
    }
    const former = service.current;
    if (former !== undefined) await this.#stepAside(former);
    const done = new Deferred<string | undefined>(this.#patience.ready, "it did not take up its work in time");
    this.#handing = { newcomer, former, done };
    service.promote(newcomer);
    brief();
    const problem = await done.promise().catch((error: Error) => error.message);
    if (problem === undefined) {
      this.#handing = undefined;
      former?.kill();
      return version;
    }
    // Its end brings the former one back.
    if (newcomer.exists) newcomer.kill();
    throw new Error(problem);
  }

  async #replaceLogger(argv: readonly string[]): Promise<string> {
    const { logger } = this.#parts;
    const newcomer = logger.spawnCandidate(argv);
    const { version } = await firstWord(newcomer, "ready", this.#patience.load);
    const former = logger.current;
    if (former === undefined) {
      logger.promote(newcomer);
      return version;
    }
    const done = new Deferred<void>(this.#patience.handover, "the old one still holds lines that it can't write");
    this.#leaving = { newcomer, done };
    former.kill("SIGUSR1");
    try {
      await done.promise();
    } catch (error) {
      this.#leaving = undefined;
      newcomer.kill();
      throw error;
    }
    return version;
  }

  /** One that doesn't, or ends instead, is ended: what it had decided has arrived, or it is decided anew. */
  async #stepAside(former: UpgradedService): Promise<void> {
    const aside = new Deferred<void>(this.#patience.aside, "");
    this.#aside = aside;
    former.send({ t: "aside" });
    await aside.promise().catch(() => former.kill());
    this.#aside = undefined;
  }

  #restore(former: UpgradedService): void {
    this.#parts.service.promote(former);
    this.#parts.brief();
  }
}

/** The first message of a newcomer, or why it has none to say. */
function firstWord<To, From extends { readonly t: string }, T extends From["t"]>(
  newcomer: IpcProcess<To, From>,
  type: T,
  ms: number,
): Promise<Extract<From, { readonly t: T }>> {
  const latch = new Deferred<Extract<From, { readonly t: T }>>(ms, "it did not load in time");
  newcomer.events = {
    messages: ([first]) => first?.t === type && latch.resolve(first as Extract<From, { readonly t: T }>),
    exit: ({ code, signal }) => latch.reject(`it ended at once (${signal ?? `exit code ${code}`})`),
  };
  return latch.promise().catch((error: Error) => {
    if (newcomer.exists) newcomer.kill();
    throw error;
  });
}

async function step(part: UpgradeStep["part"], from: string, replace: () => Promise<string>): Promise<UpgradeStep> {
  const start = performance.now();
  const took = (): number => Math.round(performance.now() - start);
  try {
    return { part, from, to: await replace(), ok: true, ms: took() };
  } catch (error) {
    return { part, from, to: from, ok: false, ms: took(), problem: (error as Error).message };
  }
}

/** Replaces service and logger (the balancer: `balancer-post.ts`) by those of another installation, one by one, while everything runs. The old one goes on where the new one doesn't do. */
import type { FromKeeper, ToKeeper } from "../contract/keeper-protocol.ts";
import { PROTOCOL } from "../contract/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import type { UpgradeStep } from "../contract/upgrade.ts";
import type { Attendant } from "./attendant.ts";
import type { Companion } from "./companion.ts";
import { Latch } from "./latch.ts";

/** How long each is waited for. Milliseconds. */
export type Patience = {
  /** For a newcomer to load and to say its first word. */
  readonly load: number;
  /** For the old service to step aside. */
  readonly aside: number;
  /** For the new service to take up its work. */
  readonly ready: number;
  /** For the old logger to write what it has read. */
  readonly handover: number;
};

const PATIENCE: Patience = { load: 20_000, aside: 5_000, ready: 20_000, handover: 20_000 };

type Service = Companion<FromKeeper, ToKeeper>;

export type UpgradeParts = {
  readonly service: Attendant<FromKeeper, ToKeeper>;
  readonly logger: Attendant<ToLogger, FromLogger>;
  /** Gives the service that is in office now all that it must know. */
  readonly brief: () => void;
  readonly patience?: Patience;
};

export class Upgrade {
  readonly #parts: UpgradeParts;
  readonly #patience: Patience;
  /** A service on its way into office, and the one that it replaces. */
  #handing: { readonly newcomer: Service; readonly former: Service | undefined; readonly done: Latch<string | undefined> } | undefined;
  #leaving: { readonly newcomer: Companion<ToLogger, FromLogger>; readonly done: Latch<void> } | undefined;
  #aside: Latch<void> | undefined;

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
    this.#aside?.open();
  }

  onReady(problem: string | undefined): void {
    this.#handing?.done.open(problem);
  }

  /** The service has ended. True: it is looked after. */
  serviceExited(): boolean {
    this.#aside?.fail("it has ended");
    const handing = this.#handing;
    if (handing === undefined) return false;
    this.#handing = undefined;
    if (handing.former?.exists) this.#restore(handing.former);
    handing.done.fail("it ended before it had taken up its work");
    return true;
  }

  /** The logger has ended. */
  loggerExited(): void {
    const leaving = this.#leaving;
    this.#leaving = undefined;
    if (leaving === undefined || !leaving.newcomer.isUp) return;
    this.#parts.logger.take(leaving.newcomer);
    leaving.done.open();
  }

  /** Resolves with the version that is in office now. */
  async #replaceService(argv: readonly string[]): Promise<string> {
    const { service, brief } = this.#parts;
    const newcomer = service.tryOut(argv);
    const { version, protocol } = await firstWord(newcomer, "open", this.#patience.load);
    if (protocol !== PROTOCOL) {
      newcomer.kill();
      throw new Error(
        `it speaks protocol ${protocol}, and this keeper is too ${protocol > PROTOCOL ? "old" : "new"} for that (${PROTOCOL}); stop procman ("procman terminate") and start it again`,
      );
    }
    const former = service.current;
    if (former !== undefined) await this.#stepAside(former);
    const done = new Latch<string | undefined>(this.#patience.ready, "it did not take up its work in time");
    this.#handing = { newcomer, former, done };
    service.take(newcomer);
    brief();
    const problem = await done.wait().catch((error: Error) => error.message);
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
    const newcomer = logger.tryOut(argv);
    const { version } = await firstWord(newcomer, "ready", this.#patience.load);
    const former = logger.current;
    if (former === undefined) {
      logger.take(newcomer);
      return version;
    }
    const done = new Latch<void>(this.#patience.handover, "the old one still holds lines that it can't write");
    this.#leaving = { newcomer, done };
    former.kill("SIGUSR1");
    try {
      await done.wait();
    } catch (error) {
      this.#leaving = undefined;
      newcomer.kill();
      throw error;
    }
    return version;
  }

  /** One that doesn't, or ends instead, is ended: what it had decided has arrived, or it is decided anew. */
  async #stepAside(former: Service): Promise<void> {
    const aside = new Latch<void>(this.#patience.aside, "");
    this.#aside = aside;
    former.send({ t: "aside" });
    await aside.wait().catch(() => former.kill());
    this.#aside = undefined;
  }

  #restore(former: Service): void {
    this.#parts.service.take(former);
    this.#parts.brief();
  }
}

/** The first message of a newcomer, or why it has none to say. */
function firstWord<To, From extends { readonly t: string }, T extends From["t"]>(
  newcomer: Companion<To, From>,
  type: T,
  ms: number,
): Promise<Extract<From, { readonly t: T }>> {
  const latch = new Latch<Extract<From, { readonly t: T }>>(ms, "it did not load in time");
  newcomer.events = {
    messages: ([first]) => first?.t === type && latch.open(first as Extract<From, { readonly t: T }>),
    exit: ({ code, signal }) => latch.fail(`it ended at once (${signal ?? `exit code ${code}`})`),
  };
  return latch.wait().catch((error: Error) => {
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

/** Old releases that are more than are kept, as something still runs in them: each is removed when nothing does any more. */
import { reasonOf } from "../../base/errors.ts";
import { hasLeftovers, removeOld } from "./deploy-steps.ts";
import type { OperationContext } from "./operation-context.ts";

/** After the end of a run its folder may still be in use for a moment. Milliseconds. */
const PAUSE_MS = 1_000;

type LeftoverContext = Parameters<typeof removeOld>[0] & Pick<OperationContext, "log">;

export class Leftovers {
  readonly #context: LeftoverContext;
  readonly #isFree: () => boolean;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isRetired = false;
  /** The removal under way. */
  removal: Promise<void> = Promise.resolve();

  /** `isFree`: no deployment is under way, which may want one of them. */
  constructor(context: LeftoverContext, isFree: () => boolean) {
    this.#context = context;
    this.#isFree = isFree;
  }

  /** Removes what can be removed, and the rest when its processes have ended. */
  remove(): void {
    const { releases } = this.#context.specs.config;
    this.#stop();
    if (releases === undefined || this.#isRetired || !this.#isFree()) return;
    this.removal = removeOld(this.#context, releases, (line) => this.#context.log.info(`releases: ${line}`))
      .catch((error: Error) => this.#context.log.error(`Cannot remove an old release: ${reasonOf(error)}`))
      .then(() => {
        if (!this.#isRetired && hasLeftovers(releases)) this.#watch();
      });
  }

  retire(): void {
    this.#isRetired = true;
    this.#stop();
  }

  #watch(): void {
    this.#stop();
    this.#unwatch = this.#context.supervisor.watch(() => {
      this.#timer ??= setTimeout(() => this.remove(), PAUSE_MS).unref();
    });
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }
}

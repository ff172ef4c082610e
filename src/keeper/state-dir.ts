/** Looks after the state folder while procman runs: what somebody has removed of it is made anew. */
import { ProcmanError } from "../base/errors.ts";
import type { KeeperState } from "./keeper-state.ts";
import { warn } from "./log.ts";

export type StateDirOwner = {
  readonly state: () => KeeperState | undefined;
  /** Soon none is needed any more. */
  readonly isEnding: () => boolean;
  readonly renewed: () => void;
  /** Everything belongs to another procman. */
  readonly leave: () => void;
};

export class StateDirWatch {
  readonly #cared: StateDirOwner;
  /** Why the state folder can't be made anew: said once. */
  #unusable: string | undefined;

  constructor(cared: StateDirOwner) {
    this.#cared = cared;
  }

  look(): void {
    const state = this.#cared.state();
    // What could not be written is tried again, also when nothing happens.
    state?.flush();
    if (state === undefined || state.isThere || this.#cared.isEnding()) return;
    try {
      state.renew();
      warn(`somebody has removed ${state.folder} or a part of it; it is made anew, and nothing is lost but what was stored in it`);
      this.#cared.renewed();
    } catch (error) {
      if (!(error instanceof ProcmanError)) return this.#onUnusable(state, error as Error);
      // Another procman came in between, and has adopted what runs: two would quarrel.
      warn(`somebody has removed ${state.folder}, and ${error.message}; this one (pid ${process.pid}) ends and leaves the processes to it`);
      this.#cared.leave();
    }
  }

  #onUnusable({ folder }: KeeperState, { message }: Error): void {
    if (this.#unusable === message) return;
    this.#unusable = message;
    warn(`somebody has removed ${folder} or a part of it, and it can't be made anew: ${message}; until it can, procman must not be killed`);
  }
}

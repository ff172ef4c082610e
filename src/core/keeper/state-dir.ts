/** Recreates the state folder, or a part of it, when it was removed while procman runs. */
import { ProcmanError } from "../base/errors.ts";
import type { KeeperState } from "./keeper-state.ts";
import { warn } from "./log.ts";

const CHECK_MS = 1_000;

export type StateDirOwner = {
  readonly state: () => KeeperState | undefined;
  /** The folder is about to be removed anyway. */
  readonly isShuttingDown: () => boolean;
  readonly onRecreated: () => void;
  /** Another procman has adopted everything. */
  readonly onTakenOver: () => void;
};

export class StateDirWatch {
  readonly #owner: StateDirOwner;
  /** Why the state folder can't be looked at or recreated: reported once. */
  #unusable: string | undefined;

  constructor(owner: StateDirOwner) {
    this.#owner = owner;
  }

  start(): void {
    setInterval(() => this.check(), CHECK_MS);
  }

  check(): void {
    const state = this.#owner.state();
    // Tries again what could not be written, also when nothing happens.
    state?.flush();
    if (state === undefined || this.#owner.isShuttingDown()) return;
    try {
      if (state.isIntact) return this.#onIntact(state);
    } catch (error) {
      return this.#onUnusable(`Cannot use ${state.folder}: ${(error as Error).message}; procman continues, but`);
    }
    try {
      state.recreate();
      warn(
        `${state.folder} or a part of it was removed; procman has recreated it, and only what was stored in it is lost`,
      );
      this.#owner.onRecreated();
    } catch (error) {
      if (!(error instanceof ProcmanError) || error.code !== "already-running") {
        const { message } = error as Error;
        return this.#onUnusable(`${state.folder} or a part of it was removed and can't be recreated: ${message};`);
      }
      // Another procman was started meanwhile and has adopted the processes.
      warn(
        `${state.folder} was removed, and ${error.message}; this one (pid ${process.pid}) ends and leaves the processes to it`,
      );
      this.#owner.onTakenOver();
    }
  }

  #onUnusable(problem: string): void {
    if (this.#unusable === problem) return;
    this.#unusable = problem;
    warn(`${problem} until it can, killing procman is not safe`);
  }

  #onIntact({ folder }: KeeperState): void {
    if (this.#unusable !== undefined) warn(`${folder} can be used again: killing procman is safe again`);
    this.#unusable = undefined;
  }
}

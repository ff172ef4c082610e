/** Ports that a reload moves from one process to another: the run that takes a port is started when the run has ended that has it. */
import type { SlotState } from "../../supervisor/states.ts";
import { hasCurrentRun } from "../../supervisor/verdict.ts";
import { processOf } from "../spec-registry.ts";

/** Ids of processes, or of instances of clusters. */
export type MovedPort = { readonly port: number; readonly giver: string; readonly taker: string };

/** Runs that must end first, and the starts that wait for that. */
type HeldStarts = { readonly runs: { readonly id: string; readonly run: number }[]; readonly starts: (() => void)[] };

export class PortHandovers {
  readonly #statesOf: (id: string) => readonly SlotState[];
  readonly #watch: (call: () => void) => () => void;
  readonly #held = new Map<string, HeldStarts>();
  #unwatch: (() => void) | undefined;

  /** `watch`: calls back after each transition, and returns a function that ends this. */
  constructor(statesOf: (id: string) => readonly SlotState[], watch: (call: () => void) => () => void) {
    this.#statesOf = statesOf;
    this.#watch = watch;
  }

  /** The present runs of the givers are about to be stopped. */
  begin(moved: readonly MovedPort[]): void {
    for (const { giver, taker } of moved) {
      const held = this.#held.get(taker) ?? { runs: [], starts: [] };
      this.#held.set(taker, held);
      for (const { run } of this.#statesOf(giver).filter(hasCurrentRun)) held.runs.push({ id: giver, run });
    }
  }

  /** Whether the start of a run is put off. `start` is called when the port is free. */
  defers(slot: string, start: () => void): boolean {
    const id = processOf(slot);
    const held = this.#held.get(id);
    if (held === undefined) return false;
    if (this.#areOver(held)) {
      this.#held.delete(id);
      return false;
    }
    held.starts.push(start);
    this.#unwatch ??= this.#watch(() => this.#look());
    return true;
  }

  #look(): void {
    for (const [id, held] of this.#held) {
      if (!this.#areOver(held)) continue;
      this.#held.delete(id);
      for (const start of held.starts) start();
    }
    if (this.#held.size > 0) return;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  #areOver({ runs }: HeldStarts): boolean {
    return runs.every(({ id, run }) => !this.#statesOf(id).some((state) => hasCurrentRun(state) && state.run === run));
  }
}

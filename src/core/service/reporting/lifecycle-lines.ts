/** Writes the lines of transitions. That a stop is under way is worth a line only if it takes a while: its end has one, too. */
import { isStopping, runsAfterStop } from "../../supervisor/verdict.ts";
import type { ReportedTransition } from "../process-bus.ts";
import type { Log } from "../services.ts";
import { runOf } from "./lifecycle-messages.ts";

export class LifecycleLines {
  readonly #log: Pick<Log, "write">;
  /** The lines that come later, by slot. */
  readonly #late = new Map<string, NodeJS.Timeout>();

  constructor(log: Pick<Log, "write">) {
    this.#log = log;
  }

  onTransition({ transition, line }: Pick<ReportedTransition, "transition" | "line">): void {
    const { slot, to } = transition;
    if (line !== undefined || !isStopping(to) || runsAfterStop(to)) this.#cancel(slot);
    if (line === undefined) return;
    const run = runOf(transition);
    const { severity, late } = line;
    if (late === undefined) return this.#log.write(slot, line, run);
    const write = (): void => {
      this.#late.delete(slot);
      this.#log.write(slot, { severity, text: late.text }, run);
    };
    this.#late.set(slot, setTimeout(write, late.ms).unref());
  }

  #cancel(slot: string): void {
    clearTimeout(this.#late.get(slot));
    this.#late.delete(slot);
  }
}

/** Keeps processes that write what they watch from being restarted for ever, and says so. */
import { monotonicMs } from "../os/monotonic.ts";
import type { FileChange } from "../supervisor/file-change.ts";
import { LoopGuard } from "../watch/loop-guard.ts";
import { type Line, warn } from "./narrator.ts";

type Guarded = { readonly guard: LoopGuard; rested: () => void };

/** A process or a cluster, and when it was started last, if it runs; monotonic milliseconds. */
type Started = { readonly id: string; readonly since: number | undefined };

export class FileGuards {
  readonly #say: (id: string, line: Line) => void;
  readonly #guarded = new Map<string, Guarded>();

  constructor(say: (id: string, line: Line) => void) {
    this.#say = say;
  }

  /** `rested`: what is to be done when it is not admitted now, and its files have come to rest. */
  admits({ id, since }: Started, { files: [file = ""], at }: FileChange, rested: () => void): boolean {
    const { guard } = this.#of(id, rested);
    const verdict = guard.verdict(at, since);
    if (verdict === "held")
      this.#say(id, warn(`${file} has changed, soon after a start like others before; it is waited until files are at rest for 10 s`));
    if (verdict === "looping")
      this.#say(
        id,
        warn(`not restarted: it seems to write ${file} itself whenever it starts; name that in "skip" of the watcher, or watch less`),
      );
    return verdict === "go";
  }

  /** All over: no timer is left. */
  close(): void {
    for (const { guard } of this.#guarded.values()) guard.close();
    this.#guarded.clear();
  }

  #of(id: string, rested: () => void): Guarded {
    const known = this.#guarded.get(id);
    if (known !== undefined) return Object.assign(known, { rested });
    const guarded: Guarded = {
      rested,
      guard: new LoopGuard({
        now: monotonicMs,
        later: (ms, call) => {
          const timer = setTimeout(call, ms);
          return () => clearTimeout(timer);
        },
        rested: () => guarded.rested(),
      }),
    };
    this.#guarded.set(id, guarded);
    return guarded;
  }
}

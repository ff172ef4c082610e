/** What a soak has done, what disturbed procman meanwhile, and what was not as expected. */
import { monotonicMs } from "../programs/run-diary.mjs";

/** During `kill` and `upgrade` a request may fail; during `disk` nothing can be written. */
export type Disturbance = "kill" | "upgrade" | "disk" | "plugin" | "web" | "start";

/** Milliseconds; while it lasts, `to` is infinite. */
export type Window = { readonly kind: Disturbance; readonly what: string; readonly from: number; to: number };

/** A disturbance shows in what comes shortly after it. Milliseconds. */
const AFTER_MS = 3_000;
/** Findings of one kind that are listed. */
const ENOUGH = 20;

export class SoakAccount {
  readonly windows: Window[] = [];
  readonly counts: Record<string, number> = {};
  /** Duration of the answers to `GET /processes` without a disturbance. Milliseconds. */
  readonly answerMs: number[] = [];
  readonly #findings = new Map<string, string[]>();
  /** Of the wall clock against the monotonic one. */
  readonly #offset = Date.now() - monotonicMs();

  count(what: string, by = 1): void {
    this.counts[what] = (this.counts[what] ?? 0) + by;
  }

  find(kind: string, what: string): void {
    this.count(`finding: ${kind}`);
    const known = this.#findings.get(kind) ?? [];
    if (known.length < ENOUGH) known.push(`${new Date().toISOString()} ${what}`);
    this.#findings.set(kind, known);
  }

  get findings(): readonly string[] {
    return [...this.#findings].flatMap(([kind, texts]) => texts.map((text) => `${kind}: ${text}`));
  }

  /** The returned function says that it is over. */
  begin(kind: Disturbance, what: string = kind): () => void {
    const window: Window = { kind, what, from: monotonicMs(), to: Number.POSITIVE_INFINITY };
    this.windows.push(window);
    if (kind === "kill") this.count(`killed: ${what}`);
    return () => {
      window.to = monotonicMs();
    };
  }

  /** Whether nothing of these kinds has disturbed procman since `from`, in monotonic milliseconds. */
  isCalm(from: number, kinds: readonly Disturbance[], to: number = monotonicMs()): boolean {
    return !this.windows.some(
      (window) => kinds.includes(window.kind) && window.from <= to && window.to + AFTER_MS >= from,
    );
  }

  /** By the wall clock, as procman's log has it. What is not over ends now. */
  get disturbances(): readonly Window[] {
    return this.windows.map(({ from, to, ...more }) => ({
      ...more,
      from: from + this.#offset,
      to: Math.min(to, monotonicMs()) + this.#offset,
    }));
  }
}

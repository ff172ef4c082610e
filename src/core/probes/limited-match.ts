/**
 * Tests lines against a configured regular expression. Expressions exist that take years for one line, and the line may
 * come from outside: so each test has a time limit, and after a slow one a pause follows, in which lines wait on the
 * disk.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createContext, Script } from "node:vm";

/** Time limits of the first and second test of a line. A busy machine may stop the first. Milliseconds. */
const LIMITS_MS = [50, 250] as const;
/** The pause after a slow test is this multiple of its time. */
const PAUSE_FACTOR = 9;
/** Longer lines are cut: the limit bounds a test in which nothing repeats. Characters. */
const MAX_CHARACTERS = 65_536;
/** Without these nothing repeats, and a test needs no limit. */
const REPEATS = /[*+{]|\\\d|\\k/;

export class LimitedMatch {
  readonly #pattern: RegExp;
  readonly #onSlow: (characters: number) => void;
  readonly #isPlain: boolean;
  #script: { readonly test: Script; readonly scope: { pattern: RegExp; line: string } } | undefined;

  /** `onSlow`: a line doesn't count, because its test takes too long. */
  constructor(pattern: string, onSlow: (characters: number) => void) {
    this.#pattern = new RegExp(pattern);
    this.#onSlow = onSlow;
    this.#isPlain = !REPEATS.test(pattern);
  }

  async test(line: string, signal: AbortSignal): Promise<boolean> {
    const text = line.slice(0, MAX_CHARACTERS);
    if (this.#isPlain) return this.#pattern.test(text);
    for (const limitMs of LIMITS_MS) {
      const matches = this.#testWithin(text, limitMs);
      if (matches !== undefined) return matches;
      // An abort is handled by the caller.
      await sleep(limitMs * PAUSE_FACTOR, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return false;
    }
    this.#onSlow(line.length);
    return false;
  }

  /** undefined: it takes longer. */
  #testWithin(line: string, timeout: number): boolean | undefined {
    this.#script ??= newScript(this.#pattern);
    const { test, scope } = this.#script;
    scope.line = line;
    try {
      return test.runInContext(scope, { timeout }) as boolean;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      return undefined;
    }
  }
}

function newScript(pattern: RegExp) {
  const scope = createContext({ pattern, line: "" }) as { pattern: RegExp; line: string };
  return { test: new Script("pattern.test(line)"), scope };
}

/** Words of foreign command lines. */
import { shellQuote } from "../../core/base/shell-quote.ts";

/** A quote that is never closed. */
export class UnclosedQuote extends Error {}

const WORD_PIECE = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|(\s+)|([\s\S])/g;

type WordRules = {
  /** Changes what is not in quotes. */
  readonly ofPlain?: (text: string) => string;
  /** What a backslash takes its meaning from in double quotes. */
  readonly escaped?: RegExp;
};

/** As a POSIX shell has it, and as Python has it. */
const OF_SHELL = /\\(["\\$`])/g;
export const OF_PYTHON: RegExp = /\\(["\\])/g;

/**
 * Splits like a POSIX shell without expansions (compose, Docker).
 *
 * @throws {UnclosedQuote}
 */
export function splitWords(
  line: string,
  { ofPlain = (text) => text, escaped = OF_SHELL }: WordRules = {},
): readonly string[] {
  const words: string[] = [];
  let current: string | undefined;
  // By number: taking captures in their order would take most of the time.
  for (const { 1: single, 2: double, 3: literal, 4: plain = "", 5: blank, 6: stray } of line.matchAll(WORD_PIECE)) {
    if (stray !== undefined) throw unclosed(stray);
    if (blank === undefined)
      current = (current ?? "") + (single ?? unescaped(double, escaped) ?? literal ?? ofPlain(plain));
    else if (current !== undefined) {
      words.push(current);
      current = undefined;
    }
  }
  return current === undefined ? words : [...words, current];
}

function unescaped(double: string | undefined, escaped: RegExp): string | undefined {
  return double?.includes("\\") === true ? double.replace(escaped, "$1") : double;
}

function unclosed(stray: string): UnclosedQuote {
  return new UnclosedQuote(stray === "\\" ? "it ends with a backslash" : `its ${stray} is never closed`);
}

/** What only bash understands, or may. */
const MAY_NEED_BASH = /[[\]{}()]|<<<|&>|\|&|\$'|\bsource\b|\bfunction\b|\blet\b|\bdeclare\b|\bpushd\b|==|=~|;&/;

/** A command line that another manager gives to bash: as it is if `/bin/sh` does the same. */
export function bashLine(line: string): string {
  return MAY_NEED_BASH.test(line) ? `bash -c ${shellQuote(line)}` : line;
}

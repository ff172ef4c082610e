/** Words of foreign command lines. */
import { shellQuote } from "../../core/base/shell-quote.ts";

/** A quote that is never closed. */
export class UnclosedQuote extends Error {}

const WORD_PIECE = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|(\s+)|([\s\S])/g;

/**
 * Splits like a POSIX shell without expansions (Python's `shlex.split`, compose, Docker). `ofPlain`: changes what is not
 * in quotes.
 *
 * @throws {UnclosedQuote}
 */
export function splitWords(line: string, ofPlain: (text: string) => string = (text) => text): readonly string[] {
  const words: string[] = [];
  let current: string | undefined;
  for (const [, single, double, escaped, plain, blank, stray] of line.matchAll(WORD_PIECE)) {
    if (stray !== undefined)
      throw new UnclosedQuote(stray === "\\" ? "it ends with a backslash" : `its ${stray} is never closed`);
    if (blank !== undefined) {
      if (current !== undefined) words.push(current);
      current = undefined;
    } else
      current = (current ?? "") + (single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? ofPlain(plain ?? ""));
  }
  return current === undefined ? words : [...words, current];
}

/** What only bash understands, or may. */
const MAY_NEED_BASH = /[[\]{}()]|<<<|&>|\|&|\$'|\bsource\b|\bfunction\b|\blet\b|\bdeclare\b|\bpushd\b|==|=~|;&/;

/** A command line that another manager gives to bash: as it is if `/bin/sh` does the same. */
export function bashLine(line: string): string {
  return MAY_NEED_BASH.test(line) ? `bash -c ${shellQuote(line)}` : line;
}

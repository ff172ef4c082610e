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
export function splitWords(line: string, rules: WordRules = {}): readonly string[] {
  const words: string[] = [];
  let current: string | undefined;
  for (const piece of line.matchAll(WORD_PIECE)) {
    const [, , , , , blank, stray] = piece;
    if (stray !== undefined) throw unclosed(stray);
    if (blank === undefined) current = (current ?? "") + pieceText(piece, rules);
    else if (current !== undefined) {
      words.push(current);
      current = undefined;
    }
  }
  return current === undefined ? words : [...words, current];
}

function pieceText(
  [, single, double, escaped, plain = ""]: readonly (string | undefined)[],
  { ofPlain = (text) => text, escaped: inDouble = OF_SHELL }: WordRules,
): string {
  return single ?? double?.replace(inDouble, "$1") ?? escaped ?? ofPlain(plain);
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

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
  for (const piece of line.matchAll(WORD_PIECE)) {
    const [, , , , , blank, stray] = piece;
    if (stray !== undefined) throw unclosed(stray);
    if (blank === undefined) current = (current ?? "") + pieceText(piece, ofPlain);
    else if (current !== undefined) {
      words.push(current);
      current = undefined;
    }
  }
  return current === undefined ? words : [...words, current];
}

function pieceText(
  [, single, double, escaped, plain = ""]: readonly (string | undefined)[],
  ofPlain: (text: string) => string,
): string {
  return single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? ofPlain(plain);
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

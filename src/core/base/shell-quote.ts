/** Words of a command line for `/bin/sh`. */

/** As one word of a command line. @example shellQuote("it's") // "'it'\\''s'" */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

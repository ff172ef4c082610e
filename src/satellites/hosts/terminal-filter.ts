/**
 * What a command on another machine writes to this terminal: text, colors, and what redraws a line of progress. Every
 * other control sequence could change the terminal, or what it has shown before, so it is shown escaped.
 */
import { Transform } from "node:stream";

/** Control characters of UTF-8 bytes read as latin1: C1 follows 0xC2. */
const CONTROLS = /\x1b\[[\d;:]{0,40}[mK]|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]/g;
/** The beginning of a sequence, at the end of what has come. */
const BEGUN = /(?:\x1b(?:\[[\d;:]{0,40})?|\xc2)$/;

export function terminalFilter(): Transform {
  let begun = "";
  return new Transform({
    transform(bytes: Buffer, _encoding, done): void {
      const text = begun + bytes.toString("latin1");
      begun = BEGUN.exec(text.slice(-44))?.[0] ?? "";
      done(null, Buffer.from(shown(text.slice(0, text.length - begun.length)), "latin1"));
    },
    flush(done): void {
      done(null, Buffer.from(shown(begun), "latin1"));
    },
  });
}

function shown(text: string): string {
  return text.replace(CONTROLS, (found) =>
    found.length > 2
      ? found
      : `\\x${found
          .charCodeAt(found.length - 1)
          .toString(16)
          .padStart(2, "0")}`,
  );
}

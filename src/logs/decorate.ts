/** Puts something before and after each line. */

/** What goes around each line, as `binary` strings. */
export type Look = { readonly before: string; readonly after: string };

const OUT_BYTES = 256 * 1024;
/** Longest id in front of a line in a file, in bytes. With the stamp the prefix stays below 100 bytes. */
const MAX_ID_BYTES = 64;

/** One for all: what `decorate` returns is used up before the next call. Made when first needed. */
let out: Buffer | undefined;

/** Text as a string of its UTF-8 bytes, one character each: such strings pass through `latin1` undamaged. */
export function binary(text: string): string {
  return Buffer.from(text).toString("latin1");
}

/** The id as it stands in files, in front of the line. */
export function fileId(id: string): string {
  let end = id.length;
  while (Buffer.byteLength(id.slice(0, end)) > MAX_ID_BYTES) end -= 1;
  return `${binary(id.slice(0, end))} `;
}

/**
 * `lines` are whole lines. The result is valid until the next call.
 *
 * One trip of the whole chunk through a latin1 string is twice as fast as copying line by line (1.3 against 0.66 GB/s):
 * `replaceAll` is one native search, a `Buffer.copy` per line two calls and an allocation.
 */
export function decorate(lines: Buffer, look: Look): Buffer {
  const between = `${look.after}\n${look.before}`.replaceAll("$", "$$$$");
  const text = lines.toString("latin1", 0, lines.length - 1).replaceAll("\n", between);
  const length = look.before.length + text.length + look.after.length + 1;
  out ??= Buffer.allocUnsafeSlow(OUT_BYTES);
  const target = length > out.length ? Buffer.allocUnsafeSlow(length) : out;
  // Piece by piece: joined first, they would be copied once more.
  let at = target.write(look.before, 0, "latin1");
  at += target.write(text, at, "latin1");
  at += target.write(`${look.after}\n`, at, "latin1");
  return target.subarray(0, at);
}

/** Whole lines out of chunks. Splits on byte 0x0A only, so no character of any encoding that keeps ASCII is ever broken. */

/** A longer line is cut here and goes on as a line of its own: memory stays bounded, no byte is lost. */
export const MAX_LINE_BYTES = 1024 * 1024;
/** Free bytes that `push` expects in front of each chunk: a carried partial line this long costs one copy and no write of its own. */
export const HEAD_ROOM = 64 * 1024;

const NEWLINE = 0x0a;
/** A carry buffer that grew beyond this is let go once it is empty: thousands of streams rest at the same time. */
const KEEP_BYTES = 4096;

export function cutMark(limit: number): string {
  return ` …[procman: line cut at ${limit} bytes, continues]\n`;
}

/** How many bytes the character has that begins with this byte, as UTF-8 says. */
function charBytes(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}

/** How many bytes at the end of `bytes` begin a UTF-8 character that is not complete there. */
function brokenTail(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length - 1); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return charBytes(byte) > back ? back : 0;
  }
  return 0;
}

export class LineSplitter {
  readonly #emit: (lines: Buffer) => void;
  readonly #limit: number;
  readonly #mark: Buffer;
  /** The partial line so far: the first `#length` bytes. */
  #carry = Buffer.alloc(0);
  #length = 0;

  /** `emit` gets one or more whole lines (the last byte is a newline) and must be done with them when it returns. */
  constructor(emit: (lines: Buffer) => void, limit: number = MAX_LINE_BYTES) {
    this.#emit = emit;
    this.#limit = limit;
    this.#mark = Buffer.from(cutMark(limit));
  }

  /** Takes the bytes `from` … `to` of `area`. What lies in the `HEAD_ROOM` before them is overwritten (the first push needs none). */
  push(area: Buffer, from: number, to: number): void {
    let at = from;
    while (at < to) {
      const fits = this.#length + (to - at) <= this.#limit;
      if (fits && this.#length <= at) {
        this.#pushShort(area, at, to);
        return;
      }
      at = this.#pushLong(area, at, to);
    }
  }

  /** The partial line so far, valid until the next `push`. Another splitter goes on from here if this is pushed into it first. */
  get begun(): Buffer {
    return this.#carry.subarray(0, this.#length);
  }

  /** The stream is over: a last line without newline gets one. */
  flush(): void {
    if (this.#length === 0) return;
    this.#append(Buffer.of(NEWLINE));
    this.#emitCarry();
  }

  /** No line can reach the limit here: all whole lines go out at once, the carry copied in front of them. */
  #pushShort(area: Buffer, from: number, to: number): void {
    const end = area.subarray(from, to).lastIndexOf(NEWLINE) + from + 1;
    if (end > from) {
      const start = from - this.#length;
      this.#carry.copy(area, start, 0, this.#length);
      this.#release();
      this.#emit(area.subarray(start, end));
    }
    if (end < to) this.#append(area.subarray(end, to));
  }

  /** Takes (a part of) one line into the carry and returns how far it came. */
  #pushLong(area: Buffer, from: number, to: number): number {
    const found = area.subarray(from, to).indexOf(NEWLINE);
    const lineEnd = found === -1 ? to : from + found;
    const end = Math.min(lineEnd, from + this.#limit - this.#length);
    this.#append(area.subarray(from, end));
    if (end < lineEnd) {
      this.#cut();
      return end;
    }
    if (found === -1) return end;
    this.#append(area.subarray(end, end + 1));
    this.#emitCarry();
    return end + 1;
  }

  /** The carry is full and the line goes on. A character that the limit would split moves to the next piece. */
  #cut(): void {
    const spare = brokenTail(this.#carry.subarray(0, this.#length));
    const kept = Buffer.from(this.#carry.subarray(this.#length - spare, this.#length));
    this.#length -= spare;
    this.#append(this.#mark);
    this.#emit(this.#carry.subarray(0, this.#length));
    this.#length = 0;
    this.#append(kept);
  }

  #emitCarry(): void {
    const lines = this.#carry.subarray(0, this.#length);
    this.#release();
    this.#emit(lines);
  }

  #release(): void {
    this.#length = 0;
    if (this.#carry.length > KEEP_BYTES) this.#carry = Buffer.alloc(0);
  }

  #append(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#carry.length) {
      // Not from Buffer's pool: a small carry would keep a whole slab alive.
      const doubled = Math.min(Math.max(256, 2 ** Math.ceil(Math.log2(length))), this.#limit + this.#mark.length);
      const grown = Buffer.allocUnsafeSlow(Math.max(length, doubled));
      this.#carry.copy(grown, 0, 0, this.#length);
      this.#carry = grown;
    }
    bytes.copy(this.#carry, this.#length);
    this.#length = length;
  }
}

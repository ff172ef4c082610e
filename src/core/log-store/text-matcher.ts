/** Finds a text in UTF-8 bytes without decoding them. */

/** The upper and lower case variants of a character that have as many UTF-8 bytes as it. */
function variantsOf(character: string): readonly Buffer[] {
  const own = Buffer.from(character);
  const all = [character, character.toLowerCase(), character.toUpperCase()].map((each) => Buffer.from(each));
  return all.filter(
    (variant, index) =>
      variant.length === own.length && all.findIndex((other) => other.equals(variant)) === index && isOne(variant),
  );
}

function isOne(bytes: Buffer): boolean {
  return [...bytes.toString()].length === 1;
}

type TextPosition = { readonly at: number; readonly variants: readonly Buffer[] };

/** A byte of the text: its offset, and its value in each case. */
type TextByte = { readonly at: number; readonly values: readonly number[] };

/** Bytes that are counted before a search. */
const SAMPLE = 4096;
/** A byte is rare if the sample has it at most this often. */
const RARE = 8;

/** Finds places in bytes; each is the beginning of something with this length. */
export type Finder = Pick<TextMatcher, "length" | "find" | "isIn">;

export class TextMatcher {
  readonly length: number;
  readonly #positions: readonly TextPosition[];
  readonly #bytes: readonly TextByte[];
  /** 1 for each byte that may be the last of the text. */
  readonly #last = new Uint8Array(256);
  /** For the byte at the position of the text's last one: how far the text can be shifted (Horspool's algorithm). */
  readonly #shift: Uint32Array;

  /** Searches for a text in UTF-8 bytes, ignoring case, without decoding them. `text` must not be empty. */
  constructor(text: string) {
    const positions: TextPosition[] = [];
    let length = 0;
    for (const character of text) {
      positions.push({ at: length, variants: variantsOf(character) });
      length += Buffer.byteLength(character);
    }
    this.length = length;
    this.#positions = positions;
    this.#bytes = positions.flatMap(bytesOf);
    this.#shift = new Uint32Array(256).fill(length);
    for (const { at, values } of this.#bytes)
      for (const value of values) {
        if (at === length - 1) this.#last[value] = 1;
        else this.#shift[value] = length - 1 - at;
      }
  }

  /** Start of the first match between `from` and `to`, or -1. */
  find(bytes: Buffer, from: number, to: number): number {
    const last = this.#last;
    const shift = this.#shift;
    const back = this.length - 1;
    let at = from + back;
    while (at < to) {
      const byte = bytes[at] as number;
      if (last[byte] === 1 && this.#isAt(bytes, at - back)) return at - back;
      at += shift[byte] as number;
    }
    return -1;
  }

  /** Whether the text is in these bytes. For a block, faster than `find` (docs/design/performance.md). */
  isIn(bytes: Buffer): boolean {
    const rare = this.#rareIn(bytes);
    return rare === undefined ? this.#isInHalves(bytes) : this.#isAround(rare, bytes);
  }

  /** The byte of the text that these bytes have most rarely; undefined if none is so rare that `indexOf` is faster than `find`. */
  #rareIn(bytes: Buffer): TextByte | undefined {
    // Odd, so that lines of equal lengths don't always show the same columns.
    const step = Math.floor(bytes.length / SAMPLE) | 1;
    const counts = new Uint16Array(256);
    for (let at = 0; at < bytes.length; at += step) (counts[bytes[at] as number] as number) += 1;
    let rarest: TextByte | undefined;
    let least: number = RARE + 1;
    for (const byte of this.#bytes) {
      const count = byte.values.reduce((sum, value) => sum + (counts[value] as number), 0);
      if (count < least) {
        rarest = byte;
        least = count;
      }
    }
    return rarest;
  }

  #isAround({ at, values }: TextByte, bytes: Buffer): boolean {
    return values.some((value) => {
      let hit = bytes.indexOf(value, at);
      while (hit !== -1 && !this.#isAt(bytes, hit - at)) hit = bytes.indexOf(value, hit + 1);
      return hit !== -1;
    });
  }

  /** Like `find`, searching both halves by turns to hide the latency of memory. */
  #isInHalves(bytes: Buffer): boolean {
    const last = this.#last;
    const shift = this.#shift;
    const back = this.length - 1;
    const end = bytes.length;
    const half = end >> 1;
    let left = back;
    let right = half + back;
    while (left < half && right < end) {
      const leftByte = bytes[left] as number;
      const rightByte = bytes[right] as number;
      if (last[leftByte] === 1 && this.#isAt(bytes, left - back)) return true;
      if (last[rightByte] === 1 && this.#isAt(bytes, right - back)) return true;
      left += shift[leftByte] as number;
      right += shift[rightByte] as number;
    }
    return (
      this.find(bytes, left - back, Math.min(half + back, end)) !== -1 || this.find(bytes, right - back, end) !== -1
    );
  }

  #isAt(bytes: Buffer, start: number): boolean {
    for (const { at, variants } of this.#positions) if (!isOneAt(bytes, start + at, variants)) return false;
    return true;
  }
}

/** All variants of a character have as many bytes. */
function bytesOf({ at, variants }: TextPosition): readonly TextByte[] {
  return Array.from(variants[0] ?? [], (_, offset) => ({
    at: at + offset,
    values: [...new Set(variants.map((variant) => variant[offset] as number))],
  }));
}

function isOneAt(bytes: Buffer, start: number, variants: readonly Buffer[]): boolean {
  for (const variant of variants) if (isEqual(bytes, start, variant)) return true;
  return false;
}

function isEqual(bytes: Buffer, start: number, variant: Buffer): boolean {
  for (let offset = 0; offset < variant.length; offset += 1)
    if (bytes[start + offset] !== variant[offset]) return false;
  return true;
}

/** Finds a text among bytes, upper and lower case alike, without decoding them. */

/** Alike are a character and those that it becomes in upper and lower case, where these have as many bytes of UTF-8. */
function variantsOf(character: string): readonly Buffer[] {
  const own = Buffer.from(character);
  const all = [character, character.toLowerCase(), character.toUpperCase()].map((each) => Buffer.from(each));
  return all.filter(
    (variant, index) => variant.length === own.length && all.findIndex((other) => other.equals(variant)) === index && isOne(variant),
  );
}

function isOne(bytes: Buffer): boolean {
  return [...bytes.toString()].length === 1;
}

type Place = { readonly at: number; readonly variants: readonly Buffer[] };

export class Needle {
  readonly length: number;
  readonly #places: readonly Place[];
  /** For each byte that may end the text: 1. */
  readonly #last = new Uint8Array(256);
  /** For the byte at the place of the text's last one: how far the text can be moved on (Horspool's search). */
  readonly #shift: Uint32Array;

  /** `text`: not empty. */
  constructor(text: string) {
    const places: Place[] = [];
    let length = 0;
    for (const character of text) {
      places.push({ at: length, variants: variantsOf(character) });
      length += Buffer.byteLength(character);
    }
    this.length = length;
    this.#places = places;
    this.#shift = new Uint32Array(256).fill(length);
    for (const { at, variants } of places)
      for (const variant of variants)
        for (const [offset, byte] of variant.entries()) {
          if (at + offset === length - 1) this.#last[byte] = 1;
          else this.#shift[byte] = length - 1 - at - offset;
        }
  }

  /** Where it begins, at `from` or later, and ends at `to` or earlier; -1: nowhere. */
  find(bytes: Uint8Array, from: number, to: number): number {
    const [last, shift, back] = [this.#last, this.#shift, this.length - 1];
    let at = from + back;
    while (at < to) {
      const byte = bytes[at] as number;
      if (last[byte] === 1 && this.#isAt(bytes, at - back)) return at - back;
      at += shift[byte] as number;
    }
    return -1;
  }

  #isAt(bytes: Uint8Array, start: number): boolean {
    return this.#places.every(({ at, variants }) => variants.some((variant) => isEqual(bytes, start + at, variant)));
  }
}

function isEqual(bytes: Uint8Array, start: number, variant: Buffer): boolean {
  for (let offset = 0; offset < variant.length; offset += 1) if (bytes[start + offset] !== variant[offset]) return false;
  return true;
}

/** SipHash-2-4: a keyed hash of 64 bits for short texts. Loading `node:crypto` for an HMAC would cost each start 7 ms. */

/** 64 bits as two unsigned halves: low, high. */
type Word = [low: number, high: number];

const KEY_BYTES = 16;

/** `key`: 32 hexadecimal digits. Returns 16. Without the key nobody can compute it, whatever other texts and hashes are known. */
export function sipHash(key: string, text: string): string {
  const [k0, k1] = wordsOf(
    Uint8Array.from({ length: KEY_BYTES }, (_, at) => Number.parseInt(key.slice(2 * at, 2 * at + 2), 16)),
  ) as [Word, Word];
  const v0: Word = [k0[0] ^ 0x70736575, k0[1] ^ 0x736f6d65];
  const v1: Word = [k1[0] ^ 0x6e646f6d, k1[1] ^ 0x646f7261];
  const v2: Word = [k0[0] ^ 0x6e657261, k0[1] ^ 0x6c796765];
  const v3: Word = [k1[0] ^ 0x79746573, k1[1] ^ 0x74656462];
  const state = [v0, v1, v2, v3] as const;
  for (const word of wordsOf(padded(new TextEncoder().encode(text)))) {
    xor(v3, word);
    rounds(state, 2);
    xor(v0, word);
  }
  v2[0] ^= 0xff;
  rounds(state, 4);
  for (const each of [v1, v2, v3]) xor(v0, each);
  return [v0[1], v0[0]].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Zeros up to a multiple of eight, the last byte being the length. */
function padded(bytes: Uint8Array): Uint8Array {
  const all = new Uint8Array((Math.floor(bytes.length / 8) + 1) * 8);
  all.set(bytes);
  all[all.length - 1] = bytes.length;
  return all;
}

function wordsOf(bytes: Uint8Array): readonly Word[] {
  const view = new DataView(bytes.buffer);
  return Array.from({ length: bytes.length / 8 }, (_, at) => [
    view.getUint32(8 * at, true),
    view.getUint32(8 * at + 4, true),
  ]);
}

function rounds([v0, v1, v2, v3]: readonly [Word, Word, Word, Word], count: number): void {
  for (let round = 0; round < count; round++) {
    mix(v0, v1, 13);
    swap(v0);
    mix(v2, v3, 16);
    mix(v0, v3, 21);
    mix(v2, v1, 17);
    swap(v2);
  }
}

/** Adds the second to the first, then rotates the second and combines it with the sum. */
function mix(one: Word, other: Word, bits: number): void {
  const low = (one[0] >>> 0) + (other[0] >>> 0);
  one[1] = (one[1] + other[1] + (low > 0xffff_ffff ? 1 : 0)) | 0;
  one[0] = low | 0;
  const [otherLow, otherHigh] = other;
  other[0] = ((otherLow << bits) | (otherHigh >>> (32 - bits))) ^ one[0];
  other[1] = ((otherHigh << bits) | (otherLow >>> (32 - bits))) ^ one[1];
}

function xor(one: Word, other: Word): void {
  one[0] ^= other[0];
  one[1] ^= other[1];
}

/** A rotation by 32 bits. */
function swap(word: Word): void {
  word.reverse();
}

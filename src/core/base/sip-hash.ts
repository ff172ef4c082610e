/** SipHash-2-4: a keyed hash of 64 bits for short texts. Loading `node:crypto` for an HMAC would cost each start 7 ms. */

/** 64 bits as two unsigned halves: low, high. */
type Word = [low: number, high: number];

/** `key`: 32 hexadecimal digits. Returns 16. Without the key nobody can compute it, whatever other texts and hashes are known. */
export function sipHash(key: string, text: string): string {
  const secret = Buffer.from(key, "hex");
  const [k0, k1] = [wordAt(secret, 0), wordAt(secret, 8)];
  const v0: Word = [k0[0] ^ 0x70736575, k0[1] ^ 0x736f6d65];
  const v1: Word = [k1[0] ^ 0x6e646f6d, k1[1] ^ 0x646f7261];
  const v2: Word = [k0[0] ^ 0x6e657261, k0[1] ^ 0x6c796765];
  const v3: Word = [k1[0] ^ 0x79746573, k1[1] ^ 0x74656462];
  const state = [v0, v1, v2, v3] as const;
  const bytes = padded(text);
  for (let at = 0; at < bytes.length; at += 8) {
    const word = wordAt(bytes, at);
    xor(v3, word);
    rounds(state, 2);
    xor(v0, word);
  }
  v2[0] ^= 0xff;
  rounds(state, 4);
  for (const each of [v1, v2, v3]) xor(v0, each);
  return [v0[1], v0[0]].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

/** The text, zeros up to a multiple of eight bytes, and its length as the last byte. */
function padded(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.alloc((Math.floor(length / 8) + 1) * 8);
  bytes.write(text);
  bytes[bytes.length - 1] = length;
  return bytes;
}

function wordAt(bytes: Buffer, at: number): Word {
  return [bytes.readUInt32LE(at), bytes.readUInt32LE(at + 4)];
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
  const [low] = word;
  word[0] = word[1];
  word[1] = low;
}

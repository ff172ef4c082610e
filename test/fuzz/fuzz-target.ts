/** What is fuzzed, and the odd bytes and values that it gets. All follow from a seed. */
import type { SeededRandom } from "../support/seeded-random.ts";

/** A part of procman that reads what another wrote. */
export type FuzzTarget = {
  /** A whole input, so that a file with it repeats the case. */
  readonly input: (random: SeededRandom) => Buffer;
  /** Rejects if procman does with it what it must not. */
  readonly check: (input: Buffer) => Promise<void>;
  /** Ends what `open` has started, after a last look at it. */
  readonly close?: () => Promise<void>;
};

export function whole(random: SeededRandom, below: number): number {
  return Math.floor(random.between(0, below));
}

/** A part of the bytes: mostly a short one. */
function part(bytes: Buffer, random: SeededRandom): { readonly from: number; readonly to: number } {
  const from = whole(random, bytes.length);
  const longest = random.next() < 0.8 ? Math.min(16, bytes.length - from) : bytes.length - from;
  return { from, to: from + whole(random, longest + 1) };
}

function replaced(bytes: Buffer, { from, to }: { readonly from: number; readonly to: number }, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)]);
}

function randomBytes(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => whole(random, 256)));
}

/** Most repetitions of a part, and the length up to which an input grows by them. */
const MAX_REPEATS = 2_000;
const MAX_BYTES = 16 * 1024;

const DAMAGES: readonly ((bytes: Buffer, random: SeededRandom, words: readonly string[]) => Buffer)[] = [
  // A flipped bit, another byte, a torn end, a hole, zeros.
  (bytes, random) => {
    const at = whole(random, bytes.length);
    return replaced(bytes, { from: at, to: at + 1 }, Buffer.from([(bytes[at] ?? 0) ^ (1 << whole(random, 8))]));
  },
  (bytes, random) => {
    const at = whole(random, bytes.length);
    return replaced(bytes, { from: at, to: at + 1 }, randomBytes(random, 1));
  },
  (bytes, random) => bytes.subarray(0, whole(random, bytes.length)),
  (bytes, random) => replaced(bytes, part(bytes, random), Buffer.alloc(0)),
  (bytes, random) => {
    const place = part(bytes, random);
    return replaced(bytes, place, Buffer.alloc(place.to - place.from));
  },
  // Random bytes, a word of the format, a part doubled, a part many times.
  (bytes, random) => replaced(bytes, part(bytes, random), randomBytes(random, 1 + whole(random, 12))),
  (bytes, random, words) =>
    replaced(bytes, part(bytes, random), Buffer.from(words.length === 0 ? "0" : random.of(words))),
  (bytes, random) => {
    const { from, to } = part(bytes, random);
    return replaced(bytes, { from: to, to }, bytes.subarray(from, to));
  },
  (bytes, random) => {
    const { from, to } = part(bytes, random);
    const times = Math.min(whole(random, MAX_REPEATS), Math.floor(MAX_BYTES / Math.max(1, to - from)));
    return replaced(
      bytes,
      { from: to, to },
      Buffer.concat(Array.from({ length: times }, () => bytes.subarray(from, to))),
    );
  },
];

/** The bytes with `times` damages; `words`: texts that mean something in their format. */
export function damaged(
  bytes: Buffer,
  random: SeededRandom,
  { times = 1 + whole(random, 4), words = [] as readonly string[] } = {},
): Buffer {
  let result = bytes;
  for (let left = times; left > 0; left -= 1) result = random.of(DAMAGES)(result, random, words);
  return result;
}

const ODD_VALUES: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 0.5,
  () => 2 ** 53,
  () => 1e308,
  () => "",
  () => "\u0000",
  () => "\u001b[2J\r\n\u009b31m\u202e",
  () => "../outside",
  () => "__proto__",
  () => "x".repeat(70_000),
  () => "\ud800",
  () => [],
  () => [[]],
  () => ({}),
  () => JSON.parse('{"__proto__":{"t":"x"},"constructor":1,"toString":2}') as unknown,
  () => JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`) as unknown,
];

function oddValue(random: SeededRandom): unknown {
  return random.of(ODD_VALUES)();
}

/** A JSON value in which one member is replaced, removed, renamed or doubled. */
export function oddJson(value: unknown, random: SeededRandom): unknown {
  if (typeof value !== "object" || value === null || random.next() < 0.1) return oddValue(random);
  if (Array.isArray(value)) {
    const at = whole(random, value.length);
    const member: unknown = value[at];
    const by = random.weighted({ inside: 6, gone: 1, twice: 1 });
    return value.toSpliced(
      at,
      1,
      ...(by === "gone" ? [] : by === "twice" ? [member, member] : [oddJson(member, random)]),
    );
  }
  const entries = Object.entries(value);
  const [key, member] = random.of(entries) ?? ["", undefined];
  const by = random.weighted({ inside: 8, gone: 2, renamed: 1 });
  const others = entries.filter(([each]) => each !== key);
  if (by === "gone") return Object.fromEntries(others);
  return Object.fromEntries([...others, by === "renamed" ? [`${key}x`, member] : [key, oddJson(member, random)]]);
}

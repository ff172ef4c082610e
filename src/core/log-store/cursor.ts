/** A position between two entries, at which a page or a follower continues. */
import { ProcmanError } from "../base/errors.ts";

/**
 * An offset in each segment that is not read to its end or may still grow, by the segments' numbers. Other segments
 * before the last of these have been read, those after it have not. Offsets are of uncompressed bytes, so that a
 * position stays valid when the segment is compressed.
 */
export class StoreCursor {
  readonly #at: Map<number, number>;
  readonly #closed = new Set<number>();
  #last: number;

  constructor(at: Iterable<readonly [segment: number, byte: number]> = []) {
    this.#at = new Map(at);
    this.#last = Math.max(-1, ...this.#at.keys());
  }

  static read(cursor: string): StoreCursor {
    const parts = cursor.split("_").map((part) => /^([0-9a-z]{1,11})-([0-9a-z]{1,11})$/.exec(part));
    const at = parts.map(
      (part) => [Number.parseInt(part?.[1] ?? "", 36), Number.parseInt(part?.[2] ?? "", 36)] as const,
    );
    if (at.flat().every((number) => Number.isSafeInteger(number))) return new StoreCursor(at);
    throw new ProcmanError(
      "usage",
      `Cannot read the log from cursor ${JSON.stringify(cursor)}: it is not a valid cursor; leave it out to start from the beginning`,
    );
  }

  /** Number of the last known segment; -1: none. */
  get last(): number {
    return this.#last;
  }

  /** Reading forwards: the offset at which to continue in this segment; undefined: it was read completely. */
  begin(segment: number): number | undefined {
    return this.#at.get(segment) ?? (segment > this.#last ? 0 : undefined);
  }

  /** Reading backwards: the offset before which to continue in this segment; undefined: nothing of it is left. */
  end(segment: number): number | undefined {
    return this.#at.get(segment) ?? (segment < this.#last || this.#last === -1 ? Number.MAX_SAFE_INTEGER : undefined);
  }

  /** Records that the segment was read up to `byte`. `isGrowing`: it may grow. */
  pass(segment: number, byte: number, isGrowing: boolean): void {
    this.#at.set(segment, byte);
    if (!isGrowing) this.#closed.add(segment);
    this.#last = Math.max(this.#last, segment);
    for (const each of this.#closed) if (each !== this.#last) this.#at.delete(each);
  }

  /** The same position, but ending at this byte: excludes the rest of the segment and later segments. */
  upTo(segment: number, byte: number): StoreCursor {
    return new StoreCursor([...[...this.#at].filter(([each]) => each < segment), [segment, byte]]);
  }

  /** The cursors of positions in this segment; those of other segments stay as they are now. */
  cursors(segment: number): (byte: number) => string {
    const others = [...this.#at].filter(([each]) => each !== segment);
    const rest = others.map(([each, byte]) => `_${part(each, byte)}`).join("");
    return (byte) => part(segment, byte) + rest;
  }
}

/** Cursor of a page that is read backwards: everything before this byte. */
export function cursorBefore(segment: number, byte: number): string {
  return part(segment, byte);
}

export function encodeCursor(position: StoreCursor): string {
  return position.last === -1 ? part(0, 0) : position.cursors(position.last)(position.begin(position.last) ?? 0);
}

function part(segment: number, byte: number): string {
  return `${segment.toString(36)}-${byte.toString(36)}`;
}

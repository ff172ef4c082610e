/** A place between two entries: where a page or a follower goes on. */
import { ProcmanError } from "../base/errors.ts";

/**
 * A byte in each segment that is not read to its end or may still grow, by the segments' numbers. Of the others,
 * those before the last of these are behind the place and those after it before it. Bytes are counted uncompressed,
 * so a place means the same whatever becomes of the segment.
 */
export class Place {
  readonly #at: Map<number, number>;
  readonly #closed = new Set<number>();
  #last: number;

  constructor(at: Iterable<readonly [segment: number, byte: number]> = []) {
    this.#at = new Map(at);
    this.#last = Math.max(-1, ...this.#at.keys());
  }

  static read(cursor: string): Place {
    const parts = cursor.split("_").map((part) => /^([0-9a-z]{1,11})-([0-9a-z]{1,11})$/.exec(part));
    const at = parts.map((part) => [Number.parseInt(part?.[1] ?? "", 36), Number.parseInt(part?.[2] ?? "", 36)] as const);
    if (at.flat().every((number) => Number.isSafeInteger(number))) return new Place(at);
    throw new ProcmanError("usage", `Cannot read the log from cursor ${JSON.stringify(cursor)}: it is none; leave it out to begin anew`);
  }

  /** Number of the last segment that anything is known of; -1: none. */
  get last(): number {
    return this.#last;
  }

  /** Reading forwards: from which byte on this segment is still to be read; undefined: it is behind the place. */
  begin(segment: number): number | undefined {
    return this.#at.get(segment) ?? (segment > this.#last ? 0 : undefined);
  }

  /** Reading backwards: up to which byte; undefined: nothing of it. */
  end(segment: number): number | undefined {
    return this.#at.get(segment) ?? (segment < this.#last || this.#last === -1 ? Number.MAX_SAFE_INTEGER : undefined);
  }

  /** This segment was read so far. `isGrowing`: it may be longer later. */
  pass(segment: number, byte: number, isGrowing: boolean): void {
    this.#at.set(segment, byte);
    if (!isGrowing) this.#closed.add(segment);
    this.#last = Math.max(this.#last, segment);
    for (const each of this.#closed) if (each !== this.#last) this.#at.delete(each);
  }

  /** The same, but nothing from this byte on is read, and nothing of later segments. */
  upTo(segment: number, byte: number): Place {
    return new Place([...[...this.#at].filter(([each]) => each < segment), [segment, byte]]);
  }

  /** The cursors of places in this segment, all else being as it is now. */
  cursors(segment: number): (byte: number) => string {
    const others = [...this.#at].filter(([each]) => each !== segment);
    const rest = others.map(([each, byte]) => `_${part(each, byte)}`).join("");
    return (byte) => part(segment, byte) + rest;
  }
}

/** Of a page that is read backwards: all that comes before this byte. */
export function cursorBefore(segment: number, byte: number): string {
  return part(segment, byte);
}

export function cursorOf(place: Place): string {
  return place.last === -1 ? part(0, 0) : place.cursors(place.last)(place.begin(place.last) ?? 0);
}

function part(segment: number, byte: number): string {
  return `${segment.toString(36)}-${byte.toString(36)}`;
}

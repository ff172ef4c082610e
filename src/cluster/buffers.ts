/** Memory that connections share: a connection that carries little owns none. */

/** All quiet connections read into one buffer of this size; who fills it gets a large one of its own. */
export const SMALL_BYTES = 16_384;
const LARGE_BYTES = 65_536;
/** As many large ones are kept for the next. */
const KEPT = 64;
const DESK_BYTES = 4 * SMALL_BYTES;

export const shared: Buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);

const free: Buffer[] = [];

export function takeLarge(): Buffer {
  return free.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
}

export function giveBack(buffer: Buffer): void {
  if (free.length < KEPT) free.push(buffer);
}

let desk = Buffer.allocUnsafeSlow(DESK_BYTES);
let used = 0;

/** A copy of the first bytes of `shared`, in memory that is used again with the next call unless `keepCopy` was called. */
export function copyOfShared(count: number): Buffer {
  if (used + count > DESK_BYTES) {
    desk = Buffer.allocUnsafeSlow(DESK_BYTES);
    used = 0;
  }
  const copy = desk.subarray(used, used + count);
  shared.copy(copy, 0, 0, count);
  return copy;
}

/** The last copy has not been written yet: it stays as it is. The desk that it lies on is freed with the last of its copies. */
export function keepCopy(count: number): void {
  used += count;
}

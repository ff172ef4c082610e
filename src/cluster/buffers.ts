/** Memory that connections share: a connection that carries little owns none. */

/** All quiet connections read into one buffer of this size; who fills it gets a large one of its own. */
export const SMALL_BYTES = 16_384;
const LARGE_BYTES = 65_536;
/** As many large ones are kept for the next. */
const KEPT = 64;
/** The first so many get more: each further doubling saves system calls, half of the time of a download. */
const HUGE_BYTES = 262_144;
const HUGE = 16;
const DESK_BYTES = 4 * SMALL_BYTES;

export const shared: Buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);

const free: Buffer[] = [];
const freeHuge: Buffer[] = [];
/** Huge ones that somebody has. */
let lent = 0;

export function takeLarge(): Buffer {
  if (lent >= HUGE) return free.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
  lent += 1;
  return freeHuge.pop() ?? Buffer.allocUnsafeSlow(HUGE_BYTES);
}

export function giveBack(buffer: Buffer): void {
  forget(buffer);
  if (buffer.length === HUGE_BYTES) freeHuge.push(buffer);
  else if (free.length < KEPT) free.push(buffer);
}

/** It is not needed any more, but may not be used again. */
export function forget(buffer: Buffer): void {
  if (buffer.length === HUGE_BYTES) lent -= 1;
}

let desk = Buffer.allocUnsafeSlow(DESK_BYTES);
let used = 0;

/** Views of the first bytes of `shared` and of a desk that nothing lies on, by their length: making one costs more than copying what is in it. */
const SMALL_VIEW = 2_048;
const sources = noViews();
let targets = noViews();

/** A copy of the first bytes of `shared`, in memory that is used again with the next call unless `keepCopy` was called. */
export function copyOfShared(count: number): Buffer {
  if (used + count > DESK_BYTES) clearDesk();
  const copy = used === 0 ? viewOf(targets, desk, count) : desk.subarray(used, used + count);
  copy.set(viewOf(sources, shared, count));
  return copy;
}

/** The last copy has not been written yet: it stays as it is. The desk that it lies on is freed with the last of its copies. */
export function keepCopy(count: number): void {
  used += count;
}

function clearDesk(): void {
  desk = Buffer.allocUnsafeSlow(DESK_BYTES);
  targets = noViews();
  used = 0;
}

/** As long as it may become: V8 makes a slow table of an array that is written to far behind its end. */
function noViews(): (Buffer | undefined)[] {
  return new Array<Buffer | undefined>(SMALL_VIEW + 1);
}

function viewOf(views: (Buffer | undefined)[], buffer: Buffer, count: number): Buffer {
  if (count > SMALL_VIEW) return buffer.subarray(0, count);
  views[count] ??= buffer.subarray(0, count);
  return views[count];
}

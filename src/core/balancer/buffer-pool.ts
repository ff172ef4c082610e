/** Buffers that connections share: a connection with little traffic owns none. */

/** All quiet connections read into one buffer of this size. A connection that fills it gets a large one. */
export const SMALL_BYTES = 16_384;
const LARGE_BYTES = 65_536;
/** Large buffers kept for reuse. */
const KEPT = 64;
/** The first few connections get huge ones, which take fewer system calls. Figures: docs/design/performance.md. */
const HUGE_BYTES = 262_144;
const HUGE = 16;
const SCRATCH_BYTES = 4 * SMALL_BYTES;

export const shared: Buffer = Buffer.allocUnsafeSlow(SMALL_BYTES);

const free: Buffer[] = [];
const freeHuge: Buffer[] = [];
/** Huge buffers in use. */
let lent = 0;

export function takeLarge(): Buffer {
  if (lent >= HUGE) return free.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
  lent += 1;
  return freeHuge.pop() ?? Buffer.allocUnsafeSlow(HUGE_BYTES);
}

export function giveBack(buffer: Buffer): void {
  discard(buffer);
  if (buffer.length === HUGE_BYTES) freeHuge.push(buffer);
  else if (free.length < KEPT) free.push(buffer);
}

/** For a buffer that the kernel may still read from: it is not reused. */
export function discard(buffer: Buffer): void {
  if (buffer.length === HUGE_BYTES) lent -= 1;
}

let scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
let used = 0;

/** A copy of the first bytes of `shared`. Its memory is reused by the next call, unless `keepCopy` was called. */
export function copyOfShared(count: number): Buffer {
  if (used + count > SCRATCH_BYTES) replaceScratch();
  shared.copy(scratch, used, 0, count);
  return scratch.subarray(used, used + count);
}

/** The last copy is not written yet: its memory stays as it is. A scratch buffer is freed with the last of its copies. */
export function keepCopy(count: number): void {
  used += count;
}

function replaceScratch(): void {
  scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  used = 0;
}

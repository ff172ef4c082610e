/**
 * FIFOs of coming runs, held open: what a run writes before `open` arrives stays readable, even if the run has ended and the keeper
 * was killed meanwhile.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from "node:fs";
import { errnoOf } from "../base/errors.ts";

/** So many are held without a look whether they still exist. */
const UNCHECKED = 256;

export class HeldFifos {
  readonly #fds = new Map<string, number>();
  /** When more are held, those that were removed are released. */
  #limit = UNCHECKED;

  /**
   * `others`: for each path another one that leads to the same FIFO while its folder has no rights. A path that can't be opened
   * now is not held.
   */
  hold(paths: readonly string[], others: readonly string[] = []): void {
    for (const [index, path] of paths.entries()) {
      this.#release(path);
      try {
        this.#fds.set(path, openFifo(path, others[index]));
      } catch {
        // Removed, or no descriptor is free: then it is opened with `open`.
      }
    }
    if (this.#fds.size > this.#limit) this.#releaseRemoved();
  }

  /** The descriptor of this FIFO, which then belongs to the caller; undefined: it isn't held. */
  take(path: string): number | undefined {
    const fd = this.#fds.get(path);
    if (fd === undefined) return undefined;
    if (isRemoved(path, fd)) return void this.#release(path);
    this.#fds.delete(path);
    return fd;
  }

  /** `take` may never be called for a FIFO that was removed. The limit grows with the number of those that exist, so that a run costs few looks. */
  #releaseRemoved(): void {
    for (const [path, fd] of this.#fds) if (isRemoved(path, fd)) this.#release(path);
    this.#limit = Math.max(UNCHECKED, 2 * this.#fds.size);
  }

  #release(path: string): void {
    const fd = this.#fds.get(path);
    if (fd !== undefined) closeSync(fd);
    this.#fds.delete(path);
  }
}

function openFifo(path: string, other: string | undefined): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) !== "EACCES" || other === undefined) throw error;
    return openFifo(other, undefined);
  }
}

/** Whether the path has no file any more, or another one. In a folder without rights nothing says so. */
function isRemoved(path: string, fd: number): boolean {
  try {
    return fstatSync(fd).ino !== statSync(path, { throwIfNoEntry: false })?.ino;
  } catch (error) {
    return errnoOf(error) !== "EACCES";
  }
}

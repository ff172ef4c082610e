/**
 * FIFOs of coming runs, held open: what a run writes before `open` arrives stays readable, even if the run has ended and the keeper
 * was killed meanwhile.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from "node:fs";

export class HeldFifos {
  readonly #fds = new Map<string, number>();

  /** A path that can't be opened now is not held. */
  hold(paths: readonly string[]): void {
    for (const path of paths) {
      this.#release(path);
      try {
        this.#fds.set(path, openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
      } catch {
        // Removed, or no descriptor is free: then it is opened with `open`.
      }
    }
  }

  /** The descriptor of this FIFO, which then belongs to the caller; undefined: it isn't held. */
  take(path: string): number | undefined {
    const fd = this.#fds.get(path);
    if (fd === undefined) return undefined;
    if (fstatSync(fd).ino !== statSync(path, { throwIfNoEntry: false })?.ino) return void this.#release(path);
    this.#fds.delete(path);
    return fd;
  }

  #release(path: string): void {
    const fd = this.#fds.get(path);
    if (fd !== undefined) closeSync(fd);
    this.#fds.delete(path);
  }
}

/**
 * FIFOs of coming runs, held open: what a run writes before `open` arrives stays readable, even if the run has ended
 * and the keeper was killed meanwhile.
 */
import { closeSync, constants } from "node:fs";
import { errnoOf } from "../base/errors.ts";
import { leadsTo, openWithFallback } from "../os/open-files.ts";
import type { DescriptorRoom } from "./log-file.ts";

/** So many are held without a look whether they still exist. */
const UNCHECKED = 256;

const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

export class HeldFifos {
  readonly #room: DescriptorRoom | undefined;
  readonly #fds = new Map<string, number>();
  /** When more are held, those that were removed are released. */
  #limit = UNCHECKED;

  constructor(room?: DescriptorRoom) {
    this.#room = room;
  }

  /** Opens each path, or its fallback if the folder of the path has no rights. A FIFO that can't be opened now is not held. */
  hold(paths: readonly string[], fallbacks: readonly string[] = []): void {
    for (const [index, path] of paths.entries()) {
      // Before the former descriptor is closed: it may be the last that keeps unread bytes.
      const fd = this.#openIfFree(path, fallbacks[index]);
      if (fd === undefined) continue;
      this.#release(path);
      this.#fds.set(path, fd);
    }
    this.#room?.restore();
    if (this.#fds.size > this.#limit) this.#releaseRemoved();
  }

  /** undefined: removed, or no descriptor is free; then it is opened with `open`. */
  #openIfFree(path: string, fallback: string | undefined): number | undefined {
    try {
      return openWithFallback(path, fallback, FLAGS);
    } catch (error) {
      return errnoOf(error) === "EMFILE" && this.#room?.make() === true ? this.#openIfFree(path, fallback) : undefined;
    }
  }

  /** The descriptor of this FIFO, which then belongs to the caller; undefined: it isn't held. */
  take(path: string): number | undefined {
    const fd = this.#fds.get(path);
    if (fd === undefined) return undefined;
    if (!leadsTo(path, fd)) return void this.#release(path);
    this.#fds.delete(path);
    return fd;
  }

  /** `take` may never be called for a FIFO that was removed. The limit grows with the number of those that exist, so that a run costs few looks. */
  #releaseRemoved(): void {
    for (const [path, fd] of this.#fds) if (!leadsTo(path, fd)) this.#release(path);
    this.#limit = Math.max(UNCHECKED, 2 * this.#fds.size);
  }

  #release(path: string): void {
    const fd = this.#fds.get(path);
    if (fd !== undefined) closeSync(fd);
    this.#fds.delete(path);
  }
}

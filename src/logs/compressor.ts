/** Compresses rotated files in the background, one at a time for the whole logger. */

import { createReadStream, createWriteStream, renameSync, rmSync } from "node:fs";
import { failpoint } from "../os/failpoint.ts";

/** The rotated files of one log. */
export type Compressible = {
  /** The next file to compress. */
  readonly next: () => string | undefined;
  /** How it went. */
  readonly compressed: (error?: unknown) => void;
};

/** Whole or not at all: the name `.gz` appears when everything is in it. */
async function compress(file: string, signal: AbortSignal): Promise<void> {
  // Imported when first needed: a logger that never rotates does without their memory.
  const [{ createGzip }, { pipeline }] = await Promise.all([import("node:zlib"), import("node:stream/promises")]);
  const unfinished = `${file}.gz.tmp`;
  try {
    await pipeline(createReadStream(file), createGzip(), createWriteStream(unfinished, { mode: 0o640 }), { signal });
    failpoint("logger.compressing");
    renameSync(unfinished, `${file}.gz`);
    failpoint("logger.compressed");
    rmSync(file, { force: true });
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

export class Compressor {
  readonly #waiting = new Set<Compressible>();
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  add(archive: Compressible): void {
    this.#waiting.add(archive);
    this.#running ??= this.#run();
  }

  /** Waits at most `ms` for what is under way, then drops it: the plain file stays and is compressed another time. */
  async stop(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(), ms);
    await this.#running;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    for (const archive of this.#waiting) {
      this.#waiting.delete(archive);
      await this.#compressAll(archive);
    }
    this.#running = undefined;
  }

  async #compressAll(archive: Compressible): Promise<void> {
    for (let file = archive.next(); file !== undefined && !this.#abort.signal.aborted; file = archive.next()) {
      try {
        await compress(file, this.#abort.signal);
        archive.compressed();
      } catch (error) {
        if (!this.#abort.signal.aborted) archive.compressed(error);
        return;
      }
    }
  }
}

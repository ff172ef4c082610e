/** Compresses closed segments in the background, block by block, so that a reader unpacks only what it looks at. */
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Block, readBlocks, writeBlock } from "./block.ts";
import { pack } from "./codec.ts";
import { readPart } from "./part.ts";
import { release } from "./release.ts";
import { indexFile, segmentFile, segmentsIn, unfinishedFile } from "./shelf.ts";

/** After each block it rests so many times as long as that took: a flood shall have the processors. */
const REST = 3;
/** Another logger compresses the same segment, or was killed while it did that. */
const STALE_MS = 600_000;
const WAIT_MS = 1_000;

export class Packer {
  readonly #isBusy: () => boolean;
  #folder: string | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;

  /** `isBusy`: so much is being written that it is no use to compress, and others need the processors. */
  constructor(isBusy: () => boolean) {
    this.#isBusy = isBusy;
  }

  /** Compresses what there is. Rejects never: what could not be compressed stays as it is, for the next time. */
  run(folder: string): Promise<void> {
    this.#folder = folder;
    this.#again = true;
    this.#running ??= this.#runAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** What is under way is dropped. */
  stop(): void {
    this.#stopped = true;
  }

  async #runAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const folder = this.#folder as string;
      for (const { number, stage } of segmentsIn(folder)) {
        if (stage !== "log" || this.#stopped) continue;
        try {
          await this.#pack(folder, number);
        } catch {
          // No room, or retired meanwhile: it is whole as it was, and tried again with the next one.
          rmSync(unfinishedFile(folder, number), { force: true });
        }
      }
    }
  }

  async #pack(folder: string, number: number): Promise<void> {
    const plain = segmentFile(folder, { number, stage: "log" });
    const blocks = readBlocks(readFileSync(indexFile(folder, number), "utf8"));
    const { size, atime, mtime } = statSync(plain);
    const last = blocks.at(-1);
    // Without a whole index it stays as it is: readers get on with that.
    if (last === undefined || last.at + last.bytes !== size) return;
    const file = unfinishedFile(folder, number);
    if (!isFree(file)) return;
    const packed = await this.#packBlocks(plain, file, blocks);
    if (packed === undefined) return rmSync(file, { force: true });
    const index = `${file}.index`;
    writeFileSync(index, packed.map(writeBlock).join(""), { mode: 0o600 });
    utimesSync(file, atime, mtime);
    // A reader takes the plain one as long as it is there, with either index.
    renameSync(index, indexFile(folder, number));
    renameSync(file, segmentFile(folder, { number, stage: "log.gz" }));
    rmSync(plain, { force: true });
  }

  /** undefined: stopped on the way. */
  async #packBlocks(from: string, to: string, blocks: readonly Block[]): Promise<readonly Block[] | undefined> {
    const done: Block[] = [];
    const source = openSync(from, "r");
    const target = openSync(to, "wx", 0o600);
    try {
      let end = 0;
      for (const block of blocks) {
        while (this.#isBusy() && !this.#stopped) await sleep(WAIT_MS);
        if (this.#stopped) return undefined;
        const began = performance.now();
        const bytes = await readPart(source, block.at, block.bytes);
        if (bytes.length < block.bytes) throw new Error(`${from} is shorter than its index says`);
        const packed = await pack(bytes);
        for (let at = 0; at < packed.length; ) at += writeSync(target, packed, at, packed.length - at, end + at);
        done.push({ ...block, packed: { at: end, bytes: packed.length } });
        end += packed.length;
        release(bytes);
        release(packed);
        await sleep((performance.now() - began) * REST);
      }
      return done;
    } finally {
      closeSync(source);
      closeSync(target);
    }
  }
}

/** Whether nobody else is at it. */
function isFree(file: string): boolean {
  const { mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: 0 };
  if (Date.now() - mtimeMs < STALE_MS) return false;
  rmSync(file, { force: true });
  return true;
}

/** Compresses closed segments in the background, block by block, so that a reader decompresses only what it needs. */
import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { hasEnded } from "../os/process-stat.ts";
import { randomHex } from "../os/random-key.ts";
import { type Block, readBlocks, writeBlock } from "./block.ts";
import { saidIn } from "./block-levels.ts";
import { pack } from "./codec.ts";
import { type LineLevels, storedLevels } from "./level-rules.ts";
import { indexFile, segmentFile, segmentsIn, unfinishedFile, unfinishedFiles } from "./segment-files.ts";
import { readPart, release } from "./segment-reader.ts";

/** After each block the compressor pauses for this multiple of the time it took. */
const PAUSE_FACTOR = 3;
const WAIT_MS = 1_000;

export class SegmentCompressor {
  readonly #isBusy: () => boolean;
  /** In the names of its unfinished files: two loggers, also with one pid in two containers, never write to one file. */
  readonly #owner = `${process.pid}-${randomHex(4)}`;
  #folder: string | undefined;
  #running: Promise<void> | undefined;
  #isRequested = false;
  #stopped = false;

  /** `isBusy`: so much is being written that compression must wait. */
  constructor(isBusy: () => boolean) {
    this.#isBusy = isBusy;
  }

  /** Compresses all closed segments. Never rejects: a segment that can't be compressed stays as it is until the next run. */
  run(folder: string): Promise<void> {
    this.#folder = folder;
    this.#isRequested = true;
    this.#running ??= this.#runAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Cancels the compression in progress. */
  stop(): void {
    this.#stopped = true;
  }

  async #runAll(): Promise<void> {
    while (this.#isRequested && !this.#stopped) {
      this.#isRequested = false;
      try {
        await this.#packAll(this.#folder as string);
      } catch {
        // Maintenance, which looks at the same folder, reports that: everything stays as it was until the next run.
      }
    }
  }

  async #packAll(folder: string): Promise<void> {
    for (const { number, stage } of segmentsIn(folder)) {
      if (stage !== "log" || this.#stopped) continue;
      try {
        await this.#pack(folder, number);
      } catch {
        // No space, or the segment was deleted meanwhile: it stays as it was and is tried again in the next run.
        this.#discard(folder, number);
      }
    }
  }

  async #pack(folder: string, number: number): Promise<void> {
    const plain = segmentFile(folder, { number, stage: "log" });
    const blocks = readBlocks(readFileSync(indexFile(folder, number), "utf8"));
    const { size, atime, mtime } = statSync(plain);
    const last = blocks.at(-1);
    // Without a complete index the segment stays uncompressed; readers can handle that.
    if (last === undefined || last.at + last.bytes !== size) return;
    const file = unfinishedFile(folder, number, this.#owner);
    for (const other of unfinishedFiles(folder, number)) if (isLeftover(other)) rmSync(other, { force: true });
    closeSync(openSync(file, "wx", 0o600));
    // Looked at after its own file is there: of two loggers that begin at once, at least one sees the other.
    const isAlone = unfinishedFiles(folder, number).every((each) => each === file);
    const packed = isAlone ? await this.#packBlocks(plain, file, { blocks, levels: storedLevels(folder) }) : undefined;
    if (packed === undefined) return this.#discard(folder, number);
    const index = `${file}.index`;
    writeFileSync(index, packed.map(writeBlock).join(""), { mode: 0o600 });
    utimesSync(file, atime, mtime);
    // Readers prefer the plain file as long as it exists, and accept either index.
    renameSync(index, indexFile(folder, number));
    renameSync(file, segmentFile(folder, { number, stage: "log.gz" }));
    rmSync(plain, { force: true });
  }

  #discard(folder: string, number: number): void {
    const file = unfinishedFile(folder, number, this.#owner);
    for (const each of [file, `${file}.index`]) rmSync(each, { force: true });
  }

  /** undefined: cancelled. */
  async #packBlocks(from: string, to: string, { blocks, levels }: PackedParts): Promise<readonly Block[] | undefined> {
    const done: Block[] = [];
    const source = openSync(from, "r");
    const target = openSync(to, "r+");
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
        const said = levels.isOff ? {} : { said: { by: levels.key, ids: saidIn(bytes, levels) } };
        done.push({ ...block, ...said, packed: { at: end, bytes: packed.length } });
        end += packed.length;
        release(bytes);
        release(packed);
        await sleep((performance.now() - began) * PAUSE_FACTOR);
      }
      return done;
    } finally {
      closeSync(source);
      closeSync(target);
    }
  }
}

type PackedParts = { readonly blocks: readonly Block[]; readonly levels: LineLevels };

/** Whether the logger that was writing the unfinished file was killed. */
function isLeftover(file: string): boolean {
  const pid = Number(/\.gz\.(\d+)-[0-9a-f]+\.tmp(\.index)?$/.exec(file)?.[1]);
  // This logger compresses one segment at a time, and is between two.
  return pid === process.pid || hasEnded(pid);
}

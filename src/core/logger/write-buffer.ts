/** Lines that a file could not take, and the count of those that were dropped. */

const NEWLINE = 0x0a;

function countLines(lines: Buffer): number {
  let count = 0;
  for (let at = lines.indexOf(NEWLINE); at !== -1; at = lines.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

export class WriteBuffer {
  /** Starts at the beginning of a line. */
  #bytes: Buffer;
  /** Number of bytes already written to the file. */
  #done: number;
  #lostLines = 0;
  #lostBytes = 0;
  /** The part of the losses that is marked in the file. */
  #markedLines = 0;
  #markedBytes = 0;

  constructor(lines: Buffer, done: number) {
    this.#bytes = Buffer.from(lines);
    this.#done = done;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  get done(): number {
    return this.#done;
  }

  /** Whether no line is buffered and all losses are marked. */
  get isEmpty(): boolean {
    return this.#done === this.#bytes.length && this.#lostLines === this.#markedLines;
  }

  get lostLines(): number {
    return this.#lostLines;
  }

  get lostBytes(): number {
    return this.#lostBytes;
  }

  wrote(done: number): void {
    this.#done = done;
  }

  add(lines: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, lines]);
  }

  drop(lines: Buffer): void {
    this.#lostLines += countLines(lines);
    this.#lostBytes += lines.length;
  }

  /** Adds a line about the losses since the last mark. False if there were none. */
  addMark(reason: string): boolean {
    const lines = this.#lostLines - this.#markedLines;
    if (lines === 0) return false;
    const bytes = this.#lostBytes - this.#markedBytes;
    this.#markedLines = this.#lostLines;
    this.#markedBytes = this.#lostBytes;
    this.add(Buffer.from(`[procman: ${lines} lines (${bytes} bytes) lost, ${reason}]\n`));
    return true;
  }

  /** Counts the buffered lines as lost, at the end. */
  giveUp(): void {
    this.drop(this.#bytes.subarray(this.#done));
    this.#done = this.#bytes.length;
  }
}

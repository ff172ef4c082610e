/** The log store as the logger writes it: segments by hour and size; a disk that takes no more costs lines here and nothing else. */
import type { StoreSettings } from "../contract/logger-protocol.ts";
import { makeFolder } from "../os/folder.ts";
import { Packer } from "./packer.ts";
import { Label, type Origin, recordAt } from "./record.ts";
import { repairAll } from "./repair.ts";
import { retire } from "./retention.ts";
import { SegmentWriter } from "./segment-writer.ts";

const HOUR_MS = 3_600_000;
const LARGEST_SEGMENT = 64 * 1024 * 1024;
/** With a small store, one segment is so small a part of it that the oldest can go one by one. */
const SEGMENTS = 8;
/** While it writes, it is looked this often whether somebody has removed the segment. */
const LOOK_MS = 250;
const RETRY_MS = 1000;
const CARE_MS = 60_000;
/** More than that in a second is a flood. */
const FLOOD_BYTES = 32 * 1024 * 1024;
const SECOND_MS = 1000;
/** Until the configuration says more. */
const UNTIL_TOLD: StoreSettings = { hours: 366, bytes: Number.MAX_SAFE_INTEGER };

const NEWLINE = 0x0a;

export type StoreReport = {
  /** Said once until it works again. */
  readonly problem: (folder: string, error: unknown) => void;
  readonly recovered: (folder: string, lostLines: number, lostBytes: number) => void;
};

type Trouble = { readonly error: unknown; retryAt: number; lostLines: number; lostBytes: number };

export type Said = Origin & { readonly at: number; readonly text: string };

export class Store {
  readonly #report: StoreReport;
  readonly #packer = new Packer(() => this.#isFlooded);
  /** Bytes of the second that began at `#since`, and of the one before. */
  #bytes = 0;
  #bytesBefore = 0;
  #since = 0;
  #folder: string | undefined;
  #settings: StoreSettings | undefined;
  #writer: SegmentWriter | undefined;
  #hour = 0;
  #lookAt = 0;
  #trouble: Trouble | undefined;
  #flushing = false;
  #care: NodeJS.Timeout | undefined;
  /** Why that failed, as it was said. */
  #careless: string | undefined;
  #over = false;

  constructor(report: StoreReport) {
    this.#report = report;
  }

  /** Nothing is stored before it is known. */
  set folder(folder: string) {
    this.#folder = folder;
  }

  set settings(settings: StoreSettings) {
    this.#settings = settings;
    if (settings.hours === 0) this.#closeWriter();
    clearInterval(this.#care);
    this.#care = setInterval(() => this.#lookAfter(), CARE_MS).unref();
    // Not at once: a start has better things to do.
    setTimeout(() => this.#lookAfter(), RETRY_MS).unref();
  }

  /** `lines`: whole ones of this origin. They are in the store, gathered for it, or counted as lost when this returns. */
  add(label: Label, lines: Buffer): void {
    this.#add(label, Date.now(), lines);
  }

  /** One entry, whose text may have several lines. */
  say({ at, text, ...origin }: Said): void {
    // Only the configuration can tell whether procman's own lines are wanted.
    if (this.#settings !== undefined) this.#add(new Label(origin, true), at, Buffer.from(`${text}\n`));
  }

  /** The logger is about to end: the next one writes a segment of its own. */
  end(): void {
    this.#closeWriter();
    this.#over = true;
    this.#packer.stop();
    clearInterval(this.#care);
  }

  #add(label: Label, at: number, lines: Buffer): void {
    if (this.#over || this.#folder === undefined || this.#settings?.hours === 0) return;
    const now = Date.now();
    if (this.#trouble !== undefined && now < this.#trouble.retryAt) return this.#drop(label.isWhole ? 1 : countLines(lines), lines.length);
    try {
      const writer = this.#ready(this.#folder, now);
      writer.add(label, at, lines);
      this.#count(now, lines.length);
    } catch (error) {
      this.#fail(error);
      return this.#drop(label.isWhole ? 1 : countLines(lines), lines.length);
    }
    if (this.#flushing) return;
    this.#flushing = true;
    // What the other streams bring in the same turn is written together with it.
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    try {
      this.#writer?.flush();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A segment that takes more. */
  #ready(folder: string, now: number): SegmentWriter {
    if (this.#writer !== undefined && this.#isOver(this.#writer, now)) {
      this.#writer.close();
      this.#writer = undefined;
      setImmediate(() => this.#lookAfter());
    }
    if (this.#writer !== undefined) return this.#writer;
    makeFolder(folder, 0o700);
    this.#writer = new SegmentWriter(folder, now);
    [this.#hour, this.#lookAt] = [hourOf(now), now + LOOK_MS];
    if (this.#trouble !== undefined) this.#recover(this.#writer, this.#trouble, now);
    return this.#writer;
  }

  #isOver(writer: SegmentWriter, now: number): boolean {
    const { bytes } = this.#settings ?? UNTIL_TOLD;
    if (writer.bytes >= Math.min(LARGEST_SEGMENT, bytes / SEGMENTS) || hourOf(now) !== this.#hour) return true;
    if (now < this.#lookAt) return false;
    this.#lookAt = now + LOOK_MS;
    return !writer.isThere;
  }

  #recover(writer: SegmentWriter, { error, lostLines, lostBytes }: Trouble, now: number): void {
    this.#trouble = undefined;
    const text = `${lostLines} lines (${lostBytes} bytes) were not stored: ${(error as Error).message}\n`;
    writer.add(new Label({ category: "service", severity: "warn" }, true), now, Buffer.from(text));
    writer.flush();
    this.#report.recovered(this.#folder ?? "", lostLines, lostBytes);
  }

  /** What was gathered is lost; the caller says what else is. */
  #fail(error: unknown): void {
    const retryAt = Date.now() + RETRY_MS;
    if (this.#trouble === undefined) {
      this.#trouble = { error, retryAt, lostLines: 0, lostBytes: 0 };
      this.#report.problem(this.#folder ?? "", error);
    }
    this.#trouble.retryAt = retryAt;
    const writer = this.#writer;
    this.#writer = undefined;
    if (writer === undefined) return;
    const { held } = writer;
    for (let record = recordAt(held, 0); record !== undefined; record = recordAt(held, record.end)) {
      const data = held.subarray(record.dataStart, record.end);
      this.#drop(record.isWhole ? 1 : countLines(data), data.length);
    }
    writer.abandon();
  }

  #drop(lines: number, bytes: number): void {
    if (this.#trouble === undefined) return;
    this.#trouble.lostLines += lines;
    this.#trouble.lostBytes += bytes;
  }

  #closeWriter(): void {
    try {
      this.#writer?.close();
      this.#writer = undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  #count(now: number, bytes: number): void {
    if (now - this.#since >= SECOND_MS) {
      this.#bytesBefore = now - this.#since < 2 * SECOND_MS ? this.#bytes : 0;
      [this.#bytes, this.#since] = [0, now];
    }
    this.#bytes += bytes;
  }

  get #isFlooded(): boolean {
    const age = Date.now() - this.#since;
    return age < 2 * SECOND_MS && Math.max(this.#bytes, this.#bytesBefore) > FLOOD_BYTES;
  }

  /** Closes what others left and what is old, removes what is too much, compresses the rest. */
  #lookAfter(): void {
    const [folder, settings] = [this.#folder, this.#settings];
    if (folder === undefined || settings === undefined || this.#over) return;
    if (this.#writer !== undefined && hourOf(Date.now()) !== this.#hour) this.#closeWriter();
    try {
      repairAll(folder, this.#writer?.number);
      retire(folder, settings, Date.now());
      this.#careless = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#careless) this.#report.problem(folder, error);
      this.#careless = message;
    }
    if (settings.hours > 0) void this.#packer.run(folder);
  }
}

function hourOf(now: number): number {
  return Math.floor(now / HOUR_MS);
}

function countLines(lines: Buffer): number {
  let count = 0;
  for (let at = lines.indexOf(NEWLINE); at !== -1; at = lines.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

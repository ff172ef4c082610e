/** The log store of the logger: writes segments by hour and size. If the disk is full, only stored lines are lost. */
import { reasonOf } from "../base/errors.ts";
import { entryTime } from "../base/time-stamp.ts";
import type { StoreSettings } from "../ipc/logger-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { makeFolder } from "../os/files.ts";
import { SegmentCompressor } from "./compressor.ts";
import { storeLevels } from "./level-rules.ts";
import { deleteOutput, repairAll, retire } from "./maintenance.ts";
import { StoredEntries } from "./own-entries.ts";
import { RecordHeader, type RecordSource, recordAt } from "./record.ts";
import { SegmentWriter } from "./segment-writer.ts";
import { SteadyClock } from "./steady-clock.ts";

const HOUR_MS = 3_600_000;
const LARGEST_SEGMENT = 64 * 1024 * 1024;
/** A segment of a small store has at most this fraction of its size, so that the oldest can be deleted one by one. */
const SEGMENTS = 8;
/** While writing, the existence of the segment is checked at this interval. Milliseconds. */
const CHECK_MS = 250;
const RETRY_MS = 1000;
const MAINTENANCE_MS = 60_000;
/** A higher rate in a second delays compression. */
const FLOOD_BYTES = 32 * 1024 * 1024;
const SECOND_MS = 1000;
/** Used until the configuration is known. */
const DEFAULT_SETTINGS: StoreSettings = { hours: 366, bytes: Number.MAX_SAFE_INTEGER };

const NEWLINE = 0x0a;

export type StoreReport = {
  /** Reported once until it works again. */
  readonly problem: (folder: string, error: unknown) => void;
  readonly recovered: (folder: string, lostLines: number, lostBytes: number) => void;
};

/** `retryAt`: monotonic milliseconds. */
type StoreFailure = { readonly error: unknown; retryAt: number; lostLines: number; lostBytes: number };

export type StoreMessage = RecordSource & { readonly at: number; readonly text: string };

export class LogStore {
  readonly #report: StoreReport;
  readonly #packer = new SegmentCompressor(() => this.#isFlooded);
  readonly #clock = new SteadyClock();
  /** Bytes of the second that began at `#since`, and of the previous one. */
  #bytes = 0;
  #bytesBefore = 0;
  #since = 0;
  #folder: string | undefined;
  #settings: StoreSettings | undefined;
  #writer: SegmentWriter | undefined;
  #hour = 0;
  #checkAt = 0;
  /** Time of the last entry. */
  #last = 0;
  #failure: StoreFailure | undefined;
  #flushing = false;
  #maintenance: NodeJS.Timeout | undefined;
  /** Message of the last reported failure of reading or maintenance. */
  #maintenanceProblem: string | undefined;
  #isEnded = false;

  constructor(report: StoreReport) {
    this.#report = report;
  }

  /** Nothing is stored before the folder is known. */
  set folder(folder: string) {
    this.#folder = folder;
    // A former logger may have written until now.
    this.#last = Date.now();
  }

  get folder(): string | undefined {
    return this.#folder;
  }

  set settings(settings: StoreSettings) {
    this.#settings = settings;
    if (this.#folder !== undefined && settings.hours > 0) this.#keepLevels(this.#folder, settings.levels);
    if (settings.hours === 0) this.#closeWriter();
    clearInterval(this.#maintenance);
    this.#maintenance = setInterval(() => this.#maintain(), MAINTENANCE_MS).unref();
    // Delayed, to keep the start fast.
    setTimeout(() => this.#maintain(), RETRY_MS).unref();
  }

  /** `lines`: whole lines of this source. When this returns, they are stored, buffered, or counted as lost. */
  add(header: RecordHeader, lines: Buffer): void {
    this.#add(header, Date.now(), lines);
  }

  /** procman's own entries since then; undefined: none is stored, or they can't be read, which is reported. */
  storedSince(since: number): StoredEntries | undefined {
    if (this.#folder === undefined || (this.#settings?.hours ?? 0) === 0) return undefined;
    try {
      return new StoredEntries(this.#folder, since);
    } catch (error) {
      this.#reportUpkeep(this.#folder, error);
      return undefined;
    }
  }

  /** Adds a single entry, whose text may have several lines. */
  addMessage({ at, text, ...origin }: StoreMessage): void {
    // Only the configuration tells whether procman's own lines are wanted.
    if (this.#settings !== undefined) this.#add(new RecordHeader(origin, true), at, Buffer.from(`${text}\n`));
  }

  /** Deletes the output of all processes; procman's own entries stay. False if there is no store. Throws errors of the file system. */
  empty(): boolean {
    const folder = this.#folder;
    if (folder === undefined || this.#isEnded) return false;
    this.#closeWriter();
    try {
      // A reader that is at the end goes on in this segment, and misses nothing.
      if (this.#settings?.hours !== 0) this.#openWriter(folder, Date.now());
    } catch (error) {
      this.#fail(error);
    }
    deleteOutput(folder, this.#writer?.number);
    // There is room now.
    if (this.#failure !== undefined) this.#failure.retryAt = 0;
    return true;
  }

  /** The logger is about to end; the next one writes another segment. */
  end(): void {
    this.#closeWriter();
    this.#isEnded = true;
    this.#packer.stop();
    clearInterval(this.#maintenance);
  }

  #add(header: RecordHeader, at: number, lines: Buffer): void {
    if (this.#isEnded || this.#folder === undefined || this.#settings?.hours === 0) return;
    const now = Date.now();
    if (this.#failure !== undefined && monotonicMs() < this.#failure.retryAt)
      return this.#drop(header.isWhole ? 1 : countLines(lines), lines.length);
    try {
      const writer = this.#openWriter(this.#folder, now);
      this.#last = entryTime(at, this.#last, now);
      writer.add(header, this.#last, lines);
      this.#count(lines.length);
    } catch (error) {
      this.#fail(error);
      return this.#drop(header.isWhole ? 1 : countLines(lines), lines.length);
    }
    if (this.#flushing) return;
    this.#flushing = true;
    // Lines of other streams in the same turn are written together.
    setImmediate(() => {
      this.#flushing = false;
      this.flush();
    });
  }

  /** Writes what is buffered. Returns why lines are lost at present; undefined: none is. */
  flush(): string | undefined {
    try {
      this.#writer?.flush();
    } catch (error) {
      this.#fail(error);
    }
    return this.#failure === undefined ? undefined : reasonOf(this.#failure.error);
  }

  #keepLevels(folder: string, levels: StoreSettings["levels"]): void {
    try {
      storeLevels(folder, levels);
    } catch (error) {
      this.#reportUpkeep(folder, error);
    }
  }

  /** The current segment, or a new one. */
  #openWriter(folder: string, now: number): SegmentWriter {
    if (this.#writer !== undefined && this.#isOver(this.#writer, now)) {
      this.#writer.close();
      this.#writer = undefined;
      setImmediate(() => this.#maintain());
    }
    if (this.#writer !== undefined) return this.#writer;
    makeFolder(folder, 0o700);
    this.#writer = new SegmentWriter(folder, now);
    this.#hour = hourOf(now);
    this.#checkAt = monotonicMs() + CHECK_MS;
    if (this.#failure !== undefined) this.#recover(this.#writer, this.#failure, now);
    return this.#writer;
  }

  #isOver(writer: SegmentWriter, now: number): boolean {
    const { bytes } = this.#settings ?? DEFAULT_SETTINGS;
    if (writer.bytes >= Math.min(LARGEST_SEGMENT, bytes / SEGMENTS) || hourOf(now) !== this.#hour) return true;
    if (monotonicMs() < this.#checkAt) return false;
    this.#checkAt = monotonicMs() + CHECK_MS;
    return !writer.exists;
  }

  #recover(writer: SegmentWriter, { error, lostLines, lostBytes }: StoreFailure, now: number): void {
    this.#failure = undefined;
    const text = `${lostLines} lines (${lostBytes} bytes) were not stored: ${(error as Error).message}\n`;
    writer.add(new RecordHeader({ category: "service", severity: "warn" }, true), now, Buffer.from(text));
    writer.flush();
    this.#report.recovered(this.#folder ?? "", lostLines, lostBytes);
  }

  /** Counts the buffered records as lost; the caller counts the others. */
  #fail(error: unknown): void {
    const retryAt = monotonicMs() + RETRY_MS;
    if (this.#failure === undefined) {
      this.#failure = { error, retryAt, lostLines: 0, lostBytes: 0 };
      this.#report.problem(this.#folder ?? "", error);
    }
    this.#failure.retryAt = retryAt;
    const writer = this.#writer;
    this.#writer = undefined;
    if (writer === undefined) return;
    const { buffered } = writer;
    for (let record = recordAt(buffered, 0); record !== undefined; record = recordAt(buffered, record.end)) {
      const data = buffered.subarray(record.dataStart, record.end);
      this.#drop(record.isWhole ? 1 : countLines(data), data.length);
    }
    writer.abandon();
  }

  #drop(lines: number, bytes: number): void {
    if (this.#failure === undefined) return;
    this.#failure.lostLines += lines;
    this.#failure.lostBytes += bytes;
  }

  #closeWriter(): void {
    try {
      this.#writer?.close();
      this.#writer = undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  #count(bytes: number): void {
    const now = monotonicMs();
    if (now - this.#since >= SECOND_MS) {
      this.#bytesBefore = now - this.#since < 2 * SECOND_MS ? this.#bytes : 0;
      this.#bytes = 0;
      this.#since = now;
    }
    this.#bytes += bytes;
  }

  get #isFlooded(): boolean {
    const age = monotonicMs() - this.#since;
    return age < 2 * SECOND_MS && Math.max(this.#bytes, this.#bytesBefore) > FLOOD_BYTES;
  }

  /** Closes old segments and those of killed writers, deletes what exceeds the limits, compresses the rest. */
  #maintain(): void {
    const folder = this.#folder;
    const settings = this.#settings;
    if (folder === undefined || settings === undefined || this.#isEnded) return;
    if (this.#writer !== undefined && hourOf(Date.now()) !== this.#hour) this.#closeWriter();
    try {
      repairAll(folder, this.#writer?.number);
      retire(folder, this.#clock.believed(settings, Date.now(), monotonicMs()), Date.now());
      this.#maintenanceProblem = undefined;
    } catch (error) {
      this.#reportUpkeep(folder, error);
    }
    if (settings.hours > 0) void this.#packer.run(folder);
  }

  /** Reports a failure of reading or maintenance, which loses no line, until maintenance works. */
  #reportUpkeep(folder: string, error: unknown): void {
    const { message } = error as Error;
    if (message !== this.#maintenanceProblem) this.#report.problem(folder, error);
    this.#maintenanceProblem = message;
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

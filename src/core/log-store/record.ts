/** A record of a segment: a small header, then either the lines of one read of a stream or a single entry. */
import { CATEGORIES, type Category, SEVERITIES, type Severity } from "../contract/records.ts";
import { checksum } from "./codec.ts";

/**
 * | byte | what |
 * |---|---|
 * | 0 | magic, with the version of the format |
 * | 4 | checksum of all that follows, header and data |
 * | 8 | time, milliseconds since 1970 (float64) |
 * | 16 | bytes of data |
 * | 20 | run, 0: none |
 * | 24 | instance, 0: none |
 * | 26 | category |
 * | 27 | severity |
 * | 28 | 1: the data is one entry, whatever newlines are in it |
 * | 29 | bytes of the id |
 * | 30 | unused |
 * | 32 | id of the process, then the data, which ends with a newline |
 */
const MAGIC = 0x314c4d50;
const FIXED_BYTES = 32;
/** Category of the record that names the writer of the segment; it isn't an entry. */
const PREAMBLE = 255;
/** Maximum size: a damaged header must not make readers wait for more. */
const MAX_BYTES = 16 * 1024 * 1024;

const OWN_CATEGORIES: readonly Category[] = ["lifecycle", "api", "service"];

/** The process and kind of an entry. */
export type RecordSource = {
  readonly process?: string;
  readonly instance?: number;
  readonly run?: number;
  readonly category: Category;
  readonly severity: Severity;
};

/** A bit for each pair of severity and category. */
export function maskOf(severity: number, category: number): number {
  return 1 << (severity * CATEGORIES.length + category);
}

/** The header of all records of one source: only time, length and checksum change. */
export class RecordHeader {
  readonly id: string;
  readonly mask: number;
  readonly isWhole: boolean;
  /** An entry of procman itself about processes, requests or its own state. */
  readonly isOwn: boolean;
  readonly #head: Buffer;

  /** `isWhole`: each record is a single entry. */
  constructor(origin: RecordSource, isWhole: boolean) {
    this.id = origin.process ?? "";
    this.isWhole = isWhole;
    this.isOwn = OWN_CATEGORIES.includes(origin.category);
    const category = CATEGORIES.indexOf(origin.category);
    const severity = SEVERITIES.indexOf(origin.severity);
    this.mask = maskOf(severity, category);
    this.#head = headOf({
      id: this.id,
      run: origin.run ?? 0,
      instance: origin.instance ?? 0,
      category,
      severity,
      isWhole,
    });
  }

  /** The header for these lines; valid until the next call. */
  stamp(at: number, data: Buffer): Buffer {
    return seal(this.#head, at, data);
  }
}

/** The process that writes a segment; another one may repair it only after this one has exited. */
export type Writer = { readonly pid: number; readonly startTime: string };

export function preamble(at: number, writer: Writer): Buffer {
  const data = Buffer.from(`${JSON.stringify(writer)}\n`);
  return Buffer.concat([
    seal(headOf({ id: "", run: 0, instance: 0, category: PREAMBLE, severity: 0, isWhole: true }), at, data),
    data,
  ]);
}

/** The position and header fields of a record in `bytes`. */
export type FoundRecord = {
  readonly start: number;
  readonly dataStart: number;
  readonly end: number;
  readonly at: number;
  readonly run: number;
  readonly instance: number;
  readonly category: number;
  readonly severity: number;
  readonly isWhole: boolean;
  readonly idBytes: number;
};

/** undefined if no whole record begins here. */
export function recordAt(bytes: Buffer, start: number): FoundRecord | undefined {
  const end = endOfRecord(bytes, start);
  if (end === undefined || end > bytes.length) return undefined;
  const idBytes = bytes.readUInt8(start + 29);
  return {
    start,
    dataStart: start + FIXED_BYTES + idBytes,
    end,
    at: bytes.readDoubleLE(start + 8),
    run: bytes.readUInt32LE(start + 20),
    instance: bytes.readUInt16LE(start + 24),
    category: bytes.readUInt8(start + 26),
    severity: bytes.readUInt8(start + 27),
    isWhole: bytes.readUInt8(start + 28) === 1,
    idBytes,
  };
}

/** End of the record, possibly beyond `bytes`; undefined if there is no record or its length is not known yet. */
export function endOfRecord(bytes: Buffer, start: number): number | undefined {
  if (start + FIXED_BYTES > bytes.length || bytes.readUInt32LE(start) !== MAGIC) return undefined;
  const size = bytes.readUInt32LE(start + 16);
  return size > MAX_BYTES ? undefined : start + FIXED_BYTES + bytes.readUInt8(start + 29) + size;
}

export function isSound(bytes: Buffer, { start, end }: FoundRecord): boolean {
  return checksum(bytes.subarray(start + 8, end)) === bytes.readUInt32LE(start + 4);
}

export function isEntry({ category }: FoundRecord): boolean {
  return category !== PREAMBLE;
}

export function idOf(bytes: Buffer, { dataStart, idBytes }: FoundRecord): string {
  return bytes.toString("utf8", dataStart - idBytes, dataStart);
}

/** undefined if there is no preamble. */
export function writerOf(bytes: Buffer): Writer | undefined {
  const record = recordAt(bytes, 0);
  if (record === undefined || isEntry(record) || !isSound(bytes, record)) return undefined;
  return JSON.parse(bytes.toString("utf8", record.dataStart, record.end)) as Writer;
}

type RecordFields = Pick<FoundRecord, "run" | "instance" | "category" | "severity" | "isWhole"> & {
  readonly id: string;
};

function headOf({ id, run, instance, category, severity, isWhole }: RecordFields): Buffer {
  const name = Buffer.from(id).subarray(0, 255);
  const head = Buffer.alloc(FIXED_BYTES + name.length);
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt32LE(run >>> 0, 20);
  head.writeUInt16LE(instance & 0xffff, 24);
  head.writeUInt8(category, 26);
  head.writeUInt8(severity, 27);
  head.writeUInt8(isWhole ? 1 : 0, 28);
  head.writeUInt8(name.length, 29);
  name.copy(head, FIXED_BYTES);
  return head;
}

function seal(head: Buffer, at: number, data: Buffer): Buffer {
  head.writeDoubleLE(at, 8);
  head.writeUInt32LE(data.length, 16);
  head.writeUInt32LE(checksum(data, checksum(head.subarray(8))), 4);
  return head;
}

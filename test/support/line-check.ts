/**
 * Finds lines that are missing, doubled, damaged or out of order in one log, except those that procman's marks declare
 * missing. The programs print lines of known content: `test/programs/numbered-lines.mjs`.
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bytesOf, parseRaw, rawLineOf } from "../programs/numbered-lines.mjs";

/** Bytes of each stream that a killed logger may have read and not written. */
const LOST_BYTES = 64 * 1024;
const RESTART_MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";
/** The cut line of a killed run is searched among this many lines after its last whole one. */
const CUT_LINES = 500;
/** Most findings listed for one log. */
const ENOUGH = 20;
const CHUNK_BYTES = 1 << 20;
const NEWLINE = 0x0a;

/** A run that wrote to the log. */
export type LoggedRun = {
  readonly id: string;
  readonly run: string;
  /** At least so many lines. */
  readonly printed: number;
  /** It was killed, so that its last line may be cut. */
  readonly isCut: boolean;
  /** How many of its readers were killed; absent: unknown. */
  readonly readersKilled?: number;
  /** It ended while no process read or held its output. */
  readonly isUnread?: boolean;
};

type Kind = "missing" | "doubled" | "disorder" | "damaged";

export type LogFindings = {
  readonly lines: number;
  readonly bytes: number;
  readonly marks: number;
  readonly findings: readonly string[];
  readonly excusedBytes: number;
  /** Lines, of all findings. */
  readonly counts: Readonly<Record<Kind, number>>;
};

type Gap = readonly [from: number, to: number];

/** What the log has of a run so far. */
type SeenRun = {
  readonly id: string;
  readonly run: string;
  /** Number of its next line. */
  next: number;
  /** Marks before its last line. */
  marks: number;
  gaps: Gap[];
  /** By the first number of a gap: where it was noticed. */
  readonly gapPlaces: Map<number, string>;
};

/** A line that is not a whole line of any run. */
type OddLine = { readonly raw: string; readonly at: number; readonly place: string; readonly marks: number };

export function checkLog(path: string, runs: readonly LoggedRun[]): LogFindings {
  const check = new LineCheck(runs);
  for (const file of filesOf(path)) {
    check.file = file;
    for (const raw of rawLinesOf(file)) check.line(raw);
  }
  check.end(runs);
  return check.result;
}

class LineCheck {
  file = "";
  #lineNumber = 0;
  #bytes = 0;
  #lines = 0;
  #marks = 0;
  #excusedBytes = 0;
  /** By run: how many of its readers were killed, less those whose missing bytes were accepted. */
  readonly #excuses: Map<string, number>;
  readonly #findings: string[] = [];
  readonly #counts: Record<Kind, number> = { missing: 0, doubled: 0, disorder: 0, damaged: 0 };
  readonly #runs = new Map<string, SeenRun>();
  readonly #odd: OddLine[] = [];

  constructor(runs: readonly LoggedRun[]) {
    this.#excuses = new Map(runs.map(({ run, readersKilled = Number.POSITIVE_INFINITY }) => [run, readersKilled]));
  }

  get result(): LogFindings {
    return {
      lines: this.#lines,
      bytes: this.#bytes,
      marks: this.#marks,
      findings: this.#findings,
      counts: this.#counts,
      excusedBytes: this.#excusedBytes,
    };
  }

  line(raw: string): void {
    this.#lineNumber += 1;
    this.#bytes += raw.length + 1;
    if (raw === RESTART_MARK) {
      this.#mark();
      return;
    }
    this.#lines += 1;
    const line = parseRaw(raw);
    if (line === undefined) this.#odd.push({ raw, at: this.#lineNumber, place: this.#place(), marks: this.#marks });
    else this.#whole(line);
  }

  end(runs: readonly LoggedRun[]): void {
    for (const known of runs) this.#checkEnd(known);
    for (const run of this.#runs.values())
      for (const [from, to] of run.gaps)
        this.#find(
          "missing",
          `${run.id} ${run.run}: ${from} to ${to}, before ${run.gapPlaces.get(from)}`,
          to - from + 1,
        );
    for (const { raw, place } of this.#odd)
      this.#find("damaged", `${place}: ${JSON.stringify(raw.slice(0, 120))}, ${raw.length} bytes`);
  }

  #mark(): void {
    this.#marks += 1;
    // A logger that was killed within a write has left the beginning of a line before the mark.
    const torn = this.#odd.at(-1);
    if (torn?.at !== this.#lineNumber - 1) return;
    const isOurs = [...this.#runs.values()].some((run) => isBeginning(torn.raw, nextLineOf(run)));
    if (isOurs || isBeginningOfFirst(torn.raw)) this.#odd.pop();
  }

  #whole({ id, run: name, number }: { readonly id: string; readonly run: string; readonly number: number }): void {
    const run = this.#runs.get(name) ?? this.#newRun(id, name);
    if (number === run.next) run.next += 1;
    else if (number < run.next) this.#again(run, number);
    else this.#gap(run, number);
    run.marks = this.#marks;
  }

  #newRun(id: string, run: string): SeenRun {
    const made: SeenRun = { id, run, next: 1, marks: 0, gaps: [], gapPlaces: new Map() };
    this.#runs.set(run, made);
    return made;
  }

  #again(run: SeenRun, number: number): void {
    const gap = run.gaps.find(([from, to]) => from <= number && number <= to);
    if (gap === undefined) {
      this.#find("doubled", `${run.id} ${run.run} ${number} at ${this.#place()}`);
      return;
    }
    this.#find("disorder", `${run.id} ${run.run} ${number} at ${this.#place()} after ${run.next - 1}`);
    const rests: readonly Gap[] = [
      [gap[0], number - 1],
      [number + 1, gap[1]],
    ];
    run.gaps = run.gaps.flatMap((each) => (each === gap ? rests.filter(([from, to]) => from <= to) : [each]));
  }

  /** Lines before `number` are missing: accepted as far as marks declare them. */
  #gap(run: SeenRun, number: number): void {
    const from = run.next;
    run.next = number + 1;
    if (this.#excuse(run, from, number - 1)) return;
    run.gaps.push([from, number - 1]);
    run.gapPlaces.set(from, this.#place());
  }

  #excuse(run: SeenRun, from: number, to: number, extraBytes = 0): boolean {
    const excuses = this.#excuses.get(run.run) ?? Number.POSITIVE_INFINITY;
    const marks = Math.min(this.#marks - run.marks, excuses);
    const ending = this.#takeOdd((odd) => odd.marks > run.marks && isEnding(odd.raw, rawLineOf(run.id, run.run, to)));
    const missing = bytesOf(run.id, run.run, from, to) - (ending?.raw.length ?? 0);
    // What was read, including an unfinished line.
    const longest = rawLineOf(run.id, run.run, from).length + 1 + Math.max(0, marks - 1) * 20_100;
    if (missing > marks * LOST_BYTES + extraBytes + longest * Math.sign(marks + extraBytes)) {
      if (ending !== undefined) this.#odd.push(ending);
      return false;
    }
    if (missing > extraBytes)
      this.#excuses.set(run.run, excuses - Math.min(marks, Math.ceil((missing - extraBytes) / LOST_BYTES)));
    this.#excusedBytes += missing;
    return true;
  }

  /** All lines that a run has printed must be in the log; the last line of a killed run may be cut. */
  #checkEnd({ id, run: name, printed, isCut, isUnread = false }: LoggedRun): void {
    const run = this.#runs.get(name) ?? this.#newRun(id, name);
    if (isCut) this.#takeOdd((odd) => isCutOf(odd, run));
    const last = run.next - 1;
    if (last > printed && !isCut) this.#find("damaged", `${id} ${name}: ${last} lines, though it printed ${printed}`);
    if (last >= printed) return;
    if (this.#excuse(run, last + 1, printed, isUnread ? LOST_BYTES : 0)) return;
    this.#find("missing", `${id} ${name}: ${last + 1} to ${printed}, its last`, printed - last);
  }

  #takeOdd(matches: (odd: OddLine) => boolean): OddLine | undefined {
    const index = this.#odd.findIndex(matches);
    return index < 0 ? undefined : this.#odd.splice(index, 1)[0];
  }

  #find(kind: Kind, what: string, lines = 1): void {
    this.#counts[kind] += lines;
    if (this.#findings.length < ENOUGH) this.#findings.push(`${kind}: ${what}`);
  }

  #place(): string {
    return `${this.file}:${this.#lineNumber}`;
  }
}

function nextLineOf({ id, run, next }: SeenRun): string {
  return rawLineOf(id, run, next);
}

function isBeginning(raw: string, line: string): boolean {
  return raw !== "" && raw.length < line.length && line.startsWith(raw);
}

function isEnding(raw: string, line: string): boolean {
  return raw.length < line.length && line.endsWith(raw);
}

/** The last line of a killed run: its end is missing, and after a mark its beginning may be missing, too. */
function isCutOf(odd: OddLine, run: SeenRun): boolean {
  if (isBeginning(odd.raw, nextLineOf(run))) return true;
  if (odd.marks <= run.marks) return false;
  return Array.from({ length: CUT_LINES }, (_, index) => rawLineOf(run.id, run.run, run.next + index)).some((line) =>
    line.includes(odd.raw),
  );
}

/** The first line of a run without any whole line. */
function isBeginningOfFirst(raw: string): boolean {
  const [id, run] = raw.split(" ");
  return id !== undefined && run !== undefined && isBeginning(raw, rawLineOf(id, run, 1));
}

/** `web.log`, preceded by rotated files such as `web.log.20261121T100000000Z.gz`, whose names sort by age. */
function filesOf(path: string): readonly string[] {
  const name = basename(path);
  const names = readdirSync(dirname(path));
  const rotated = names.filter((file) => file.startsWith(`${name}.`)).sort();
  return [...rotated, ...names.filter((file) => file === name)].map((file) => join(dirname(path), file));
}

/** The lines of a file, as latin1: one character for each byte, whatever was damaged. */
function* rawLinesOf(path: string): Generator<string, void> {
  let rest = "";
  for (const chunk of chunksOf(path)) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      yield rest + chunk.toString("latin1", from, end);
      rest = "";
      from = end + 1;
    }
    rest += chunk.toString("latin1", from);
  }
  if (rest !== "") yield rest;
}

function* chunksOf(path: string): Generator<Buffer, void> {
  if (path.endsWith(".gz")) {
    yield gunzipSync(readFileSync(path));
    return;
  }
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) yield buffer.subarray(0, read);
  } finally {
    closeSync(file);
  }
}

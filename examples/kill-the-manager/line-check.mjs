// Finds lines that are missing, doubled, damaged or out of order in one log, except those that procman's marks declare missing.

import { bytesOf, parseRaw, rawLineOf } from "./lines.mjs";
import { eachLine, filesOf } from "./log-files.mjs";

/** Bytes of each stream that a killed logger may have read and not written. */
const LOST_BYTES = 64 * 1024;
const RESTART_MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";
/** The cut line of a killed run is searched among this many lines after its last whole one. */
const CUT_LINES = 500;
/** Most findings listed for one log. */
const ENOUGH = 20;

/**
 * @param {string} path
 * @param {readonly { run: string, id: string, printed: number, isCut: boolean, readersKilled?: number, isUnread?: boolean }[]} runs
 *   The runs that wrote to it: the least number of lines, whether it was killed (so that its last line may be cut), how many of its
 *   readers were killed, and whether it ended while no process read or held its output.
 * @returns {{ lines: number, bytes: number, marks: number, findings: readonly string[], excusedBytes: number,
 *   counts: { missing: number, doubled: number, disorder: number, damaged: number } }} `counts`: lines, of all findings
 */
export function checkLog(path, runs) {
  const check = new LineCheck(
    new Map(runs.map(({ run, readersKilled = Number.POSITIVE_INFINITY }) => [run, readersKilled])),
  );
  for (const file of filesOf(path)) {
    check.file = file;
    eachLine(file, (raw) => check.line(raw));
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
  #excuses;
  #findings = [];
  #counts = { missing: 0, doubled: 0, disorder: 0, damaged: 0 };
  #runs = new Map();
  /** Lines that are not a whole line of any run: their place, and the number of marks before them. */
  #odd = [];

  constructor(excuses) {
    this.#excuses = excuses;
  }

  get result() {
    const [findings, counts] = [this.#findings, this.#counts];
    return {
      lines: this.#lines,
      bytes: this.#bytes,
      marks: this.#marks,
      findings,
      counts,
      excusedBytes: this.#excusedBytes,
    };
  }

  line(raw) {
    this.#lineNumber += 1;
    this.#bytes += raw.length + 1;
    if (raw === RESTART_MARK) return this.#mark();
    this.#lines += 1;
    const line = parseRaw(raw);
    if (line === undefined) this.#odd.push({ raw, at: this.#lineNumber, place: this.#place(), marks: this.#marks });
    else this.#whole(line);
  }

  end(runs) {
    for (const known of runs) this.#checkEnd(known);
    for (const run of this.#runs.values())
      for (const [from, to] of run.gaps)
        this.#find("missing", `${run.id} ${run.run}: ${from} to ${to}, before ${run.gapAt.get(from)}`, to - from + 1);
    for (const { raw, place } of this.#odd)
      this.#find("damaged", `${place}: ${JSON.stringify(raw.slice(0, 120))}, ${raw.length} bytes`);
  }

  #mark() {
    this.#marks += 1;
    // A logger that was killed within a write has left the beginning of a line before the mark.
    const torn = this.#odd.at(-1);
    if (torn?.at !== this.#lineNumber - 1) return;
    const isOurs = [...this.#runs.values()].some((run) => isBeginning(torn.raw, expectedOf(run)));
    if (isOurs || isBeginningOfFirst(torn.raw)) this.#odd.pop();
  }

  #whole({ id, run: name, number }) {
    const run = this.#runs.get(name) ?? this.#newRun(id, name);
    if (number === run.next) {
      run.next += 1;
    } else if (number < run.next) this.#again(run, number);
    else this.#gap(run, number);
    run.marks = this.#marks;
  }

  #newRun(id, run) {
    const made = { id, run, next: 1, marks: 0, gaps: [], gapAt: new Map() };
    this.#runs.set(run, made);
    return made;
  }

  #again(run, number) {
    const gap = run.gaps.find(([from, to]) => from <= number && number <= to);
    if (gap === undefined) return this.#find("doubled", `${run.id} ${run.run} ${number} at ${this.#place()}`);
    this.#find("disorder", `${run.id} ${run.run} ${number} at ${this.#place()} after ${run.next - 1}`);
    const [from, to] = gap;
    run.gaps.splice(
      run.gaps.indexOf(gap),
      1,
      ...[
        [from, number - 1],
        [number + 1, to],
      ].filter(([first, last]) => first <= last),
    );
  }

  /** Lines before `number` are missing: accepted as far as marks declare them. */
  #gap(run, number) {
    const [from, to] = [run.next, number - 1];
    run.next = number + 1;
    if (this.#excuse(run, from, to)) return;
    run.gaps.push([from, to]);
    run.gapAt.set(from, this.#place());
  }

  #excuse(run, from, to, extraBytes = 0) {
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
  #checkEnd({ id, run: name, printed, isCut, isUnread = false }) {
    const run = this.#runs.get(name) ?? this.#newRun(id, name);
    if (isCut) this.#takeOdd((odd) => isCutOf(odd, run));
    const last = run.next - 1;
    if (last > printed && !isCut) this.#find("damaged", `${id} ${name}: ${last} lines, though it printed ${printed}`);
    if (last >= printed) return;
    if (this.#excuse(run, last + 1, printed, isUnread ? LOST_BYTES : 0)) return;
    this.#find("missing", `${id} ${name}: ${last + 1} to ${printed}, its last`, printed - last);
  }

  #takeOdd(matches) {
    const index = this.#odd.findIndex(matches);
    return index < 0 ? undefined : this.#odd.splice(index, 1)[0];
  }

  #find(kind, what, lines = 1) {
    this.#counts[kind] += lines;
    if (this.#findings.length < ENOUGH) this.#findings.push(`${kind}: ${what}`);
  }

  #place() {
    return `${this.file}:${this.#lineNumber}`;
  }
}

function expectedOf({ id, run, next }) {
  return rawLineOf(id, run, next);
}

function isBeginning(raw, line) {
  return raw !== "" && raw.length < line.length && line.startsWith(raw);
}

function isEnding(raw, line) {
  return raw.length < line.length && line.endsWith(raw);
}

/** The last line of a killed run: its end is missing, and after a mark its beginning may be missing, too. */
function isCutOf(odd, run) {
  if (isBeginning(odd.raw, expectedOf(run))) return true;
  if (odd.marks <= run.marks) return false;
  return Array.from({ length: CUT_LINES }, (_, index) => rawLineOf(run.id, run.run, run.next + index)).some((line) =>
    line.includes(odd.raw),
  );
}

/** The first line of a run without any whole line. */
function isBeginningOfFirst(raw) {
  const [id, run] = raw.split(" ");
  return id !== undefined && run !== undefined && isBeginning(raw, rawLineOf(id, run, 1));
}

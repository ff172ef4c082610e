/** What a later keeper must know, as JSON lines appended to one file, see `journal-lines.ts`. A torn last line is ignored. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { EndReport, RunKey, RunningRun } from "../ipc/keeper-protocol.ts";
import { type CaptureSpec, keyOf } from "../ipc/logger-protocol.ts";
import { writeWhole } from "../os/careful-files.ts";
import { failpoint } from "../os/failpoint.ts";
import { makeFolder, removeIfAllowed } from "../os/files.ts";
import { type FolderRecord, folderRecord, isMadeIn } from "../os/lock.ts";
import { bootId, isAlive, processStat } from "../os/process-stat.ts";
import { DeferredQueue } from "./deferred-queue.ts";
import { readLines, withSum } from "./journal-lines.ts";
import type { LoggerProcess } from "./logger-handover.ts";

/** The sum of the entries. */
export type JournalState = {
  /** Runs whose start was under way. */
  readonly starting: Map<string, RunKey>;
  readonly running: Map<string, RunningRun>;
  readonly ended: Map<string, EndReport>;
  readonly captures: Map<string, CaptureRecord>;
  readonly notes: Map<string, string>;
  /** The current one, and those of earlier keepers that may still read; by pid, the latest last. */
  readonly loggers: Map<number, LoggerProcess>;
  readonly balancer: { current?: BalancerProcess };
  /** With it markers are made and recognised. */
  readonly marker: { key?: string };
};

/** Raised when an older procman would misread it. */
const FORMAT = 1;

/** The file is rewritten once it is this large and most of it is out of date. Bytes. */
const COMPACT_BYTES = 1 << 20;

export class Journal {
  readonly state: JournalState = {
    starting: new Map(),
    running: new Map(),
    ended: new Map(),
    captures: new Map(),
    notes: new Map(),
    loggers: new Map(),
    balancer: {},
    marker: {},
  };
  readonly #path: string;
  #fd: number;
  #size = 0;
  #limit = COMPACT_BYTES;
  #lines = "";
  /** In `state` already, to be written a little later. */
  #deferredEntries: JournalEntry[] = [];
  readonly #deferred: DeferredQueue;
  #cancelDeferred: (() => void) | undefined;
  #problem: string | undefined;
  readonly #report: (problem: string) => void;

  constructor(path: string, report: (problem: string) => void, deferred = new DeferredQueue()) {
    this.#deferred = deferred;
    this.#path = path;
    this.#report = report;
    makeFolder(dirname(path), 0o700);
    if (existsSync(path)) this.#read(readFileSync(path));
    this.#fd = this.#rewrite();
  }

  get #stateDir(): string {
    return dirname(dirname(this.#path));
  }

  /** False once the file was removed. */
  get isIntact(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino === fstatSync(this.#fd).ino;
  }

  /** Rewrites the file, and creates its folder if that is gone. */
  recreate(): void {
    makeFolder(dirname(this.#path), 0o700);
    this.#compact();
  }

  /** In `state` at once; on disk with the next `flush`. */
  add(entry: JournalEntry): void {
    // The start of a run is written before its end.
    if (entry.t === "end") this.#appendDeferred();
    this.#apply(entry);
    this.#lines += lineOf(entry);
  }

  /** What can't be written (a full disk) is tried again with the next flush; until then a kill of the keeper isn't safe. */
  flush(): void {
    if (this.#lines === "") return;
    try {
      if (this.#size >= this.#limit) this.#compact();
      else this.#append();
      this.#reportHealth(undefined);
    } catch (error) {
      // The next flush that works rewrites the file from `state`; nothing accumulates.
      this.#size = Number.POSITIVE_INFINITY;
      this.#lines = "\n";
      this.#reportHealth(error instanceof Error ? error.message : String(error));
    }
  }

  /** For what a later keeper can also find out by itself, only more slowly. Written a little later, to leave the CPU to a process that has just started. */
  addDeferred(entry: JournalEntry): void {
    this.#apply(entry);
    this.#deferredEntries.push(entry);
    this.#cancelDeferred ??= this.#deferred.add(() => {
      this.#cancelDeferred = undefined;
      this.#appendDeferred();
      this.flush();
      failpoint("keeper.recorded");
    });
  }

  remove(): void {
    this.#cancelDeferred?.();
    closeSync(this.#fd);
    removeIfAllowed(this.#path);
  }

  #read(bytes: Buffer): void {
    const [first = "", ...lines] = readLines(bytes);
    const { boot, format = 0, init, folder } = parseLine(first) as FirstLine;
    if (format > FORMAT)
      throw new Error(
        `it was written by a newer procman (format ${format}, this one knows ${FORMAT}); use that one, or stop it first`,
      );
    // The last one is empty.
    const entries = (lines.at(-1) === "" ? lines.slice(0, -1) : lines).map(parseLine);
    // No process of another boot or container is alive, and its times mean nothing now.
    if (boot === undefined ? !entries.some(isOfLivingRun) : boot !== bootId()) return;
    // The kernel gives the number of an ended PID namespace to a later one.
    if (init !== undefined && init !== initStart()) return;
    // The folder was copied: the processes are those of another procman.
    if (folder !== undefined && !isMadeIn(folder, this.#stateDir)) return;
    for (const entry of entries) if (isEntry(entry)) this.#apply(entry);
    // Half a line at the end is what a killed keeper leaves; other unreadable lines were written by another program.
    const unreadable = entries.slice(0, -1).filter((entry) => !isEntry(entry)).length + Number(boot === undefined);
    if (unreadable > 0)
      this.#report(
        `${unreadable} lines of ${this.#path} can't be read and are ignored; running processes are found by their marker`,
      );
  }

  #append(): void {
    const bytes = Buffer.from(this.#lines);
    const written = writeSync(this.#fd, bytes);
    this.#size += written;
    if (written < bytes.length) throw new Error("ENOSPC: the journal was written in part");
    this.#lines = "";
  }

  #appendDeferred(): void {
    for (const entry of this.#deferredEntries) this.#lines += lineOf(entry);
    this.#deferredEntries = [];
  }

  #compact(): void {
    const before = this.#fd;
    this.#fd = this.#rewrite();
    this.#lines = "";
    this.#deferredEntries = [];
    closeSync(before);
  }

  /** Reports a failure once, whichever step of writing meets it next. */
  #reportHealth(problem: string | undefined): void {
    const before = this.#problem;
    const now = problem?.split(":", 1)[0];
    this.#problem = now;
    if (now === before) return;
    this.#report(
      problem === undefined
        ? `${this.#path} can be written again: killing procman is safe again`
        : `Cannot write ${this.#path}: ${problem}; procman continues, but killing it is not safe until it can be written again`,
    );
  }

  #apply(entry: JournalEntry): void {
    const { starting, running, ended, captures, notes, loggers, balancer, marker } = this.state;
    switch (entry.t) {
      case "asked":
        return void starting.set(keyOf(entry), { slot: entry.slot, run: entry.run });
      case "run": {
        starting.delete(keyOf(entry.record));
        return void running.set(keyOf(entry.record), entry.record);
      }
      case "end": {
        starting.delete(keyOf(entry.record));
        running.delete(keyOf(entry.record));
        return void ended.set(keyOf(entry.record), entry.record);
      }
      case "ack":
        return void ended.delete(keyOf(entry));
      case "capture":
        return void captures.set(entry.key, { fifos: entry.fifos, capture: entry.capture });
      case "drained":
        return void captures.delete(entry.key);
      case "logger":
        loggers.delete(entry.pid);
        return void loggers.set(entry.pid, { pid: entry.pid, startTime: entry.startTime });
      case "logger-gone":
        return void loggers.delete(entry.pid);
      case "balancer":
        balancer.current = { pid: entry.pid, startTime: entry.startTime };
        return;
      case "balancer-gone":
        return void delete balancer.current;
      case "marker-key":
        marker.key = entry.key;
        return;
      case "note":
        return void (entry.note === "" ? notes.delete(entry.id) : notes.set(entry.id, entry.note));
      default:
        return entry satisfies never;
    }
  }

  #rewrite(): number {
    const { starting, running, ended, captures, notes, loggers, balancer, marker } = this.state;
    const entries: readonly JournalEntry[] = [
      ...(marker.key === undefined ? [] : [{ t: "marker-key", key: marker.key } as const]),
      ...(balancer.current === undefined ? [] : [{ t: "balancer", ...balancer.current } as const]),
      ...[...loggers.values()].map((logger) => ({ t: "logger", ...logger }) as const),
      ...[...captures].map(([key, capture]) => ({ t: "capture", key, ...capture }) as const),
      ...[...starting.values()].map((key) => ({ t: "asked", ...key }) as const),
      ...[...running.values()].map((record) => ({ t: "run", record }) as const),
      ...[...ended.values()].map((record) => ({ t: "end", record }) as const),
      ...[...notes].map(([id, note]) => ({ t: "note", id, note }) as const),
    ];
    const text = [firstLine(this.#stateDir), ...entries.map(lineOf)].join("");
    writeWhole(this.#path, text);
    this.#size = text.length;
    this.#limit = COMPACT_BYTES + 2 * text.length;
    return openSync(this.#path, "a", 0o600);
  }
}

/** First line of a journal. */
function firstLine(stateDir: string): string {
  const init = initStart();
  return lineOf({
    boot: bootId(),
    format: FORMAT,
    ...(init === undefined ? {} : { init }),
    folder: folderRecord(stateDir),
  });
}

function lineOf(value: JournalEntry | FirstLine): string {
  return `${withSum(JSON.stringify(value))}\n`;
}

/** `init`: start time of the first process of the PID namespace. All are absent if the line is damaged; 1.0.0 has no `folder`. */
type FirstLine = {
  readonly boot?: string;
  readonly format?: number;
  readonly init?: string;
  readonly folder?: FolderRecord;
};

function initStart(): string | undefined {
  return processStat(1)?.startTime;
}

/** Pid and start time don't fit a process of another boot. */
function isOfLivingRun(entry: object): boolean {
  return isEntry(entry) && entry.t === "run" && isAlive(entry.record.pid, entry.record.startTime);
}

/** Anything but a JSON object counts as an empty one. */
function parseLine(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

export type JournalEntry =
  /** A run is about to be started: written before the fork, so that no later keeper starts it again. */
  | { readonly t: "asked"; readonly slot: string; readonly run: number }
  | { readonly t: "run"; readonly record: RunningRun }
  | ({ readonly t: "capture"; readonly key: string } & CaptureRecord)
  | { readonly t: "end"; readonly record: EndReport }
  | { readonly t: "ack"; readonly slot: string; readonly run: number }
  /** All output of the run is written: its FIFOs are free. */
  | { readonly t: "drained"; readonly key: string }
  | ({ readonly t: "logger" } & LoggerProcess)
  /** A logger has ended, and what it left is in the hands of another. */
  | { readonly t: "logger-gone"; readonly pid: number }
  | ({ readonly t: "balancer" } & BalancerProcess)
  | { readonly t: "balancer-gone"; readonly pid: number }
  | { readonly t: "marker-key"; readonly key: string }
  /** "": it is forgotten. */
  | { readonly t: "note"; readonly id: string; readonly note: string };

export type BalancerProcess = { readonly pid: number; readonly startTime: string };

/** Output of a run that may not all be written yet, whether the run lives or not. */
export type CaptureRecord = { readonly fifos: number; readonly capture: CaptureSpec };

function isEntry(value: object): value is JournalEntry {
  const { t, record, key, capture, slot, run, pid, id, note, fifos } = value as Readonly<Record<string, unknown>>;
  switch (t) {
    case "run":
      return isRun(record) && isPid(record.pid) && typeof record.startTime === "string" && isTime(record.since);
    case "end":
      return isRun(record) && isTime(record.at) && isEnd(record);
    case "asked":
    case "ack":
      return isRun({ slot, run });
    case "capture":
      return typeof key === "string" && Number.isSafeInteger(fifos) && isCapture(capture);
    case "drained":
      return typeof key === "string";
    case "logger":
    case "logger-gone":
    case "balancer":
    case "balancer-gone":
      return isPid(pid);
    case "marker-key":
      return typeof key === "string" && /^[0-9a-f]{32}$/.test(key);
    case "note":
      return typeof id === "string" && typeof note === "string";
    default:
      return false;
  }
}

function isRun(record: unknown): record is Readonly<Record<string, unknown>> {
  if (typeof record !== "object" || record === null) return false;
  const { slot, run } = record as Readonly<Record<string, unknown>>;
  return typeof slot === "string" && Number.isSafeInteger(run);
}

/** A run whose leader was never found has pid 0. */
function isEnd({ t, pid, since = 0 }: Readonly<Record<string, unknown>>): boolean {
  return t === "failed" || (t === "exited" && Number.isSafeInteger(pid) && Number(pid) >= 0 && isTime(since));
}

function isPid(pid: unknown): boolean {
  return Number.isSafeInteger(pid) && Number(pid) > 1;
}

/** 1e999 is Infinity. */
function isTime(ms: unknown): boolean {
  return Number.isFinite(ms);
}

/** A logger that gets another would end, and so would each of its successors. */
function isCapture(capture: unknown): capture is CaptureSpec {
  if (typeof capture !== "object" || capture === null) return false;
  const { id, stdout = "", stderr = "", store = {}, rotation = {} } = capture as Readonly<Record<string, unknown>>;
  const areObjects = [store, rotation].every((part) => typeof part === "object" && part !== null);
  return [id, stdout, stderr].every((text) => typeof text === "string") && areObjects;
}

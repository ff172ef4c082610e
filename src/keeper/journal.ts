/** What a later keeper must know, as lines of JSON appended to one file: a torn last line is left out, the rest stands. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { EndReport, RunKey, RunningRun } from "../ipc/keeper-protocol.ts";
import type { CaptureSpec } from "../ipc/logger-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import { makeFolder } from "../os/files.ts";
import { bootId } from "../os/process-stat.ts";
import { DeferredQueue } from "./deferred-queue.ts";
import type { LoggerProcess } from "./logger-handover.ts";

/** All that the entries add up to. */
export type JournalState = {
  /** Those whose start was under way. */
  readonly asked: Map<string, RunKey>;
  readonly running: Map<string, RunningRun>;
  readonly ended: Map<string, EndReport>;
  readonly captures: Map<string, CaptureRecord>;
  readonly notes: Map<string, string>;
  /** Ours, and those of earlier keepers that may still read; by pid, the latest last. */
  readonly loggers: Map<number, LoggerProcess>;
  readonly balancer: { current?: BalancerProcess };
};

/** Raised when an older procman would misread it. */
const FORMAT = 1;

/** The file is written anew once it is this large and most of it is out of date. Bytes. */
const COMPACT_BYTES = 1 << 20;

export class Journal {
  readonly state: JournalState = {
    asked: new Map(),
    running: new Map(),
    ended: new Map(),
    captures: new Map(),
    notes: new Map(),
    loggers: new Map(),
    balancer: {},
  };
  readonly #path: string;
  #fd: number;
  #size = 0;
  #limit = COMPACT_BYTES;
  #lines = "";
  /** Known, and to be written a little later. */
  #later: JournalEntry[] = [];
  readonly #deferred: DeferredQueue;
  #cancelDeferred: (() => void) | undefined;
  #problem: string | undefined;
  readonly #report: (problem: string) => void;

  constructor(path: string, report: (problem: string) => void, deferred = new DeferredQueue()) {
    this.#deferred = deferred;
    this.#path = path;
    this.#report = report;
    makeFolder(dirname(path), 0o700);
    if (existsSync(path)) this.#read(readFileSync(path, "utf8"));
    this.#fd = this.#rewrite();
  }

  /** False once somebody has removed the file. */
  get isThere(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino === fstatSync(this.#fd).ino;
  }

  /** Writes all of it anew, in a folder that may be gone. */
  renew(): void {
    makeFolder(dirname(this.#path), 0o700);
    this.#compact();
  }

  /** Known at once; on disk with the next `flush`. */
  add(entry: JournalEntry): void {
    // Its beginning comes first.
    if (entry.t === "end") this.#takeLater();
    this.#apply(entry);
    this.#lines += `${JSON.stringify(entry)}\n`;
  }

  /** A full disk costs nothing but safety meanwhile: what could not be written is tried again with the next flush. */
  flush(): void {
    if (this.#lines === "") return;
    try {
      if (this.#size >= this.#limit) this.#compact();
      else this.#append();
      this.#healthy(undefined);
    } catch (error) {
      // Written anew from the books as soon as that is possible: nothing piles up here.
      this.#size = Number.POSITIVE_INFINITY;
      this.#lines = "\n";
      this.#healthy(error instanceof Error ? error.message : String(error));
    }
  }

  /** For what is found out anew by whoever comes after us, only not as fast: a process that has just been started has its beginning to itself. */
  addDeferred(entry: JournalEntry): void {
    this.#apply(entry);
    this.#later.push(entry);
    this.#cancelDeferred ??= this.#deferred.add(() => {
      this.#cancelDeferred = undefined;
      this.#takeLater();
      this.flush();
      failpoint("keeper.recorded");
    });
  }

  remove(): void {
    this.#cancelDeferred?.();
    closeSync(this.#fd);
    rmSync(this.#path, { force: true });
  }

  #read(text: string): void {
    const [first = "", ...lines] = text.split("\n");
    const { boot, format = 0 } = parsed(first) as { readonly boot?: string; readonly format?: number };
    if (format > FORMAT)
      throw new Error(`it was written by a newer procman (format ${format}, this one knows ${FORMAT}); use that one, or stop it first`);
    // Nothing of another boot lives on, and its times mean nothing now.
    if (boot !== bootId()) return;
    const entries = lines.filter((line) => line !== "").map(parsed);
    for (const entry of entries) if (isEntry(entry)) this.#apply(entry);
    // Half a line at the end is what a killed keeper leaves; anything else was done by others.
    const foreign = entries.slice(0, -1).filter((entry) => !isEntry(entry)).length;
    if (foreign > 0) this.#report(`${foreign} lines of ${this.#path} can't be read and are left out; what they told is found out anew`);
  }

  #append(): void {
    const bytes = Buffer.from(this.#lines);
    const written = writeSync(this.#fd, bytes);
    this.#size += written;
    if (written < bytes.length) throw new Error("ENOSPC: the journal was written in part");
    this.#lines = "";
  }

  #takeLater(): void {
    for (const entry of this.#later) this.#lines += `${JSON.stringify(entry)}\n`;
    this.#later = [];
  }

  #compact(): void {
    const before = this.#fd;
    this.#fd = this.#rewrite();
    this.#lines = "";
    this.#later = [];
    closeSync(before);
  }

  /** A failure is said once, whichever step of writing meets it next. */
  #healthy(problem: string | undefined): void {
    const [before, now] = [this.#problem, problem?.split(":", 1)[0]];
    this.#problem = now;
    if (now === before) return;
    this.#report(
      problem === undefined
        ? `${this.#path} can be written again: procman may be killed again`
        : `Cannot write ${this.#path}: ${problem}; procman goes on, but can't be killed safely until it can be written again`,
    );
  }

  #apply(entry: JournalEntry): void {
    const { asked, running, ended, captures, notes, loggers, balancer } = this.state;
    switch (entry.t) {
      case "asked":
        return void asked.set(keyOf(entry), { slot: entry.slot, run: entry.run });
      case "run": {
        asked.delete(keyOf(entry.record));
        return void running.set(keyOf(entry.record), entry.record);
      }
      case "end": {
        asked.delete(keyOf(entry.record));
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
      case "note":
        return void (entry.note === "" ? notes.delete(entry.id) : notes.set(entry.id, entry.note));
      default:
        return entry satisfies never;
    }
  }

  #rewrite(): number {
    const { asked, running, ended, captures, notes, loggers, balancer } = this.state;
    const entries: readonly JournalEntry[] = [
      ...(balancer.current === undefined ? [] : [{ t: "balancer", ...balancer.current } as const]),
      ...[...loggers.values()].map((logger) => ({ t: "logger", ...logger }) as const),
      ...[...captures].map(([key, capture]) => ({ t: "capture", key, ...capture }) as const),
      ...[...asked.values()].map((key) => ({ t: "asked", ...key }) as const),
      ...[...running.values()].map((record) => ({ t: "run", record }) as const),
      ...[...ended.values()].map((record) => ({ t: "end", record }) as const),
      ...[...notes].map(([id, note]) => ({ t: "note", id, note }) as const),
    ];
    const text = [firstLine(), ...entries.map((entry) => JSON.stringify(entry)), ""].join("\n");
    const whole = `${this.#path}.tmp`;
    writeFileSync(whole, text, { mode: 0o600 });
    renameSync(whole, this.#path);
    this.#size = text.length;
    this.#limit = COMPACT_BYTES + 2 * text.length;
    return openSync(this.#path, "a", 0o600);
  }
}

/** First line of a journal. */
function firstLine(): string {
  return JSON.stringify({ boot: bootId(), format: FORMAT });
}

/** What is no JSON object counts as an empty one. */
function parsed(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** The lines of the journal, and what is none: files are read with care, whoever wrote them. */

export type JournalEntry =
  /** It is about to be started: written before the fork, so that no later keeper starts it once more. */
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
  /** "": it is forgotten. */
  | { readonly t: "note"; readonly id: string; readonly note: string };

export type BalancerProcess = { readonly pid: number; readonly startTime: string };

/** Output of a run that may not all be written yet, whether the run lives or not. */
export type CaptureRecord = { readonly fifos: number; readonly capture: CaptureSpec };

export function keyOf({ slot, run }: { readonly slot: string; readonly run: number }): string {
  return `${slot}#${run}`;
}

function isEntry(value: object): value is JournalEntry {
  const { t, record, key, capture, slot, run, pid, id, note, fifos } = value as Readonly<Record<string, unknown>>;
  switch (t) {
    case "run":
      return isRun(record) && typeof record.pid === "number" && record.pid > 1 && typeof record.startTime === "string";
    case "end":
      return isRun(record) && (record.t === "exited" || record.t === "failed");
    case "asked":
    case "ack":
      return typeof slot === "string" && typeof run === "number";
    case "capture":
      return typeof key === "string" && typeof fifos === "number" && typeof capture === "object" && capture !== null;
    case "drained":
      return typeof key === "string";
    case "logger":
    case "logger-gone":
    case "balancer":
    case "balancer-gone":
      return typeof pid === "number" && pid > 1;
    case "note":
      return typeof id === "string" && typeof note === "string";
    default:
      return false;
  }
}

function isRun(record: unknown): record is Readonly<Record<string, unknown>> {
  if (typeof record !== "object" || record === null) return false;
  const { slot, run } = record as Readonly<Record<string, unknown>>;
  return typeof slot === "string" && typeof run === "number";
}

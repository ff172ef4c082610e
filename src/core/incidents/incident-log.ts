/** Incidents on disk: a file of JSON lines for each process in `STATE/incidents/`, of limited size. */
import { appendFileSync, existsSync, promises, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isNotFound } from "../base/errors.ts";
import { literal, openObject, optional, string } from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import type { Incident } from "../contract/run-summary.ts";
import { writeWhole } from "../os/careful-files.ts";
import { makeFolder } from "../os/files.ts";

export type IncidentLogEntry = {
  readonly slot: string;
  /** Its last output lines were not available yet. */
  readonly open?: true;
  readonly incident: Incident;
};

/** Number of incidents kept for a process. */
const KEPT = 100;
/** Limit of all files together, and the least and most that one file may use of it. */
const LIMIT_BYTES = 64 * 1_024 * 1_024;
const LEAST_BYTES = 64 * 1_024;
const MAX_BYTES = 1_024 * 1_024;
/** Number of files of removed processes. */
const MAX_REMOVED = 1_000;
/** A service that was killed before it forgot an incident writes it again; such duplicates are this close. Milliseconds. */
const SAME_MS = 60_000;

const EXTENSION = ".jsonl";
const NEWLINE = 10;

const schema = openObject({
  slot: string(),
  open: optional(literal(true)),
  incident: openObject({ time: string(), process: string(), cause: string(), reason: string() }),
});

export class IncidentLog {
  readonly #folder: string;
  readonly #report: (problem: string) => void;
  readonly #configured: (() => ReadonlySet<string>) | undefined;
  readonly #sizes = new Map<string, number>();
  /** Processes whose last incident could not be written. The file of another one may have room left while the disk is full. */
  readonly #failing = new Set<string>();

  /** `configured`: ids of the processes that aren't removed; without it, none counts as removed. */
  constructor(stateDir: string, report: (problem: string) => void, configured?: () => ReadonlySet<string>) {
    this.#folder = join(stateDir, "incidents");
    this.#report = report;
    this.#configured = configured;
  }

  /** Adds an incident; a later one of the same run replaces an earlier one. False: it is told already, by a service that knew more. */
  append(entry: IncidentLogEntry): boolean {
    const { process, cause, pid } = entry.incident;
    const path = this.#pathOf(process);
    try {
      // Only one that knows little is looked for.
      if ((cause === "unknown" || pid === undefined) && existsSync(path) && isToldIn(readFileSync(path, "utf8"), entry))
        return false;
      const line = Buffer.from(`${JSON.stringify(entry)}\n`);
      const size = (this.#known(process, path) ?? this.#begin(path)) + line.length;
      appendFileSync(path, line, { mode: 0o600 });
      this.#sizes.set(process, size > this.#limit ? this.#compact(path) : size);
      // Once one of them can be written, so can all.
      if (this.#failing.has(process)) this.#failing.clear();
    } catch (error) {
      // Read the size again next time, since part of the line may have been written.
      this.#sizes.delete(process);
      for (const id of this.#removedOf(this.#failing)) this.#failing.delete(id);
      if (this.#failing.size === 0)
        this.#report(`Cannot keep incidents in ${this.#folder}: ${(error as Error).message}; processes keep running`);
      this.#failing.add(process);
    }
    return true;
  }

  /** Oldest first. */
  async read(process: string): Promise<readonly IncidentLogEntry[]> {
    try {
      return entriesIn(await promises.readFile(this.#pathOf(process), "utf8"));
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  latest(process: string): Incident | undefined {
    const path = this.#pathOf(process);
    return existsSync(path) ? entriesIn(readFileSync(path, "utf8")).at(-1)?.incident : undefined;
  }

  /** Size at which a file is compacted. */
  get #limit(): number {
    return Math.min(MAX_BYTES, Math.max(LEAST_BYTES, LIMIT_BYTES / Math.max(1, this.#sizes.size)));
  }

  /** undefined if the file was removed. */
  #known(process: string, path: string): number | undefined {
    return existsSync(path) ? this.#sizes.get(process) : undefined;
  }

  /** Size of the existing file. A line that was cut off by a kill is ended; readers ignore it. */
  #begin(path: string): number {
    makeFolder(this.#folder, 0o700);
    if (this.#sizes.size === 0) this.#prune();
    const previous = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (previous === 0 || readFileSync(path).at(-1) === NEWLINE) return previous;
    appendFileSync(path, "\n");
    return previous + 1;
  }

  /** Keeps the latest incidents, up to half of the limit, so that the next compaction is far away. Returns the size. */
  #compact(path: string): number {
    const kept: string[] = [];
    let bytes = 0;
    for (const entry of entriesIn(readFileSync(path, "utf8")).slice(-KEPT).reverse()) {
      const line = `${JSON.stringify(entry)}\n`;
      bytes += Buffer.byteLength(line);
      if (bytes > this.#limit / 2 && kept.length > 0) break;
      kept.unshift(line);
    }
    const text = kept.join("");
    writeWhole(path, text);
    return Buffer.byteLength(text);
  }

  /** Deletes the files of processes that were removed long ago. */
  #prune(): void {
    const names = readdirSync(this.#folder).flatMap((name) =>
      name.endsWith(EXTENSION) ? [name.slice(0, -EXTENSION.length)] : [],
    );
    const removed = this.#removedOf(names).map((process) => this.#pathOf(process));
    if (removed.length <= MAX_REMOVED) return;
    const changed = new Map(removed.map((path) => [path, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0]));
    const oldest = removed.sort((one, other) => (changed.get(one) ?? 0) - (changed.get(other) ?? 0));
    for (const path of oldest.slice(0, removed.length - MAX_REMOVED)) rmSync(path, { force: true });
  }

  #removedOf(ids: Iterable<string>): string[] {
    const configured = this.#configured?.();
    return configured === undefined ? [] : [...ids].filter((id) => !configured.has(id));
  }

  #pathOf(process: string): string {
    return join(this.#folder, `${process}${EXTENSION}`);
  }
}

/** Oldest first; malformed lines are ignored. */
function entriesIn(file: string): readonly IncidentLogEntry[] {
  const entries = new Map<string, IncidentLogEntry>();
  const latest = new Map<string, IncidentLogEntry>();
  let number = 0;
  for (const line of file.split("\n")) {
    const entry = entryIn(line);
    if (entry === undefined) continue;
    const { slot, incident } = entry;
    if (knowsLess(entry, latest.get(`${slot} ${incident.run}`))) continue;
    latest.set(`${slot} ${incident.run}`, entry);
    const run = `${slot} ${incident.run} ${incident.pid ?? ""}`;
    const previous = entries.get(run);
    // Run numbers and pids start again with procman and after a boot.
    if (previous !== undefined && !isClose(previous, entry)) {
      entries.delete(run);
      entries.set(`${run} ${number++}`, previous);
    }
    entries.set(run, entry);
  }
  return [...entries.values()]
    .sort((one, other) => Date.parse(one.incident.time) - Date.parse(other.incident.time))
    .slice(-KEPT);
}

function isClose({ incident: one }: IncidentLogEntry, { incident: other }: IncidentLogEntry): boolean {
  return Math.abs(Date.parse(one.time) - Date.parse(other.time)) < SAME_MS;
}

/** The end of `told`, told again after a kill of the keeper which knew it. A start that failed has no pid. */
function knowsLess(entry: IncidentLogEntry, told: IncidentLogEntry | undefined): boolean {
  const { pid, cause } = entry.incident;
  if (told === undefined || cause === "unstartable" || !isClose(told, entry)) return false;
  if (pid === undefined) return told.incident.pid !== undefined;
  return pid === told.incident.pid && cause === "unknown" && told.incident.cause !== "unknown";
}

function isToldIn(file: string, entry: IncidentLogEntry): boolean {
  const { slot, incident } = entry;
  const told = entriesIn(file).findLast((each) => each.slot === slot && each.incident.run === incident.run);
  return knowsLess(entry, told);
}

/** undefined if the line is malformed. */
export function entryIn(line: string): IncidentLogEntry | undefined {
  if (line === "") return undefined;
  try {
    const entry: unknown = JSON.parse(line);
    return matches(entry, schema) ? (entry as IncidentLogEntry) : undefined;
  } catch {
    return undefined;
  }
}

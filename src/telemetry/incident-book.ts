/** Incidents on disk: a file of JSON lines for each process in `STATE/incidents/`, of bounded size. */
import { appendFileSync, existsSync, promises, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isNotThere } from "../base/errors.ts";
import { literal, optional, record, text } from "../base/shape.ts";
import type { Incident } from "../contract/records.ts";
import { makeFolder } from "../os/folder.ts";

export type Entry = {
  readonly slot: string;
  /** Its last lines were not to be had yet. */
  readonly open?: true;
  readonly incident: Incident;
};

/** So many of a process are kept. */
const KEPT = 100;
/** All files together, and what one may have of that at least and at most. */
const LIMIT_BYTES = 64 * 1_024 * 1_024;
const LEAST_BYTES = 64 * 1_024;
const MOST_BYTES = 1_024 * 1_024;
/** Files of processes that no configuration has any more. */
const MOST_FILES = 1_000;
/** Whoever is killed between writing and forgetting writes it again. Milliseconds. */
const SAME_MS = 60_000;

const NEWLINE = 10;

const shape = record({
  slot: text,
  open: optional(literal(true)),
  incident: record({ time: text, process: text, cause: text, reason: text }),
});

export class IncidentBook {
  readonly #folder: string;
  readonly #report: (problem: string) => void;
  readonly #sizes = new Map<string, number>();
  #hasFailed = false;

  constructor(stateDir: string, report: (problem: string) => void) {
    this.#folder = join(stateDir, "incidents");
    this.#report = report;
  }

  /** One of the same run takes the place of an earlier one. */
  append(entry: Entry): void {
    const { process } = entry.incident;
    const path = this.#pathOf(process);
    try {
      const line = Buffer.from(`${JSON.stringify(entry)}\n`);
      const size = (this.#known(process, path) ?? this.#begin(path)) + line.length;
      appendFileSync(path, line, { mode: 0o600 });
      this.#sizes.set(process, size > this.#limit ? this.#compact(path) : size);
      this.#hasFailed = false;
    } catch (error) {
      // Looked at anew next time: a part of the line may be there.
      this.#sizes.delete(process);
      if (!this.#hasFailed) this.#report(`Cannot keep incidents in ${this.#folder}: ${(error as Error).message}; processes run on`);
      this.#hasFailed = true;
    }
  }

  /** Oldest first. */
  async read(process: string): Promise<readonly Entry[]> {
    try {
      return entriesIn(await promises.readFile(this.#pathOf(process), "utf8"));
    } catch (error) {
      if (isNotThere(error)) return [];
      throw error;
    }
  }

  /** What one file may have before it is written anew. */
  get #limit(): number {
    return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, LIMIT_BYTES / Math.max(1, this.#sizes.size)));
  }

  /** Somebody may have removed the folder. */
  #known(process: string, path: string): number | undefined {
    return existsSync(path) ? this.#sizes.get(process) : undefined;
  }

  /** Bytes that are there. A line that was cut off by a kill is ended, and left out by readers. */
  #begin(path: string): number {
    makeFolder(this.#folder, 0o700);
    if (this.#sizes.size === 0) this.#prune();
    const former = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (former === 0 || readFileSync(path).at(-1) === NEWLINE) return former;
    appendFileSync(path, "\n");
    return former + 1;
  }

  /** The latest that fill at most half of what is allowed: the next time is far away. Gives the bytes that are left. */
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
    writeFileSync(`${path}.tmp`, text, { mode: 0o600 });
    renameSync(`${path}.tmp`, path);
    return Buffer.byteLength(text);
  }

  /** Files of processes that are long gone. */
  #prune(): void {
    const files = readdirSync(this.#folder).map((name) => join(this.#folder, name));
    if (files.length <= MOST_FILES) return;
    const changed = new Map(files.map((path) => [path, statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0]));
    const oldest = files.sort((one, other) => (changed.get(one) ?? 0) - (changed.get(other) ?? 0));
    for (const path of oldest.slice(0, files.length - MOST_FILES)) rmSync(path, { force: true });
  }

  #pathOf(process: string): string {
    return join(this.#folder, `${process}.jsonl`);
  }
}

/** Oldest first; lines that are torn or strange are left out. */
function entriesIn(file: string): readonly Entry[] {
  const entries = new Map<string, Entry>();
  let number = 0;
  for (const line of file.split("\n")) {
    const entry = entryIn(line);
    if (entry === undefined) continue;
    const { slot, incident } = entry;
    const run = `${slot} ${incident.run} ${incident.pid ?? ""}`;
    const former = entries.get(run);
    const isSame = former !== undefined && Math.abs(Date.parse(former.incident.time) - Date.parse(incident.time)) < SAME_MS;
    // Numbers and pids begin anew with procman, and after a boot.
    if (former !== undefined && !isSame) {
      entries.delete(run);
      entries.set(`${run} ${number++}`, former);
    }
    entries.set(run, entry);
  }
  return [...entries.values()].sort((one, other) => Date.parse(one.incident.time) - Date.parse(other.incident.time)).slice(-KEPT);
}

/** undefined: it is torn or strange. */
export function entryIn(line: string): Entry | undefined {
  if (line === "") return undefined;
  try {
    const entry: unknown = JSON.parse(line);
    return shape(entry) ? (entry as Entry) : undefined;
  } catch {
    return undefined;
  }
}

/** The configurations that were applied, on disk: entries in `STATE/history/`, their texts by content below `texts/`. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isNotFound, reasonOf } from "../base/errors.ts";
import { enumeration, integer, list, literal, openObject, optional, string, type TypeOf } from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import { CHANGE, SETTING } from "../contract/plan.ts";
import { ROLLOUT_MARK } from "../contract/rollout-mark.ts";
import { removeUnfinished, writeWhole } from "../os/careful-files.ts";
import { makeFolder, namesIfSeen } from "../os/files.ts";

/** What is kept: entries, and bytes of them with their texts. The newest entry is always kept. */
const MAX_ENTRIES = 100;
const MAX_BYTES = 20 * 1_024 * 1_024;

const ENTRY = openObject({
  format: literal("1"),
  time: string(),
  result: enumeration(["running", "applied", "rolled-back", "interrupted"]),
  problem: optional(string()),
  why: string(),
  consumer: optional(string()),
  user: optional(string()),
  rollout: optional(ROLLOUT_MARK),
  profile: optional(string()),
  /** The configuration file comes first. */
  files: list(openObject({ file: string(), hash: string({ pattern: "^[0-9a-f]{64}$" }) }), { minItems: 1 }),
  processes: optional(list(CHANGE)),
  settings: optional(list(SETTING)),
  rollbackTo: optional(integer()),
  release: optional(string()),
  releaseBefore: optional(string()),
  version: string(),
  host: string(),
  /** Digest of the id of the machine, where it has one. */
  machine: optional(string()),
});

export type StoredEntry = TypeOf<typeof ENTRY>;

export type NewEntry = Omit<StoredEntry, "format" | "files">;

/** A file and its text. */
export type KeptText = { readonly file: string; readonly text: string };

/** `problem`: why its file can't be read. */
export type NumberedEntry = { readonly number: number } & (
  | { readonly entry: StoredEntry }
  | { readonly problem: string; readonly time: string }
);

/** What an entry takes up. */
type Weight = { readonly bytes: number; readonly hashes: readonly string[] };

/** What reads it. */
export type KeptHistory = Pick<HistoryStore, "list" | "numbers" | "read" | "textOf">;

export class HistoryStore {
  readonly #folder: string;
  readonly #texts: string;
  /** About as much as all takes up; undefined: not looked at yet. */
  #bytes: number | undefined;
  readonly #weights = new Map<number, Weight>();
  /** Sizes of texts. */
  readonly #sizes = new Map<string, number>();

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "history");
    this.#texts = join(this.#folder, "texts");
  }

  /** Numbers of all entries, the damaged ones too; newest first. */
  get numbers(): readonly number[] {
    return namesIfSeen(this.#folder)
      .flatMap((name) => (/^[1-9]\d{0,14}\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
      .sort((one, other) => other - one);
  }

  /** undefined: there is none of this number. */
  read(number: number): NumberedEntry | undefined {
    const path = this.#pathOf(number);
    try {
      const entry = parsed(readFileSync(path, "utf8"));
      if (matches(entry, ENTRY)) return { number, entry };
      return { number, problem: "its file has no valid content", time: changedAt(path) };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      return { number, problem: `its file can't be read: ${reasonOf(error)}`, time: changedAt(path) };
    }
  }

  /** Newest first. */
  list(limit = MAX_ENTRIES): readonly NumberedEntry[] {
    return this.numbers.slice(0, limit).flatMap((number) => this.read(number) ?? []);
  }

  /** @throws Error with the problem */
  textOf(hash: string): string {
    const path = join(this.#texts, hash);
    if (!existsSync(path)) throw new Error(`its text, ${path}, is gone`);
    const bytes = readFileSync(path);
    if (hashOf(bytes) !== hash) throw new Error("its content has changed since it was kept");
    return bytes.toString("utf8");
  }

  /** Keeps an entry, and returns its number. @throws errors of the file system */
  add(entry: NewEntry, texts: readonly KeptText[]): number {
    makeFolder(this.#texts, 0o700);
    const files = texts.map(({ file, text }) => ({ file, hash: this.#keep(text) }));
    const number = (this.numbers[0] ?? 0) + 1;
    this.#write(number, { format: "1", ...entry, files });
    return number;
  }

  /**
   * Replaces what is known of an entry. The first problem stays, as the service after a kill knows less of it, unless the
   * entry is applied in the end. Undefined: it is gone, or damaged.
   *
   * @throws errors of the file system
   */
  settle(number: number, outcome: Pick<StoredEntry, "result" | "problem">): NumberedEntry | undefined {
    const found = this.read(number);
    if (found === undefined || !("entry" in found)) return undefined;
    const { problem = outcome.problem, ...before } = found.entry;
    const { result } = outcome;
    const entry = { ...before, result, ...(result !== "applied" && problem !== undefined && { problem }) };
    this.#write(number, entry);
    return { number, entry };
  }

  /** Above the limits, removes the oldest entries, and texts that no entry names. @throws errors of the file system */
  prune(maxEntries = MAX_ENTRIES, maxBytes = MAX_BYTES): void {
    this.#bytes ??= this.#measured();
    if (this.#bytes <= maxBytes && this.numbers.length <= maxEntries) return;
    const names = namesIfSeen(this.#texts);
    let total = 0;
    const kept = new Set<string>();
    let bytes = 0;
    for (const [index, number] of this.numbers.entries()) {
      const { bytes: own, hashes } = this.#weightOf(number);
      const added = hashes.filter((hash) => !kept.has(hash));
      bytes += own + added.reduce((sum, hash) => sum + this.#sizeOf(hash), 0);
      if (index > 0 && (index >= maxEntries || bytes > maxBytes)) {
        bytes = Number.POSITIVE_INFINITY;
        rmSync(this.#pathOf(number), { force: true });
        this.#weights.delete(number);
        continue;
      }
      total = bytes;
      for (const hash of added) kept.add(hash);
    }
    this.#bytes = total;
    for (const name of names.filter((each) => !kept.has(each))) {
      rmSync(join(this.#texts, name), { force: true });
      this.#sizes.delete(name);
    }
  }

  /** What a killed procman has left unfinished is removed before. */
  #measured(): number {
    const paths = [this.#folder, this.#texts].flatMap((folder) => {
      removeUnfinished(folder);
      return namesIfSeen(folder).map((name) => join(folder, name));
    });
    return paths.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
  }

  #sizeOf(hash: string): number {
    const size = this.#sizes.get(hash) ?? statSync(join(this.#texts, hash), { throwIfNoEntry: false })?.size ?? 0;
    this.#sizes.set(hash, size);
    return size;
  }

  #weightOf(number: number): Weight {
    const known = this.#weights.get(number);
    if (known !== undefined) return known;
    const found = this.read(number);
    const bytes = statSync(this.#pathOf(number), { throwIfNoEntry: false })?.size ?? 0;
    const weight = { bytes, hashes: found !== undefined && "entry" in found ? hashesIn(found.entry) : [] };
    this.#weights.set(number, weight);
    return weight;
  }

  #keep(text: string): string {
    const hash = hashOf(text);
    const path = join(this.#texts, hash);
    const size = Buffer.byteLength(text);
    if (statSync(path, { throwIfNoEntry: false })?.size === size) return hash;
    writeWhole(path, text);
    if (this.#bytes !== undefined) this.#bytes += size;
    return hash;
  }

  #write(number: number, entry: StoredEntry): void {
    const text = `${JSON.stringify(entry)}\n`;
    writeWhole(this.#pathOf(number), text);
    const bytes = Buffer.byteLength(text);
    if (this.#bytes !== undefined) this.#bytes += bytes;
    this.#weights.set(number, { bytes, hashes: hashesIn(entry) });
  }

  #pathOf(number: number): string {
    return join(this.#folder, `${number}.json`);
  }
}

/** Each once. */
function hashesIn({ files }: StoredEntry): readonly string[] {
  return [...new Set(files.map(({ hash }) => hash))];
}

export function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

function changedAt(path: string): string {
  return (statSync(path, { throwIfNoEntry: false })?.mtime ?? new Date(0)).toISOString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

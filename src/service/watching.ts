/** Starts processes, and starts them again, when files change that they watch. */
import { dirname } from "node:path";
import { fingerprint } from "../base/fingerprint.ts";
import { mapOf, number, record } from "../base/shape.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import { monotonicMs } from "../os/monotonic.ts";
import type { Link } from "../runtime/link.ts";
import type { Changed } from "../watch/batch.ts";
import { type Opened, Watcher } from "../watch/watcher.ts";
import { FileNews, type Told } from "./file-news.ts";
import { type Line, warn } from "./narrator.ts";
import type { Part } from "./part.ts";

/** Memory of how watched files were when processes started with them last. */
const WATCHED = ":watched";

/** `at`: milliseconds since 1970. */
type Noted = { readonly fingerprint: number; readonly at: number };

/** Processes that watch the same share a watcher. `isOpen`: it knows all files. */
type Shared = { readonly specs: readonly ProcessSpec[]; readonly watcher: Watcher; readonly since: number; isOpen: boolean };

export type Watched = Told & { readonly config: Config };
type Notes = Pick<Link, "remember" | "forget" | "flush">;

export class Watching implements Part {
  readonly #watched: Watched;
  readonly #notes: Notes;
  readonly #say: (id: string, line: Line) => void;
  readonly #shared = new Map<string, Shared>();
  readonly #news: FileNews;
  #noted = new Map<string, Noted>();

  constructor(watched: Watched, notes: Notes, voice: { readonly say: (id: string, line: Line) => void }) {
    this.#watched = watched;
    this.#notes = notes;
    this.#say = (id, line) => voice.say(id, line);
    this.#news = new FileNews(watched, { say: this.#say, folder: () => this.#folder, flush: () => notes.flush() });
  }

  resume(notes: Readonly<Record<string, string>>): void {
    this.#noted = notedIn(notes[WATCHED]);
  }

  apply(): void {
    const groups = groupsOf(this.#watched.config);
    const untold = this.#close(groups);
    const gone = [...this.#noted.keys()].filter((key) => !groups.has(key));
    for (const key of gone) this.#noted.delete(key);
    if (gone.length > 0) this.#remember();
    for (const [key, specs] of groups) {
      const known = this.#shared.get(key);
      if (known === undefined) this.#open(key, specs);
      else this.#shared.set(key, { ...known, specs });
    }
    const watching = new Set([...groups.values()].flat().map(({ id }) => id));
    for (const { specs, files } of untold)
      this.#news.tell(
        specs.filter(({ id }) => watching.has(id)),
        files,
      );
  }

  end(): void {
    this.retire();
  }

  retire(): void {
    for (const { watcher } of this.#shared.values()) watcher.close();
    this.#shared.clear();
    this.#news.close();
  }

  get #folder(): string {
    return folderOf(this.#watched.config);
  }

  /** Watchers that are replaced, or needed no more; what they had not told yet. */
  #close(groups: ReadonlyMap<string, unknown>): readonly { readonly specs: readonly ProcessSpec[]; readonly files: readonly Changed[] }[] {
    const former = [...this.#shared].filter(([key]) => !groups.has(key));
    for (const [key] of former) this.#shared.delete(key);
    return former.map(([, { specs, watcher }]) => ({ specs, files: watcher.finish() }));
  }

  #open(key: string, specs: readonly ProcessSpec[]): void {
    const { config } = this.#watched;
    const { id, cluster, watch } = specs[0] as ProcessSpec;
    const around = { folder: this.#folder, own: ownFiles(config) };
    const watcher = new Watcher(watch, config.watcher, around, {
      opened: (opened) => this.#onOpened(key, opened),
      changed: (files) => this.#onChange(key, files),
      warn: (text) => this.#say(cluster?.id ?? id, warn(`watch: ${text.replaceAll(`${this.#folder}/`, "")}`)),
    });
    this.#shared.set(key, { specs, watcher, since: Date.now(), isOpen: false });
    watcher.open();
  }

  /** What has changed while nobody watched: before a service was there again, or while files were looked at for the first time. */
  #onOpened(key: string, { fingerprint: now, newest }: Opened): void {
    const shared = this.#shared.get(key);
    if (shared === undefined) return;
    shared.isOpen = true;
    const noted = this.#noted.get(key);
    const before = noted?.at ?? shared.since;
    const isNewer = newest !== undefined && newest.at > before;
    const isChanged = noted === undefined ? isNewer : noted.fingerprint !== now;
    if (isChanged) this.#onChange(key, [{ file: isNewer ? newest.file : (shared.specs[0]?.watch[0] ?? ""), at: monotonicMs() }]);
    else if (noted === undefined) this.#note(key, shared);
    this.#notes.flush();
  }

  #onChange(key: string, files: readonly Changed[]): void {
    const shared = this.#shared.get(key);
    if (shared === undefined) return;
    this.#news.tell(shared.specs, files);
    // Until all files are known there is nothing to compare with later.
    if (shared.isOpen) this.#note(key, shared);
    this.#notes.flush();
  }

  #note(key: string, { watcher }: Shared): void {
    this.#noted.set(key, { fingerprint: watcher.fingerprint, at: Date.now() });
    this.#remember();
  }

  /** With the commands of the same turn: a service that is killed before they are sent leaves the change to the next one. */
  #remember(): void {
    if (this.#noted.size === 0) this.#notes.forget(WATCHED);
    else this.#notes.remember(WATCHED, Object.fromEntries(this.#noted));
  }
}

/** By what they watch, as the watcher would see it. */
function groupsOf(config: Config): ReadonlyMap<string, readonly ProcessSpec[]> {
  const groups = new Map<string, ProcessSpec[]>();
  const around = JSON.stringify([config.watcher, folderOf(config), ownFiles(config)]);
  for (const spec of config.processes) {
    if (spec.watch.length === 0) continue;
    const key = fingerprint(JSON.stringify(spec.watch) + around);
    groups.set(key, [...(groups.get(key) ?? []), spec]);
  }
  return groups;
}

function folderOf({ file }: Config): string {
  return file === "" ? process.cwd() : dirname(file);
}

/** What procman writes itself. */
function ownFiles({ stateDir, processes }: Config): readonly string[] {
  return [stateDir, ...new Set(processes.flatMap(({ pidFile, log: { stdout, stderr } }) => [pidFile, stdout, stderr]))].filter(
    (file) => file !== undefined,
  );
}

function notedIn(note: string | undefined): Map<string, Noted> {
  if (note === undefined) return new Map();
  try {
    const value: unknown = JSON.parse(note);
    return new Map(isNoted(value) ? Object.entries(value as Readonly<Record<string, Noted>>) : []);
  } catch {
    return new Map();
  }
}

const isNoted = mapOf(record({ fingerprint: number, at: number }));

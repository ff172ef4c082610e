/** A folder with all below it: a watch on each folder, and what its files were when they were looked at last. */
import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { seenAt, textHash, UNKNOWN } from "./file-stamp.ts";
import { type WatchHandle, WatchLimitError, type WatchSource } from "./inotify.ts";
import type { PathFilter } from "./path-filter.ts";

/** Work in small pieces: between two of them others have their turn. */
export type ScanWork = Generator<undefined, void, void>;

export type TreePorts = {
  readonly scope: PathFilter;
  /** Asked whenever a folder is to be watched; undefined: it is looked at instead. */
  readonly kernel: () => WatchSource | undefined;
  /** There is something to `check`. */
  readonly heard: () => void;
  /** It came, went, or has changed. */
  readonly report: (file: string) => void;
};

/** The kernel's queue overflows at 16384 events, and says nothing. */
const MANY_EVENTS = 8_192;
/** So many files are looked at in one piece of work. */
const PIECE = 16;

/** Hears of each file when it was changed last; milliseconds since 1970. */
export type EachFile = (folder: string, name: string, changedAt: number) => void;

export class WatchedTree {
  readonly #ports: TreePorts;
  readonly #folders = new Map<string, Folder>();
  /** Names in folders, and whether they may be other files now. */
  readonly #dirty = new Map<string, Map<string, boolean>>();
  readonly #unclear = new Set<string>();
  #events = 0;

  constructor(ports: TreePorts) {
    this.#ports = ports;
  }

  get size(): { readonly files: number; readonly folders: number } {
    let files = 0;
    for (const folder of this.#folders.values()) files += folder.files.size;
    return { files, folders: this.#folders.size };
  }

  /** Of all files together. */
  get fingerprint(): number {
    let sum = 0;
    for (const folder of this.#folders.values()) sum = (sum + folder.fingerprint) >>> 0;
    return sum;
  }

  /** Learns what there is: nothing of it is news. */
  *open(): ScanWork {
    yield* this.#look(this.#ports.scope.path, "first");
  }

  /** Looks at the files themselves, which `open` leaves for later. */
  *stamp(each: EachFile): ScanWork {
    let count = 0;
    for (const folder of this.#folders.values())
      for (const [name, stamp] of folder.files) {
        if (stamp !== UNKNOWN) continue;
        const seen = seenAt(`${folder.path}/${name}`);
        if (seen !== undefined) {
          folder.put(name, seen.stamp);
          each(folder.path, name, seen.changedAt);
        }
        count += 1;
        if (count % PIECE === 0) yield;
      }
  }

  /** Looks at what the kernel has spoken of. */
  *check(): ScanWork {
    if (this.#events >= MANY_EVENTS) yield* this.renew();
    this.#events = 0;
    for (const path of [...this.#unclear]) if (this.#unclear.delete(path)) yield* this.#look(path, "changes");
    for (const [path, names] of [...this.#dirty]) {
      this.#dirty.delete(path);
      for (const [name, isRenamed] of names) {
        const folder = this.#folders.get(path);
        if (folder === undefined) break;
        if (isRenamed) yield* this.#onRename(folder, name);
        else this.#compare(folder, name);
        yield;
      }
    }
  }

  /** Looks at everything, and watches it anew: what was moved away is still watched where it is. */
  *renew(): ScanWork {
    this.unwatch();
    this.#dirty.clear();
    yield* this.#look(this.#ports.scope.path, "changes");
  }

  /** All of it is gone. */
  remove(): void {
    this.#forget(this.#ports.scope.path);
  }

  unwatch(path?: string): void {
    for (const [each, folder] of this.#folders) {
      if (path !== undefined && each !== path && !each.startsWith(`${path}/`)) continue;
      folder.handle?.close();
      folder.handle = undefined;
    }
  }

  *#look(path: string, mode: "first" | "changes"): ScanWork {
    const folder = this.#folders.get(path) ?? new Folder(path);
    this.#folders.set(path, folder);
    // Before it is read, so that what comes meanwhile is told.
    this.#watch(folder);
    const entries = entriesOf(path);
    if (entries === undefined) return this.#forget(path);
    if (mode === "first") this.#learn(folder, entries);
    else yield* this.#compareAll(folder, entries);
    yield;
    for (const name of [...folder.folders]) yield* this.#look(`${path}/${name}`, mode);
  }

  #learn(folder: Folder, entries: readonly Dirent[]): void {
    const counts = this.#ports.scope.within(folder.path);
    for (const entry of entries) if (this.#enter(folder, entry, counts) && !folder.files.has(entry.name)) folder.put(entry.name, UNKNOWN);
  }

  *#compareAll(folder: Folder, entries: readonly Dirent[]): ScanWork {
    const counts = this.#ports.scope.within(folder.path);
    const names = new Set<string>();
    for (const entry of entries) {
      names.add(entry.name);
      if (!this.#enter(folder, entry, counts)) continue;
      this.#compare(folder, entry.name);
      if (names.size % PIECE === 0) yield;
    }
    for (const name of without(folder.files.keys(), names)) this.#compare(folder, name);
    for (const name of without(folder.folders, names)) this.#forget(`${folder.path}/${name}`);
  }

  /** Whether it is a file that counts. */
  #enter(folder: Folder, entry: Dirent, counts: (name: string) => boolean): boolean {
    const { name } = entry;
    if (entry.isDirectory()) {
      if (!this.#ports.scope.prunes(`${folder.path}/${name}`)) folder.addFolder(name);
      return false;
    }
    if (folder.folders.has(name)) this.#forget(`${folder.path}/${name}`);
    if (!counts(name)) return false;
    if (entry.isSymbolicLink()) folder.addLink(name);
    return true;
  }

  #watch(folder: Folder): void {
    const kernel = this.#ports.kernel();
    if (folder.handle !== undefined || kernel === undefined) return;
    const { path } = folder;
    try {
      folder.handle = kernel(path, (event, name) => this.#onEvent(path, event === "rename", name));
    } catch (error) {
      // It is gone, or may not be read: reading it tells.
      if (error instanceof WatchLimitError) throw error;
    }
  }

  #onEvent(path: string, isRenamed: boolean, name: string | undefined): void {
    // A log file in a watched folder speaks often.
    if (name !== undefined && !isRenamed && !this.#ports.scope.counts(`${path}/${name}`)) return;
    this.#events += 1;
    if (name === undefined) this.#unclear.add(path);
    else {
      const names = this.#dirty.get(path) ?? new Map<string, boolean>();
      names.set(name, isRenamed || (names.get(name) ?? false));
      this.#dirty.set(path, names);
    }
    this.#ports.heard();
  }

  *#onRename(folder: Folder, name: string): ScanWork {
    const full = `${folder.path}/${name}`;
    const kind = kindOf(full);
    if (kind === "folder") {
      if (this.#ports.scope.prunes(full)) return;
      folder.addFolder(name);
      // It may be another one of the same name: the watches on that one are worth nothing.
      this.unwatch(full);
      yield* this.#look(full, "changes");
    } else {
      this.#forget(full);
      if (kind === "link") folder.addLink(name);
      if (this.#ports.scope.counts(full)) this.#compare(folder, name);
    }
    for (const link of [...folder.links]) if (link !== name) this.#compare(folder, link);
  }

  #compare(folder: Folder, name: string): void {
    const [before, file] = [folder.files.get(name), `${folder.path}/${name}`];
    const seen = seenAt(file);
    if (seen === undefined) {
      if (folder.drop(name)) this.#ports.report(file);
      return;
    }
    folder.put(name, seen.stamp);
    // Who looks, instead of being told, has nothing to compare with the first time.
    const isTold = this.#ports.kernel() !== undefined;
    if (before === UNKNOWN ? isTold : before !== seen.stamp || (isTold && seen.isFresh)) this.#ports.report(file);
  }

  #forget(path: string): void {
    const folder = this.#folders.get(path);
    if (folder === undefined) return;
    this.#folders.delete(path);
    this.#folders.get(path.slice(0, path.lastIndexOf("/")))?.dropFolder(path.slice(path.lastIndexOf("/") + 1));
    folder.handle?.close();
    for (const name of folder.files.keys()) this.#ports.report(`${path}/${name}`);
    for (const name of folder.folders) this.#forget(`${path}/${name}`);
  }
}

function without(names: Iterable<string>, others: ReadonlySet<string>): readonly string[] {
  return [...names].filter((name) => !others.has(name));
}

/** undefined: there is no such folder. One that may not be read is empty. */
function entriesOf(path: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "") ? undefined : [];
  }
}

function kindOf(path: string): "folder" | "link" | "file" | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : stats.isDirectory() ? "folder" : stats.isSymbolicLink() ? "link" : "file";
  } catch {
    return undefined;
  }
}

/** One watched folder: what was in it when it was looked at last. There may be thousands, so what most don't have takes no room. */

const NONE: ReadonlySet<string> = new Set();

class Folder {
  readonly path: string;
  handle: WatchHandle | undefined;
  readonly #hash: number;
  readonly #files = new Map<string, number>();
  #folders: Set<string> | undefined;
  #links: Set<string> | undefined;
  #fingerprint = 0;

  constructor(path: string) {
    this.path = path;
    this.#hash = textHash(path);
  }

  /** Stamps by name. */
  get files(): ReadonlyMap<string, number> {
    return this.#files;
  }

  /** Names. */
  get folders(): ReadonlySet<string> {
    return this.#folders ?? NONE;
  }

  /** Names of files; what they lead to changes without a word about them. */
  get links(): ReadonlySet<string> {
    return this.#links ?? NONE;
  }

  /** Of all its files together. */
  get fingerprint(): number {
    return this.#fingerprint;
  }

  put(name: string, stamp: number): void {
    this.#count(name, stamp);
    this.#files.set(name, stamp);
  }

  /** Whether it was there. */
  drop(name: string): boolean {
    this.#count(name, UNKNOWN);
    this.#links?.delete(name);
    return this.#files.delete(name);
  }

  addLink(name: string): void {
    this.#links ??= new Set();
    this.#links.add(name);
  }

  addFolder(name: string): void {
    this.#folders ??= new Set();
    this.#folders.add(name);
  }

  dropFolder(name: string): void {
    this.#folders?.delete(name);
  }

  #count(name: string, stamp: number): void {
    const before = this.#files.get(name) ?? UNKNOWN;
    if (before !== stamp) this.#fingerprint = (this.#fingerprint + Math.imul(textHash(name, this.#hash) | 1, stamp - before)) >>> 0;
  }
}

/** A watched folder and everything below it: a watch on each folder, and the last known stamps of its files. */
import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { stampAt, textHash, UNKNOWN } from "./file-stamp.ts";
import { type WatchHandle, WatchLimitError, type WatchSource } from "./inotify.ts";
import type { PathFilter } from "./path-filter.ts";

/** Work in small steps; between two of them the event loop may run. */
export type ScanWork = Generator<undefined, void, void>;

export type TreePorts = {
  readonly filter: PathFilter;
  /** Called whenever a folder is to be watched; undefined: folders are polled. */
  readonly kernel: () => WatchSource | undefined;
  /** Called when there is something to `check`. */
  readonly onDirty: () => void;
  /** Called with each file that was added, removed or changed. */
  readonly report: (file: string) => void;
};

/** After this many events everything is checked: the kernel's queue overflows at 16384 events without a notice. */
const MANY_EVENTS = 8_192;
/** Files checked in one step. */
const BATCH = 16;

/** `changedAt`: milliseconds since 1970. */
export type FileVisitor = (folder: string, name: string, changedAt: number) => void;

export type FilePart = { readonly files: number; readonly fingerprint: number };

export class WatchedTree {
  readonly #ports: TreePorts;
  readonly #folders = new Map<string, Folder>();
  /** By folder: changed names, and whether the name may be another file now. */
  readonly #dirtyNames = new Map<string, Map<string, boolean>>();
  /** Folders with events without a name. */
  readonly #dirtyFolders = new Set<string>();
  #events = 0;

  constructor(ports: TreePorts) {
    this.#ports = ports;
  }

  get size(): { readonly files: number; readonly folders: number } {
    let files = 0;
    for (const folder of this.#folders.values()) files += folder.files.size;
    return { files, folders: this.#folders.size };
  }

  /** One number for the state of all files together. */
  get fingerprint(): number {
    let sum = 0;
    for (const folder of this.#folders.values()) sum = (sum + folder.fingerprint) >>> 0;
    return sum;
  }

  /** Number and fingerprint of the files that this filter includes. */
  partOf({ includesIn }: PathFilter): FilePart {
    const part = { files: 0, fingerprint: 0 };
    for (const folder of this.#folders.values()) {
      const includes = includesIn(folder.path);
      for (const [name, stamp] of folder.files) {
        if (!includes(name)) continue;
        part.files += 1;
        part.fingerprint = (part.fingerprint + folder.weightOf(name, stamp)) >>> 0;
      }
    }
    return part;
  }

  /** Reads the names of all files, without reporting them. */
  *open(): ScanWork {
    yield* this.#scanFolder(this.#ports.filter.path, "first");
  }

  /** Reads the stamps of all files, which `open` leaves unknown. */
  *stamp(visit: FileVisitor): ScanWork {
    let count = 0;
    for (const folder of this.#folders.values())
      for (const [name, stamp] of folder.files) {
        if (stamp !== UNKNOWN) continue;
        const current = stampAt(`${folder.path}/${name}`);
        if (current !== undefined) {
          folder.put(name, current.stamp);
          visit(folder.path, name, current.changedAt);
        }
        count += 1;
        if (count % BATCH === 0) yield;
      }
  }

  /** Checks what the kernel has reported. */
  *check(): ScanWork {
    if (this.#events >= MANY_EVENTS) yield* this.renew();
    this.#events = 0;
    for (const path of [...this.#dirtyFolders])
      if (this.#dirtyFolders.delete(path)) yield* this.#scanFolder(path, "changes");
    for (const [path, names] of [...this.#dirtyNames]) {
      this.#dirtyNames.delete(path);
      for (const [name, isRenamed] of names) {
        const folder = this.#folders.get(path);
        if (folder === undefined) break;
        if (isRenamed) yield* this.#onRename(folder, name);
        else this.#compare(folder, name);
        yield;
      }
    }
  }

  /** Checks everything with new watches: the old watch of a folder that was moved away follows that folder. */
  *renew(): ScanWork {
    this.unwatch();
    this.#dirtyNames.clear();
    yield* this.#scanFolder(this.#ports.filter.path, "changes");
  }

  /** The folder is gone: reports all its files. */
  remove(): void {
    this.#removeFolder(this.#ports.filter.path);
  }

  unwatch(path?: string): void {
    for (const folder of this.#folders.values()) {
      if (path !== undefined && folder.path !== path && !folder.path.startsWith(`${path}/`)) continue;
      folder.handle?.close();
      folder.handle = undefined;
    }
  }

  *#scanFolder(path: string, mode: "first" | "changes"): ScanWork {
    const folder = this.#folders.get(path) ?? new Folder(path);
    this.#folders.set(path, folder);
    // Before it is read, so that no change is missed.
    this.#watch(folder);
    const entries = entriesOf(path);
    if (entries === undefined) return this.#removeFolder(path);
    if (mode === "first") this.#addAll(folder, entries);
    else yield* this.#compareAll(folder, entries);
    yield;
    for (const name of [...folder.folders]) yield* this.#scanFolder(`${path}/${name}`, mode);
  }

  #addAll(folder: Folder, entries: readonly Dirent[]): void {
    const includes = this.#ports.filter.includesIn(folder.path);
    for (const entry of entries)
      if (this.#addEntry(folder, entry, includes) && !folder.files.has(entry.name)) folder.put(entry.name, UNKNOWN);
  }

  *#compareAll(folder: Folder, entries: readonly Dirent[]): ScanWork {
    const includes = this.#ports.filter.includesIn(folder.path);
    const names = new Set<string>();
    for (const entry of entries) {
      names.add(entry.name);
      if (!this.#addEntry(folder, entry, includes)) continue;
      this.#compare(folder, entry.name);
      if (names.size % BATCH === 0) yield;
    }
    for (const name of without(folder.files.keys(), names)) this.#compare(folder, name);
    for (const name of without(folder.folders, names)) this.#removeFolder(`${folder.path}/${name}`);
  }

  /** Returns whether it is an included file. */
  #addEntry(folder: Folder, entry: Dirent, includes: (name: string) => boolean): boolean {
    const { name } = entry;
    if (entry.isDirectory()) {
      if (!this.#ports.filter.prunes(`${folder.path}/${name}`)) folder.addFolder(name);
      return false;
    }
    if (folder.folders.has(name)) this.#removeFolder(`${folder.path}/${name}`);
    if (!includes(name)) return false;
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
      // The folder is gone or may not be read: reading it shows which.
      if (error instanceof WatchLimitError) throw error;
    }
  }

  #onEvent(path: string, isRenamed: boolean, name: string | undefined): void {
    // Excluded files, such as a log file, may change often.
    if (name !== undefined && !isRenamed && !this.#ports.filter.includes(`${path}/${name}`)) return;
    this.#events += 1;
    if (name === undefined) this.#dirtyFolders.add(path);
    else {
      const names = this.#dirtyNames.get(path) ?? new Map<string, boolean>();
      names.set(name, isRenamed || (names.get(name) ?? false));
      this.#dirtyNames.set(path, names);
    }
    this.#ports.onDirty();
  }

  *#onRename(folder: Folder, name: string): ScanWork {
    const full = `${folder.path}/${name}`;
    const kind = kindOf(full);
    if (kind === "folder") {
      if (this.#ports.filter.prunes(full)) return;
      folder.addFolder(name);
      // It may be another folder of the same name: the old watches don't apply to it.
      this.unwatch(full);
      yield* this.#scanFolder(full, "changes");
    } else {
      this.#removeFolder(full);
      if (kind === "link") folder.addLink(name);
      if (this.#ports.filter.includes(full)) this.#compare(folder, name);
    }
    for (const link of [...folder.links]) if (link !== name) this.#compare(folder, link);
  }

  #compare(folder: Folder, name: string): void {
    const previous = folder.files.get(name);
    const file = `${folder.path}/${name}`;
    const current = stampAt(file);
    if (current === undefined) {
      if (folder.drop(name)) this.#ports.report(file);
      return;
    }
    folder.put(name, current.stamp);
    // When polling, an unknown stamp is only recorded: there is nothing to compare it with.
    const isWatched = this.#ports.kernel() !== undefined;
    if (previous === UNKNOWN ? isWatched : previous !== current.stamp || (isWatched && current.isFresh))
      this.#ports.report(file);
  }

  #removeFolder(path: string): void {
    const folder = this.#folders.get(path);
    if (folder === undefined) return;
    this.#folders.delete(path);
    this.#folders.get(path.slice(0, path.lastIndexOf("/")))?.dropFolder(path.slice(path.lastIndexOf("/") + 1));
    folder.handle?.close();
    for (const name of folder.files.keys()) this.#ports.report(`${path}/${name}`);
    for (const name of folder.folders) this.#removeFolder(`${path}/${name}`);
  }
}

function without(names: Iterable<string>, others: ReadonlySet<string>): readonly string[] {
  return [...names].filter((name) => !others.has(name));
}

/** undefined if there is no such folder. A folder that may not be read counts as empty. */
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

const NO_NAMES: ReadonlySet<string> = new Set();

/** The last known contents of one watched folder. There may be thousands of them, so rare parts are allocated on demand. */
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
    return this.#folders ?? NO_NAMES;
  }

  /** Names of symbolic links: a change of the target causes no event for the link. */
  get links(): ReadonlySet<string> {
    return this.#links ?? NO_NAMES;
  }

  /** One number for the state of all its files together. */
  get fingerprint(): number {
    return this.#fingerprint;
  }

  put(name: string, stamp: number): void {
    this.#count(name, stamp);
    this.#files.set(name, stamp);
  }

  /** Returns whether it was there. */
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
    const previous = this.#files.get(name) ?? UNKNOWN;
    if (previous !== stamp) this.#fingerprint = (this.#fingerprint + this.weightOf(name, stamp - previous)) >>> 0;
  }

  /** What a file adds to a fingerprint. */
  weightOf(name: string, stamp: number): number {
    return Math.imul(textHash(name, this.#hash) | 1, stamp);
  }
}

/** Watches paths and reports changed files: by events of the kernel, or else by polling. */
import { statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { monotonicMs } from "../os/clock.ts";
import { inotify, WatchLimitError, type WatchSource } from "./inotify.ts";
import { pathFilter, type WatchFolders, type WatchSettings } from "./path-filter.ts";
import type { ScanWork } from "./tree.ts";
import { WatchRoot } from "./watch-root.ts";

/** The watched files at the start. */
export type OpenedWatcher = {
  readonly files: number;
  readonly folders: number;
  readonly fingerprint: number;
  /** The most recently changed file, and when (milliseconds since 1970). */
  readonly newest?: { readonly file: string; readonly at: number };
};

export type WatcherPorts = {
  readonly opened: (opened: OpenedWatcher) => void;
  /** In order of their first change. */
  readonly changed: (files: readonly ChangedFiles[]) => void;
  /** Warnings for the user, as sentences. */
  readonly warn: (text: string) => void;
  readonly kernel?: WatchSource;
};

/** Longest time of work between two turns of the event loop. */
const SLICE_MS = 5;
/** Time from an event to the check, so that events that belong together have arrived. */
const GATHER_MS = 20;
/** Polling pauses at least this many times as long as a scan takes. */
const SCAN_DIVISOR = 20;

/** File systems with remote changes, which the kernel doesn't report: NFS, SMB, CIFS, 9p, FUSE, VirtualBox. */
const REMOTE = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x786f4256]);

export class Watcher {
  readonly #ports: WatcherPorts;
  readonly #intervalMs: number;
  readonly #roots: readonly WatchRoot[];
  readonly #batch: ChangeBatch;
  #kernel: WatchSource | undefined;
  #current: ScanWork | undefined;
  #queue: ScanWork[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #eventAt = 0;
  #newest: OpenedWatcher["newest"];
  #isOpened = false;
  #isClosed = false;

  /** `entries`: absolute paths, possibly with a pattern at the end. */
  constructor(entries: readonly string[], settings: WatchSettings, folders: WatchFolders, ports: WatcherPorts) {
    this.#ports = ports;
    this.#intervalMs = settings.intervalMs;
    this.#kernel = ports.kernel ?? inotify;
    this.#batch = new ChangeBatch(settings.intervalMs, ports.changed);
    this.#roots = [...new Set(entries)].map(
      (entry) =>
        new WatchRoot({
          filter: pathFilter(entry, settings, folders),
          folder: folders.folder,
          kernel: () => this.#kernel,
          onDirty: () => this.#onDirty(),
          report: (file) => this.#batch.add(file, this.#kernel === undefined ? monotonicMs() : this.#eventAt),
        }),
    );
  }

  /** One number for the state of all watched files, by their last known stamps. */
  get fingerprint(): number {
    return this.#roots.reduce((sum, root) => (sum + root.fingerprint) >>> 0, 0);
  }

  open(): void {
    const remote = this.#roots.find(({ path }) => isRemote(path));
    if (remote !== undefined) {
      this.#kernel = undefined;
      this.#ports.warn(`${remote.path} is on a file system that doesn't report its changes; ${this.#pollingText()}`);
    }
    this.#enqueue(this.#open());
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#batch.take();
    for (const root of this.#roots) root.unwatch();
  }

  /** Closes it and returns the changes not reported yet. */
  finish(): readonly ChangedFiles[] {
    const changes = this.#isOpened ? this.#pendingChanges() : [];
    this.close();
    return changes;
  }

  *#open(): ScanWork {
    for (const root of this.#roots) yield* root.open();
    for (const root of this.#roots)
      yield* root.stamp((folder, name, at) => {
        if (at > (this.#newest?.at ?? 0)) this.#newest = { file: join(folder, name), at };
      });
    for (const { path, exists, size, emptyReason } of this.#roots) {
      if (!exists) this.#ports.warn(`${path} doesn't exist yet; waiting for it`);
      else if (size.files === 0) this.#ports.warn(emptyReason);
    }
    const sizes = this.#roots.map(({ size }) => size);
    this.#isOpened = true;
    this.#ports.opened({
      files: sizes.reduce((sum, { files }) => sum + files, 0),
      folders: sizes.reduce((sum, { folders }) => sum + folders, 0),
      fingerprint: this.fingerprint,
      ...(this.#newest === undefined ? {} : { newest: this.#newest }),
    });
    if (this.#kernel === undefined) this.#scanLater(0);
  }

  #pendingChanges(): readonly ChangedFiles[] {
    const last = this.#kernel === undefined ? this.#scan() : this.#check();
    const left = this.#current === undefined ? this.#queue : [this.#current, ...this.#queue];
    try {
      for (const work of [...left, last]) while (work.next().done !== true);
    } catch (error) {
      // The next watcher meets the same limit and warns of it.
      if (!(error instanceof WatchLimitError)) throw error;
    }
    return this.#batch.take();
  }

  #onDirty(): void {
    this.#eventAt = monotonicMs();
    if (this.#kernel !== undefined && !this.#isClosed)
      this.#timer ??= setTimeout(() => this.#enqueue(this.#check()), GATHER_MS);
  }

  *#check(): ScanWork {
    this.#timer = undefined;
    for (const root of this.#roots) yield* root.check();
    this.#batch.arm();
  }

  *#scan(): ScanWork {
    const begin = performance.now();
    for (const root of this.#roots) yield* root.scan();
    this.#batch.arm();
    this.#scanLater((performance.now() - begin) * SCAN_DIVISOR);
  }

  #scanLater(leastMs: number): void {
    this.#timer = setTimeout(() => this.#enqueue(this.#scan()), Math.max(this.#intervalMs, leastMs));
  }

  /** Works are done one after the other. */
  #enqueue(work: ScanWork): void {
    this.#queue.push(work);
    if (this.#current === undefined) this.#runQueue();
  }

  #runQueue(): void {
    const until = performance.now() + SLICE_MS;
    try {
      for (;;) {
        this.#current ??= this.#queue.shift();
        if (this.#current === undefined || this.#isClosed) return;
        while (this.#current !== undefined) {
          if (this.#current.next().done === true) this.#current = undefined;
          else if (performance.now() >= until) return this.#continueLater();
        }
      }
    } catch (error) {
      this.#current = undefined;
      if (!(error instanceof WatchLimitError)) throw error;
      this.#fallBack(error);
    }
  }

  #continueLater(): void {
    this.#immediate = setImmediate(() => this.#runQueue());
  }

  #fallBack({ code }: WatchLimitError): void {
    const limit = code === "ENOSPC" ? "fs.inotify.max_user_watches" : "fs.inotify.max_user_instances";
    this.#kernel = undefined;
    for (const root of this.#roots) root.unwatch();
    clearTimeout(this.#timer);
    this.#ports.warn(
      `the kernel has no more watches (${code}): ${this.#pollingText()}; to fix that, raise ${limit} by sysctl and restart procman`,
    );
    this.#queue = [];
    this.#enqueue(this.#isOpened ? this.#scan() : this.#open());
  }

  #pollingText(): string {
    return `all files are polled every ${this.#intervalMs} ms instead`;
  }
}

function isRemote(path: string): boolean {
  for (let folder = path; ; folder = dirname(folder)) {
    try {
      return REMOTE.has(statfsSync(folder).type);
    } catch {
      if (folder === dirname(folder)) return false;
    }
  }
}

/** `file`: absolute. `at`: time of the last event or check that found the change; monotonic milliseconds. */
export type ChangedFiles = { readonly file: string; readonly at: number };

/** Changes are reported once no file has changed for this time. */
const REST_MS = 100;
/** And after this many intervals at the latest. */
const MAX_INTERVALS = 10;

/** Collects changes that belong together into one report. */
class ChangeBatch {
  readonly #intervalMs: number;
  readonly #changed: (files: readonly ChangedFiles[]) => void;
  readonly #files = new Map<string, number>();
  #first = 0;
  #last = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `intervalMs`: from the first change to the report. */
  constructor(intervalMs: number, changed: (files: readonly ChangedFiles[]) => void) {
    this.#intervalMs = intervalMs;
    this.#changed = changed;
  }

  /** `at`: monotonic milliseconds. */
  add(file: string, at: number): void {
    if (this.#files.size === 0) this.#first = at;
    this.#last = at;
    this.#files.set(file, at);
  }

  /** Call when all changes known so far are added. */
  arm(): void {
    if (this.#files.size === 0 || this.#timer !== undefined) return;
    const rest = Math.min(REST_MS, this.#intervalMs);
    const due = Math.min(
      Math.max(this.#first + this.#intervalMs, this.#last + rest),
      this.#first + MAX_INTERVALS * this.#intervalMs,
    );
    const left = due - monotonicMs();
    if (left <= 0) return this.#flush();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.arm();
    }, Math.ceil(left));
  }

  /** Returns and clears the changes not reported yet. */
  take(): readonly ChangedFiles[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const files = [...this.#files].map(([file, at]) => ({ file, at }));
    this.#files.clear();
    return files;
  }

  #flush(): void {
    this.#changed(this.take());
  }
}

/** Watches paths and reports changed files, to each view by its settings: by events of the kernel, or else by polling. */
import { statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { monotonicMs } from "../os/clock.ts";
import { inotify, WatchLimitError, type WatchSource } from "./inotify.ts";
import { eitherOf, type PathFilter, pathFilter, type WatchFolders, type WatchSettings } from "./path-filter.ts";
import type { FilePart, FileVisitor, ScanWork } from "./tree.ts";
import { WatchRoot } from "./watch-root.ts";

/** The watched files at the start. */
export type OpenedWatcher = {
  readonly files: number;
  readonly folders: number;
  readonly fingerprint: number;
  /** The most recently changed file, and when (milliseconds since 1970). */
  readonly newest?: { readonly file: string; readonly at: number };
};

/** What some processes see of the files, by their settings. All views of a watcher share its folders and files. */
export type WatchView = {
  readonly settings: WatchSettings;
  readonly opened: (opened: OpenedWatcher) => void;
  /** In order of their first change. */
  readonly changed: (files: readonly ChangedFiles[]) => void;
  /** Warnings for the user, as sentences. What concerns all views is told to the first. */
  readonly warn: (text: string) => void;
};

/** A view, and what is collected for it. */
type OpenView = WatchView & { readonly batch: ChangeBatch; newest: OpenedWatcher["newest"] };

/** A watched path, and which of its files each view includes. */
type SharedRoot = { readonly root: WatchRoot; readonly filters: ReadonlyMap<OpenView, PathFilter> };

/** Longest time of work between two turns of the event loop. */
const SLICE_MS = 5;
/** Time from an event to the check, so that events that belong together have arrived. */
const GATHER_MS = 20;
/** Polling pauses at least this many times as long as a scan takes. */
const SCAN_DIVISOR = 20;

/** File systems with remote changes, which the kernel doesn't report: NFS, SMB, CIFS, 9p, FUSE, VirtualBox. */
const REMOTE = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x786f4256]);

export class Watcher {
  readonly #views: readonly OpenView[];
  readonly #intervalMs: number;
  readonly #roots: readonly SharedRoot[];
  #kernel: WatchSource | undefined;
  #current: ScanWork | undefined;
  #queue: ScanWork[] = [];
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #eventAt = 0;
  #isOpened = false;
  #isClosed = false;

  /** `entries`: absolute paths, possibly with a pattern at the end. `views`: at least one. */
  constructor(
    entries: readonly string[],
    views: readonly WatchView[],
    folders: WatchFolders,
    kernel: WatchSource = inotify,
  ) {
    this.#kernel = kernel;
    this.#views = views.map((view) => ({
      ...view,
      batch: new ChangeBatch(view.settings.intervalMs, view.changed),
      newest: undefined,
    }));
    this.#intervalMs = Math.min(...views.map(({ settings }) => settings.intervalMs));
    this.#roots = [...new Set(entries)].map((entry) => {
      const filters = new Map(this.#views.map((view) => [view, pathFilter(entry, view.settings, folders)] as const));
      const root = new WatchRoot({
        filter: [...filters.values()].reduce((one, other) => eitherOf(one, other)),
        folder: folders.folder,
        kernel: () => this.#kernel,
        onDirty: () => this.#onDirty(),
        report: (file) => this.#report(file, filters),
      });
      return { root, filters };
    });
  }

  /** One number for the state of all files that a view includes, by their last known stamps. `position`: of the view. */
  fingerprintOf(position: number): number {
    const view = this.#views[position];
    return view === undefined ? 0 : this.#stateOf(view).fingerprint;
  }

  open(): void {
    const remote = this.#roots.find(({ root: { path } }) => isRemote(path));
    if (remote !== undefined) {
      this.#kernel = undefined;
      this.#warn(`${remote.root.path} is on a file system that doesn't report its changes; ${this.#pollingText()}`);
    }
    this.#enqueue(this.#open());
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    for (const { batch } of this.#views) batch.take();
    for (const { root } of this.#roots) root.unwatch();
  }

  /** Closes it and returns for each view the changes not reported yet. */
  finish(): readonly (readonly ChangedFiles[])[] {
    this.#isClosed = true;
    if (this.#isOpened) this.#checkNow();
    const changes = this.#views.map(({ batch }) => (this.#isOpened ? batch.take() : []));
    this.close();
    return changes;
  }

  *#open(): ScanWork {
    for (const { root } of this.#roots) yield* root.open();
    for (const shared of this.#roots) yield* shared.root.stamp((...found) => this.#onStamp(shared, found));
    for (const shared of this.#roots) this.#warnOf(shared);
    this.#isOpened = true;
    const folders = this.#roots.reduce((sum, { root }) => sum + root.size.folders, 0);
    for (const view of this.#views) {
      const { newest } = view;
      view.opened({ ...this.#stateOf(view), folders, ...(newest === undefined ? {} : { newest }) });
    }
    if (this.#kernel === undefined) this.#scanLater(0);
  }

  #onStamp({ filters }: SharedRoot, [folder, name, at]: Parameters<FileVisitor>): void {
    for (const view of this.#views) {
      if (at <= (view.newest?.at ?? 0)) continue;
      const file = join(folder, name);
      if (this.#includes(filters, view, file)) view.newest = { file, at };
    }
  }

  #warnOf(shared: SharedRoot): void {
    const { path, exists, emptyReason } = shared.root;
    if (!exists) return this.#warn(`${path} doesn't exist yet; waiting for it`);
    for (const view of this.#views) if (this.#partOf(shared, view).files === 0) view.warn(emptyReason);
  }

  #warn(text: string): void {
    this.#views[0]?.warn(text);
  }

  #report(file: string, filters: SharedRoot["filters"]): void {
    const at = this.#kernel === undefined ? monotonicMs() : this.#eventAt;
    for (const view of this.#views) if (this.#includes(filters, view, file)) view.batch.add(file, at);
  }

  /** The files of a single view are those of the roots. */
  #includes(filters: SharedRoot["filters"], view: OpenView, file: string): boolean {
    return this.#views.length === 1 || filters.get(view)?.includes(file) === true;
  }

  #stateOf(view: OpenView): FilePart {
    const parts = this.#roots.map((shared) => this.#partOf(shared, view));
    return {
      files: parts.reduce((sum, { files }) => sum + files, 0),
      fingerprint: parts.reduce((sum, { fingerprint }) => (sum + fingerprint) >>> 0, 0),
    };
  }

  #partOf({ root, filters }: SharedRoot, view: OpenView): FilePart {
    const filter = filters.get(view);
    if (this.#views.length > 1 && filter !== undefined) return root.partOf(filter);
    return { files: root.size.files, fingerprint: root.fingerprint };
  }

  #checkNow(): void {
    const last = this.#kernel === undefined ? this.#scan() : this.#check();
    const left = this.#current === undefined ? this.#queue : [this.#current, ...this.#queue];
    try {
      for (const work of [...left, last]) while (work.next().done !== true);
    } catch (error) {
      // The next watcher meets the same limit and warns of it.
      if (!(error instanceof WatchLimitError)) throw error;
    }
  }

  #onDirty(): void {
    this.#eventAt = monotonicMs();
    if (this.#kernel !== undefined && !this.#isClosed)
      this.#timer ??= setTimeout(() => this.#enqueue(this.#check()), GATHER_MS);
  }

  *#check(): ScanWork {
    this.#timer = undefined;
    for (const { root } of this.#roots) yield* root.check();
    this.#arm();
  }

  *#scan(): ScanWork {
    const begin = performance.now();
    for (const { root } of this.#roots) yield* root.scan();
    this.#arm();
    this.#scanLater((performance.now() - begin) * SCAN_DIVISOR);
  }

  /** Once it is closed, nothing is reported any more: `finish` returns it. */
  #arm(): void {
    if (!this.#isClosed) for (const { batch } of this.#views) batch.arm();
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
    for (const { root } of this.#roots) root.unwatch();
    clearTimeout(this.#timer);
    this.#warn(
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

/** Watches places and tells what has changed there: by the kernel where that can tell, else by looking. */
import { statfsSync } from "node:fs";
import { dirname, join } from "node:path";
import { monotonicMs } from "../os/clock.ts";
import { inotify, WatchLimitError, type WatchSource } from "./inotify.ts";
import { pathFilter, type WatchFolders, type WatchSettings } from "./path-filter.ts";
import type { ScanWork } from "./tree.ts";
import { WatchRoot } from "./watch-root.ts";

/** What there is, once that is known. */
export type OpenedWatcher = {
  readonly files: number;
  readonly folders: number;
  readonly fingerprint: number;
  /** The file that was changed last, and when (milliseconds since 1970). */
  readonly newest?: { readonly file: string; readonly at: number };
};

export type WatcherPorts = {
  readonly opened: (opened: OpenedWatcher) => void;
  /** The first one first. */
  readonly changed: (files: readonly ChangedFiles[]) => void;
  /** What a user should know: sentences. */
  readonly warn: (text: string) => void;
  readonly kernel?: WatchSource;
};

/** Others have their turn after so many milliseconds of work. */
const TURN_MS = 5;
/** What belongs together has come by then. Milliseconds. */
const GATHER_MS = 20;
/** Looking may take one part in so many of the time. */
const SCAN_SHARE = 20;

/** File systems that others write to, of which the kernel says nothing: NFS, SMB, CIFS, 9p, FUSE, VirtualBox. */
const REMOTE = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997, 0x65735546, 0x786f4256]);

export class Watcher {
  readonly #ports: WatcherPorts;
  readonly #intervalMs: number;
  readonly #places: readonly WatchRoot[];
  readonly #batch: ChangeBatch;
  #kernel: WatchSource | undefined;
  #work: ScanWork | undefined;
  #next: ScanWork[] = [];
  #timer: NodeJS.Timeout | undefined;
  #turn: NodeJS.Immediate | undefined;
  #heardAt = 0;
  #newest: OpenedWatcher["newest"];
  #isOpened = false;
  #isClosed = false;

  /** `entries`: absolute paths, or such with a pattern at the end. */
  constructor(entries: readonly string[], settings: WatchSettings, around: WatchFolders, ports: WatcherPorts) {
    this.#ports = ports;
    this.#intervalMs = settings.intervalMs;
    this.#kernel = ports.kernel ?? inotify;
    this.#batch = new ChangeBatch(settings.intervalMs, ports.changed);
    this.#places = [...new Set(entries)].map(
      (entry) =>
        new WatchRoot({
          scope: pathFilter(entry, settings, around),
          folder: around.folder,
          kernel: () => this.#kernel,
          heard: () => this.#onHeard(),
          report: (file) => this.#batch.add(file, this.#kernel === undefined ? monotonicMs() : this.#heardAt),
        }),
    );
  }

  /** Of all that is watched, as it was seen last. */
  get fingerprint(): number {
    return this.#places.reduce((sum, place) => (sum + place.fingerprint) >>> 0, 0);
  }

  open(): void {
    const remote = this.#places.find(({ path }) => isRemote(path));
    if (remote !== undefined) {
      this.#kernel = undefined;
      this.#ports.warn(`${remote.path} lies on a file system whose changes are not told here; ${this.#looking()}`);
    }
    this.#do(this.#open());
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
    this.#batch.take();
    for (const place of this.#places) place.unwatch();
  }

  /** Closes it; what had changed, and was to be told later. */
  finish(): readonly ChangedFiles[] {
    const untold = this.#isOpened ? this.#untold() : [];
    this.close();
    return untold;
  }

  *#open(): ScanWork {
    for (const place of this.#places) yield* place.open();
    for (const place of this.#places)
      yield* place.stamp((folder, name, at) => {
        if (at > (this.#newest?.at ?? 0)) this.#newest = { file: join(folder, name), at };
      });
    for (const { path, isThere, size, emptiness } of this.#places) {
      if (!isThere) this.#ports.warn(`${path} is not there yet; it is watched for`);
      else if (size.files === 0) this.#ports.warn(emptiness);
    }
    const sizes = this.#places.map(({ size }) => size);
    this.#isOpened = true;
    this.#ports.opened({
      files: sizes.reduce((sum, { files }) => sum + files, 0),
      folders: sizes.reduce((sum, { folders }) => sum + folders, 0),
      fingerprint: this.fingerprint,
      ...(this.#newest === undefined ? {} : { newest: this.#newest }),
    });
    if (this.#kernel === undefined) this.#scanLater(0);
  }

  #untold(): readonly ChangedFiles[] {
    const last = this.#kernel === undefined ? this.#scan() : this.#check();
    const left = this.#work === undefined ? this.#next : [this.#work, ...this.#next];
    try {
      for (const work of [...left, last]) while (work.next().done !== true);
    } catch (error) {
      // Whoever watches next finds the same, and says so.
      if (!(error instanceof WatchLimitError)) throw error;
    }
    return this.#batch.take();
  }

  #onHeard(): void {
    this.#heardAt = monotonicMs();
    if (this.#kernel !== undefined && !this.#isClosed) this.#timer ??= setTimeout(() => this.#do(this.#check()), GATHER_MS);
  }

  *#check(): ScanWork {
    this.#timer = undefined;
    for (const place of this.#places) yield* place.check();
    this.#batch.arm();
  }

  *#scan(): ScanWork {
    const begin = performance.now();
    for (const place of this.#places) yield* place.scan();
    this.#batch.arm();
    this.#scanLater((performance.now() - begin) * SCAN_SHARE);
  }

  #scanLater(leastMs: number): void {
    this.#timer = setTimeout(() => this.#do(this.#scan()), Math.max(this.#intervalMs, leastMs));
  }

  /** One after the other. */
  #do(work: ScanWork): void {
    this.#next.push(work);
    if (this.#work === undefined) this.#go();
  }

  #go(): void {
    const until = performance.now() + TURN_MS;
    try {
      for (;;) {
        this.#work ??= this.#next.shift();
        if (this.#work === undefined || this.#isClosed) return;
        while (this.#work !== undefined) {
          if (this.#work.next().done === true) this.#work = undefined;
          else if (performance.now() >= until) return this.#goOn();
        }
      }
    } catch (error) {
      this.#work = undefined;
      if (!(error instanceof WatchLimitError)) throw error;
      this.#fallBack(error);
    }
  }

  #goOn(): void {
    this.#turn = setImmediate(() => this.#go());
  }

  #fallBack({ code }: WatchLimitError): void {
    const limit = code === "ENOSPC" ? "fs.inotify.max_user_watches" : "fs.inotify.max_user_instances";
    this.#kernel = undefined;
    for (const place of this.#places) place.unwatch();
    clearTimeout(this.#timer);
    this.#ports.warn(
      `the kernel has no more watches (${code}): ${this.#looking()}; to mend that, raise ${limit} by sysctl and start procman anew`,
    );
    this.#next = [];
    this.#do(this.#isOpened ? this.#scan() : this.#open());
  }

  #looking(): string {
    return `all files are looked at every ${this.#intervalMs} ms instead`;
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

/** Gathers changes until what belongs together is there. */

/** `file`: absolute. `at`: when it was heard of last; monotonic milliseconds. */
export type ChangedFiles = { readonly file: string; readonly at: number };

/** While files go on changing at shorter distances, it is waited. Milliseconds. */
const REST_MS = 100;
/** But not longer than so many intervals. */
const MOST_INTERVALS = 10;

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

  /** `at`: when it was heard of; monotonic milliseconds. */
  add(file: string, at: number): void {
    if (this.#files.size === 0) this.#first = at;
    this.#last = at;
    this.#files.set(file, at);
  }

  /** All that is known for now has been added. */
  arm(): void {
    if (this.#files.size === 0 || this.#timer !== undefined) return;
    const rest = Math.min(REST_MS, this.#intervalMs);
    const due = Math.min(Math.max(this.#first + this.#intervalMs, this.#last + rest), this.#first + MOST_INTERVALS * this.#intervalMs);
    const left = due - monotonicMs();
    if (left <= 0) return this.#tell();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.arm();
    }, Math.ceil(left));
  }

  /** What was not reported yet, and will not be any more. */
  take(): readonly ChangedFiles[] {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const files = [...this.#files].map(([file, at]) => ({ file, at }));
    this.#files.clear();
    return files;
  }

  #tell(): void {
    this.#changed(this.take());
  }
}

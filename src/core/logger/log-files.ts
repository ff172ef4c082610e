/** All open log files, one for each path. */
import { closeSync, openSync } from "node:fs";
import type { Rotation } from "../ipc/logger-protocol.ts";
import { openFilesLimit } from "../os/process-rights.ts";
import { isShortage } from "../os/shortage.ts";
import { emptyFile } from "./appender.ts";
import type { DescriptorRoom, FileOptions } from "./log-file.ts";
import { LogFile } from "./log-file.ts";

type SharedFile = { readonly file: LogFile; users: number; readonly ids: Set<string> };

/** Descriptors that log files leave to FIFOs, the log store and compression. */
const FREE_DESCRIPTORS = 24;

/** The use of a file by one stream. */
export type FileShare = {
  readonly file: LogFile;
  /** Whether processes with different ids write to it. */
  readonly isMixed: boolean;
  readonly release: () => void;
};

/** Descriptors are given in ascending order. */
function lowestFree(): number {
  try {
    const fd = openSync("/dev/null", "r");
    closeSync(fd);
    return fd;
  } catch (error) {
    if (isShortage(error)) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

export class LogFiles {
  readonly room: DescriptorRoom;
  readonly #options: FileOptions;
  readonly #entries = new Map<string, SharedFile>();

  constructor(options: FileOptions) {
    const most = openFilesLimit() - FREE_DESCRIPTORS;
    const make = (): boolean => this.#makeRoom();
    this.room = {
      make,
      restore: () => {
        while (lowestFree() >= most && make());
      },
    };
    this.#options = { ...options, room: this.room };
  }

  #makeRoom(): boolean {
    const idle = [...this.#entries.values()].filter(({ file }) => file.idleDescriptor !== undefined);
    const [first, ...others] = idle.map(({ file }) => file);
    if (first === undefined) return false;
    others.reduce((oldest, file) => (file.usedAt < oldest.usedAt ? file : oldest), first).closeForNow();
    return true;
  }

  share(path: string, id: string, rotation: Rotation | undefined, mode?: number): FileShare {
    const entry = this.#entry(path, mode);
    entry.users += 1;
    entry.ids.add(id);
    entry.file.keep();
    // The newest run has the newest configuration.
    entry.file.rotation = rotation;
    // FIFOs may have taken the last descriptors.
    this.room.restore();
    entry.file.prepare();
    return {
      file: entry.file,
      get isMixed() {
        return entry.ids.size > 1;
      },
      release: () => this.#release(entry),
    };
  }

  /** A file for which lines are waiting, if any. */
  get behind(): LogFile | undefined {
    return this.#find((file) => file.isBehind);
  }

  /** A file for which lines have been waiting for more than a moment, if any. */
  get stuck(): LogFile | undefined {
    return this.#find((file) => file.isStuck);
  }

  reopen(): void {
    for (const { file } of this.#entries.values()) file.reopen();
  }

  /** Empties a file, also one that is not open. */
  empty(path: string): boolean {
    return this.#entries.get(path)?.file.empty() ?? emptyFile(path);
  }

  stopHolding(): void {
    for (const { file } of this.#entries.values()) file.stopHolding();
  }

  end(): void {
    for (const { file } of this.#entries.values()) file.end();
    this.#entries.clear();
  }

  #find(is: (file: LogFile) => boolean): LogFile | undefined {
    for (const { file } of this.#entries.values()) if (is(file)) return file;
    return undefined;
  }

  #entry(path: string, mode: number | undefined): SharedFile {
    const known = this.#entries.get(path);
    if (known) return known;
    const entry = { file: new LogFile(path, this.#options, mode), users: 0, ids: new Set<string>() };
    this.#entries.set(path, entry);
    return entry;
  }

  #release(entry: SharedFile): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.file.release(() => this.#entries.delete(entry.file.path));
  }
}

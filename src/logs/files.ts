/** All log files that are in use, each once, however many streams write to it. */
import type { Rotation } from "../contract/logger-protocol.ts";
import type { FileOptions } from "./file.ts";
import { LogFile } from "./file.ts";

type Entry = { readonly file: LogFile; users: number; readonly ids: Set<string> };

/** One stream's share in a file. */
export type Share = {
  readonly file: LogFile;
  /** Processes with different ids write to it. */
  readonly isMixed: boolean;
  readonly release: () => void;
};

export class Files {
  readonly #options: FileOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: FileOptions) {
    this.#options = options;
  }

  share(path: string, id: string, rotation: Rotation | undefined): Share {
    const entry = this.#entry(path);
    entry.users += 1;
    entry.ids.add(id);
    entry.file.keep();
    // The newest run has the newest configuration.
    entry.file.rotation = rotation;
    entry.file.prepare();
    return {
      file: entry.file,
      get isMixed() {
        return entry.ids.size > 1;
      },
      release: () => this.#release(entry),
    };
  }

  /** A file that lines wait for. */
  get behind(): LogFile | undefined {
    return this.#find((file) => file.isBehind);
  }

  /** One that they wait for since more than a moment. */
  get stuck(): LogFile | undefined {
    return this.#find((file) => file.isStuck);
  }

  reopen(): void {
    for (const { file } of this.#entries.values()) file.reopen();
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

  #entry(path: string): Entry {
    const known = this.#entries.get(path);
    if (known) return known;
    const entry = { file: new LogFile(path, this.#options), users: 0, ids: new Set<string>() };
    this.#entries.set(path, entry);
    return entry;
  }

  #release(entry: Entry): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.file.release(() => this.#entries.delete(entry.file.path));
  }
}

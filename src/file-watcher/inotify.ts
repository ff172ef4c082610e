/** What the kernel tells of one folder, by `fs.watch`: a port, so that a test can run out of watches. */
import { watch } from "node:fs";

/** `rename`: a name came, went, or is another file now. Without a name: anything may have happened. */
export type WatchCallback = (event: "rename" | "change", name: string | undefined) => void;

export type WatchHandle = { readonly close: () => void };

/** @throws {WatchLimitError}, or what the system says of this folder. */
export type WatchSource = (folder: string, heard: WatchCallback) => WatchHandle;

/** The limit of the kernel is reached. */
export class WatchLimitError extends Error {
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`the kernel has no more watches (${code})`, { cause });
    this.name = "NoMoreWatches";
    this.code = code;
  }
}

export const inotify: WatchSource = (folder, heard) => {
  try {
    const watcher = watch(folder, { persistent: false }, (event, name) => heard(event, name ?? undefined));
    watcher.on("error", () => heard("rename", undefined));
    return watcher;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw ["ENOSPC", "EMFILE", "ENFILE"].includes(code) ? new WatchLimitError(code, error) : error;
  }
};

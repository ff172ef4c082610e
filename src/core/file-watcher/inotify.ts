/** Events of one folder from the kernel, by `fs.watch`. A port, so that a test can run out of watches. */
import { watch } from "node:fs";

/** `rename`: a name was added or removed, or is another file now. Without a name: anything may have changed. */
export type WatchCallback = (event: "rename" | "change", name: string | undefined) => void;

export type WatchHandle = { readonly close: () => void };

/** @throws {WatchLimitError}, or the system's error for this folder. */
export type WatchSource = (folder: string, onEvent: WatchCallback) => WatchHandle;

/** The kernel's limit of watches is reached. */
export class WatchLimitError extends Error {
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`the kernel has no more watches (${code})`, { cause });
    this.name = "WatchLimitError";
    this.code = code;
  }
}

export const inotify: WatchSource = (folder, onEvent) => {
  try {
    const watcher = watch(folder, { persistent: false }, (event, name) => onEvent(event, name ?? undefined));
    watcher.on("error", () => onEvent("rename", undefined));
    return watcher;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw ["ENOSPC", "EMFILE", "ENFILE"].includes(code) ? new WatchLimitError(code, error) : error;
  }
};

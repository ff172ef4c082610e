/** Writes files that users edit: atomically, with mode and owner as they were, and where a link leads. */
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** Replaces the content of a file. @throws errors of the file system */
export function replaceText(file: string, text: string): void {
  writeLike(realpathSync(file), file, text);
}

/** Writes a file, or replaces it, with mode and owner of another one; without that one, for this user alone. @throws errors of the file system */
export function writeLike(file: string, model: string, text: string): void {
  const stat = statSync(model, { throwIfNoEntry: false });
  // Patterns of `include` don't find names with a leading dot.
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`);
  const fd = openSync(draft, "wx", 0o600);
  try {
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    if (stat !== undefined) {
      chmodSync(draft, stat.mode & 0o7777);
      // Only root may change owners; other users own the new file anyway.
      if (process.getuid?.() === 0) chownSync(draft, stat.uid, stat.gid);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** Configuration files are written whole or not at all. */
import { promises as fs } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ProcmanError } from "../base/errors.ts";

/** Replaces the content of a file at one stroke; mode and owner stay, a symbolic link keeps pointing. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await saying(file, async () => {
    const target = await fs.realpath(file);
    const { mode, uid, gid } = await fs.stat(target);
    const draft = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
    try {
      await write(draft, text, async (handle) => {
        await handle.chmod(mode & 0o7777);
        // Only root may give files away; a file of one's own has the right owner already.
        if (process.getuid?.() === 0) await handle.chown(uid, gid);
      });
      await fs.rename(draft, target);
    } catch (error) {
      await fs.rm(draft, { force: true });
      throw error;
    }
  });
}

/** Makes a file that must not exist yet. */
export async function createFile(file: string, text: string): Promise<void> {
  await saying(file, () => write(file, text));
}

type Handle = Awaited<ReturnType<typeof fs.open>>;

async function write(file: string, text: string, prepare?: (handle: Handle) => Promise<void>): Promise<void> {
  const handle = await fs.open(file, "wx");
  try {
    await prepare?.(handle);
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "a part of the path is no folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space is left",
  EISDIR: "it is a folder",
};

async function saying(file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    if (code === "EEXIST") throw new ProcmanError("file-exists", `Cannot write ${file}: it exists already`, { cause });
    throw new ProcmanError("configuration-missing", `Cannot write ${file}: ${REASONS[code] ?? message}`, { cause });
  }
}

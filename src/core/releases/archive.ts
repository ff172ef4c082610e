/** Archives of tar as releases. Loaded with the first one. */
import { mkdir, open } from "node:fs/promises";
import { posix } from "node:path";
import { Readable } from "node:stream";
import { create, extract, list } from "tar";
import type { Entry } from "./release-contents.ts";

const KINDS: Readonly<Record<string, Entry["kind"]>> = {
  File: "file",
  OldFile: "file",
  ContiguousFile: "file",
  Link: "file",
  Directory: "folder",
  GNUDumpDir: "folder",
  SymbolicLink: "link",
  FIFO: { other: "a FIFO" },
  CharacterDevice: { other: "a device" },
  BlockDevice: { other: "a device" },
};

const NO_ARCHIVE = "it isn't an archive of tar; allowed: .tar, or compressed by gzip, .tar.gz";

/** What is in an archive. @throws Error with the problem */
export async function contentsOfArchive(file: string): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  if (await isEmpty(file)) return entries;
  const read = list({
    file,
    strict: true,
    onReadEntry: ({ path, type, linkpath, size }) => {
      const inside = posix.normalize(path).replace(/\/$/, "");
      if (inside === ".") return;
      const target = type === "Link" || type === "SymbolicLink" ? { target: linkpath ?? "" } : {};
      entries.push({
        path: inside,
        kind: KINDS[type] ?? { other: `of the type ${type}` },
        ...target,
        ...(type === "Link" && { isHard: true as const }),
        bytes: size,
      });
    },
  });
  await read.catch(({ message }: Error) => {
    if (message.includes("Unrecognized archive format")) throw new Error(NO_ARCHIVE);
    throw new Error(`it can't be read to its end: ${message.replace(/^(?:TAR_[A-Z_]+|zlib): /, "")}`);
  });
  return entries;
}

/** A file of anything else would be an archive without entries, too. @throws Error with the problem */
async function isEmpty(file: string): Promise<boolean> {
  const handle = await open(file, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    const isGzip = buffer[0] === 0x1f && buffer[1] === 0x8b;
    const isTar = bytesRead === 512 && buffer.toString("latin1", 257, 262) === "ustar";
    const isEnd = bytesRead === 512 && buffer.every((byte) => byte === 0);
    if (!isGzip && !isTar && !isEnd) throw new Error(NO_ARCHIVE);
    return isEnd;
  } finally {
    await handle.close();
  }
}

/** Unpacks an archive whose contents were checked. */
export async function unpack(file: string, to: string, signal: AbortSignal): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o755 });
  await extract({
    file,
    cwd: to,
    strict: true,
    preserveOwner: false,
    noMtime: false,
    filter: () => {
      signal.throwIfAborted();
      return true;
    },
  });
}

/** The entries of a folder as an archive, for a release elsewhere. */
export function pack(folder: string, entries: readonly Entry[]): Readable {
  // A name that begins with "@" would stand for an archive.
  const paths = entries.map(({ path }) => `./${path}`);
  return Readable.from(create({ cwd: folder, noDirRecurse: true }, paths));
}

/**
 * Finds a file for root without following links of other users.
 *
 * Every folder is opened and held, and its entries are named relative to it, so that a folder which is replaced
 * meanwhile by a link changes nothing. A folder is safe if it and all folders above it belong to root and only root can
 * change their entries. Links of root in safe folders are followed. Other links are followed only to a folder of the
 * user who controls the link. A procman that isn't root has the rights of its user only, and follows all links.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { makeFolder } from "./files.ts";
import { userInText } from "./user-names.ts";

/** Linux: needs no right to read the folder. (Absent from Node's constants.) */
export const O_PATH: number = process.platform === "linux" ? 0o10000000 : 0;
/** macOS: refuses links in every part of the path. */
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x20000000 : 0;
const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH;
export const MAX_LINKS = 40;
export const OTHERS_WRITE = 0o022;
export const STICKY = 0o1000;

/** Names for descriptors that procman has open itself. */
const DESCRIPTOR = /^\/dev\/(?:stdin|stdout|stderr|fd\/\d+)$|^\/proc\/(?:self|\d+)\/fd\/\d+$/;

/** A path that root must not use. `reasonOf` gives its message. */
export class UnsafePathError extends Error {
  readonly code = "EPERM";
}

export type WalkOptions = {
  /** A link in the last part of the path is the file itself. */
  readonly keepsLastLink?: boolean;
  /** Makes missing folders, with this mode. */
  readonly makeFolders?: number;
  /** Default: whether procman runs as root. */
  readonly isCareful?: boolean;
};

/** A file, or the place of one, in a folder that is held until `close`. */
export type FoundFile = {
  /** Name in its folder, links followed. */
  readonly name: string;
  /** Path of an entry of the folder; valid until `close`. */
  readonly entry: (name: string) => string;
  /** Flags for opening. */
  readonly flags: number;
  /** Tells folders apart. */
  readonly folderId: string;
  /** @throws {UnsafePathError} another user may have put the opened file there. */
  readonly check: (stat: Stats) => void;
  readonly close: () => void;
};

/** @throws {UnsafePathError} and errors of the file system. The file itself may be missing. */
export function walkTo(path: string, options: WalkOptions = {}): FoundFile {
  const { makeFolders, isCareful = process.geteuid?.() === 0 } = options;
  if (isDescriptor(path)) return asNamed(path);
  if (isCareful) return new Walk(path, options).run();
  if (makeFolders !== undefined) makeFolder(dirname(path), makeFolders);
  return asNamed(options.keepsLastLink ? path : realPath(path));
}

/** Whether the path names a descriptor of procman, such as `/dev/stdout`. */
export function isDescriptor(path: string): boolean {
  return DESCRIPTOR.test(path);
}

function makeIfMissing(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    // It doesn't exist yet; what is wrong with it, the call that opens it reports.
    return path;
  }
}

function asNamed(path: string): FoundFile {
  const folder = dirname(path);
  const entry = (name: string): string => join(folder, name);
  return { name: basename(path), entry, flags: 0, folderId: folder, check: () => undefined, close: () => undefined };
}

type HeldFolder = { readonly fd: number; readonly path: string; readonly stat: Stats; readonly isSafe: boolean };

/** A link in a folder that isn't safe, and the user who decides where it leads. */
type ForeignLink = { readonly path: string; readonly uid: number };

class Walk {
  readonly #path: string;
  readonly #options: WalkOptions;
  readonly #folders: HeldFolder[] = [];
  /** The next part is the last one. */
  #parts: string[];
  readonly #foreignLinks: ForeignLink[] = [];
  #links = 0;

  constructor(path: string, options: WalkOptions) {
    this.#path = path;
    this.#options = options;
    this.#parts = partsOf(path).reverse();
  }

  run(): FoundFile {
    try {
      this.#enterRoot();
      for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
        const found = this.#step(part);
        if (found !== undefined) return found;
      }
      throw Object.assign(new Error("EISDIR: it is a folder"), { code: "EISDIR" });
    } catch (error) {
      this.#closeAll();
      throw error;
    }
  }

  #enterRoot(): void {
    this.#closeAll();
    this.#hold("/", "/", true);
  }

  #hold(entry: string, path: string, isParentSafe: boolean): void {
    const fd = openSync(entry, FOLDER_FLAGS);
    const stat = fstatSync(fd);
    const isSafe = isParentSafe && stat.uid === 0 && ((stat.mode & OTHERS_WRITE) === 0 || isSticky(stat));
    this.#folders.push({ fd, path, stat, isSafe });
  }

  #step(part: string): FoundFile | undefined {
    const folder = this.#folder;
    if (part === "..") return this.#leave();
    const entry = entryOf(folder, part);
    const path = join(folder.path, part);
    const stat = lstatSync(entry, { throwIfNoEntry: false });
    const isLast = this.#parts.length === 0;
    if (isLast && (this.#options.keepsLastLink || !stat?.isSymbolicLink())) return this.#found(part);
    if (stat?.isSymbolicLink()) return this.#follow(entry, path, stat);
    if (stat === undefined) makeIfMissing(entry, this.#modeOfMissing(path));
    this.#hold(entry, path, folder.isSafe);
    return undefined;
  }

  get #folder(): HeldFolder {
    const folder = this.#folders.at(-1);
    if (folder === undefined) throw new Error(`no folder is held for ${this.#path}`);
    return folder;
  }

  #modeOfMissing(path: string): number {
    const { makeFolders } = this.#options;
    if (makeFolders !== undefined) return makeFolders;
    throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: "ENOENT" });
  }

  #leave(): undefined {
    if (this.#folders.length > 1) closeSync(this.#folders.pop()?.fd ?? -1);
  }

  #follow(entry: string, path: string, stat: Stats): FoundFile | undefined {
    this.#links += 1;
    if (this.#links > MAX_LINKS)
      throw Object.assign(new Error("ELOOP: its symbolic links form a loop"), { code: "ELOOP" });
    const target = readlinkSync(entry);
    const after = lstatSync(entry);
    if (after.ino !== stat.ino || after.ctimeMs !== stat.ctimeMs)
      throw new UnsafePathError(`${path} was replaced while it was looked up`);
    const { isSafe, stat: folder } = this.#folder;
    if (!isSafe || stat.uid !== 0) this.#foreignLinks.push({ path, uid: controllerOf(folder, stat) });
    if (target.startsWith("/")) this.#enterRoot();
    this.#parts.push(...partsOf(target).reverse());
    const whole = join(this.#folder.path, ...[...this.#parts].reverse());
    if (!isDescriptor(whole)) return undefined;
    this.#refuseForeignLinks(0);
    this.#closeAll();
    return asNamed(whole);
  }

  #found(name: string): FoundFile {
    const folder = this.#folder;
    this.#refuseForeignLinks(folder.stat.uid);
    for (const other of this.#folders.splice(0, this.#folders.length - 1)) closeSync(other.fd);
    return {
      name,
      entry: (each) => entryOf(folder, each),
      flags: constants.O_NOFOLLOW | O_NOFOLLOW_ANY,
      folderId: `${folder.stat.dev}:${folder.stat.ino}`,
      check: (stat) => checkFile(stat, folder),
      close: () => this.#closeAll(),
    };
  }

  #refuseForeignLinks(owner: number): void {
    const link = this.#foreignLinks.find(({ uid }) => uid === 0 || uid !== owner);
    if (link === undefined) return;
    const whose = link.uid === 0 ? "other users" : userInText(link.uid);
    throw new UnsafePathError(
      `${link.path} is a link that ${whose} can change; as root, procman follows it only into a folder of that user. Name the real path, or give its folder to root`,
    );
  }

  #closeAll(): void {
    for (const { fd } of this.#folders.splice(0)) closeSync(fd);
  }
}

/** Names of a path, without those that change nothing. */
export function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function isSticky(stat: Stats): boolean {
  return (stat.mode & STICKY) !== 0;
}

/** 0: several users, or unknown. */
function controllerOf(folder: Stats, link: Stats): number {
  if ((folder.mode & OTHERS_WRITE) === 0 && folder.uid !== 0) return folder.uid;
  return link.uid;
}

/** Without /proc the folder is named by its path, whose parts were not links a moment ago. */
function entryOf({ fd, path }: HeldFolder, name: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${fd}/${name}` : join(path, name);
}

/** Only root may have put it there; or it belongs to a user who may change the folder anyway, and has no second name elsewhere. */
function checkFile(file: Stats, { stat: folder, path, isSafe }: HeldFolder): void {
  const isShared = (folder.mode & OTHERS_WRITE) !== 0;
  if (isSafe && !isShared) return;
  if (!file.isFile() && !file.isFIFO() && !file.isDirectory())
    throw new UnsafePathError(`it is not a regular file, and other users may write in ${path}`);
  if (file.isFile() && file.nlink > 1)
    throw new UnsafePathError(
      `it has a second name (hard link), and other users may write in ${path}; remove one of the names`,
    );
  if (file.uid === 0 || file.uid === folder.uid || (isShared && !isSticky(folder))) return;
  throw new UnsafePathError(
    `it belongs to ${userInText(file.uid)}, and ${path} to ${userInText(folder.uid)}; give it to ${userInText(folder.uid)}, or remove it`,
  );
}

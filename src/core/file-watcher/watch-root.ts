/**
 * One watched path: a file, a folder, or not there yet. The folders above it are watched too, as it may appear and
 * disappear in them, and so are the links above it.
 */
import { readlinkSync } from "node:fs";
import { basename, dirname, resolve, sep } from "node:path";
import { stampAt, statsOf, textHash } from "./file-stamp.ts";
import { type WatchHandle, WatchLimitError, type WatchSource } from "./inotify.ts";
import type { PathFilter } from "./path-filter.ts";
import { type FilePart, type FileVisitor, type ScanWork, type TreePorts, WatchedTree } from "./tree.ts";

/** Longest chain of links that the kernel follows. */
const MAX_LINKS = 40;

/** A folder watched for one name in it. */
type WatchedName = { readonly folder: string; readonly name: string; readonly isLink: boolean };

export type WatchRootPorts = TreePorts & {
  /** Folders above this one are not watched, but for links: they are taken as fixed. */
  readonly folder: string;
};

export class WatchRoot {
  readonly #ports: WatchRootPorts;
  #above: WatchHandle[] = [];
  #tree: WatchedTree | undefined;
  /** If the path is a file. */
  #stamp: number | undefined;
  /** The path may be another file or folder now. */
  #needsRenew = false;
  #isDirty = false;

  constructor(ports: WatchRootPorts) {
    this.#ports = ports;
  }

  get path(): string {
    return this.#ports.filter.path;
  }

  /** Warning for a path without an included file. */
  get emptyReason(): string {
    const { path, pattern } = this.#ports.filter;
    if (pattern === undefined) return `no file in ${path} is watched: check "exts", "match" and "skip" of the watcher`;
    return `no file matches ${path === "/" ? "" : path}/${pattern}: correct the pattern, or check "skip" of the watcher; new files that match are watched`;
  }

  get exists(): boolean {
    return this.#stamp !== undefined || (this.#tree?.size.folders ?? 0) > 0;
  }

  get size(): { readonly files: number; readonly folders: number } {
    return this.#stamp === undefined ? (this.#tree?.size ?? { files: 0, folders: 0 }) : { files: 1, folders: 0 };
  }

  get fingerprint(): number {
    return ((this.#tree?.fingerprint ?? 0) + this.#weight) >>> 0;
  }

  /** Number and fingerprint of the files that this filter, of the same path, includes. */
  partOf(filter: PathFilter): FilePart {
    const { files, fingerprint } = this.#tree?.partOf(filter) ?? { files: 0, fingerprint: 0 };
    return {
      files: this.#stamp === undefined ? files : 1,
      fingerprint: (fingerprint + this.#weight) >>> 0,
    };
  }

  get #weight(): number {
    return this.#stamp === undefined ? 0 : Math.imul(textHash(this.path) | 1, this.#stamp);
  }

  *open(): ScanWork {
    this.#watchAbove();
    const kind = this.#kind();
    if (kind === "file") this.#stamp = stampAt(this.path)?.stamp;
    if (kind === "folder") yield* this.#openTree().open();
  }

  *stamp(visit: FileVisitor): ScanWork {
    const current = this.#stamp === undefined ? undefined : stampAt(this.path);
    if (current !== undefined) visit(dirname(this.path), basename(this.path), current.changedAt);
    if (this.#tree !== undefined) yield* this.#tree.stamp(visit);
  }

  *check(): ScanWork {
    if (this.#needsRenew) yield* this.#renew();
    else if (this.#isDirty) this.#compare();
    this.#isDirty = false;
    if (this.#tree !== undefined) yield* this.#tree.check();
  }

  /** Checks everything, for polling. */
  *scan(): ScanWork {
    yield* this.#renew();
  }

  unwatch(): void {
    for (const handle of this.#above.splice(0)) handle.close();
    this.#tree?.unwatch();
  }

  *#renew(): ScanWork {
    this.#needsRenew = false;
    this.#watchAbove();
    const kind = this.#kind();
    if (kind !== "folder") this.#tree?.remove();
    this.#compare();
    if (kind === "folder") yield* this.#openTree().renew();
  }

  #openTree(): WatchedTree {
    this.#tree ??= new WatchedTree(this.#ports);
    return this.#tree;
  }

  /** Reports the path if, as a file, it was added, removed or changed. */
  #compare(): void {
    const previousStamp = this.#stamp;
    const current = stampAt(this.path);
    this.#stamp = current?.stamp;
    if (previousStamp !== current?.stamp || (this.#isDirty && current?.isFresh)) this.#ports.report(this.path);
  }

  #kind(): "folder" | "file" | undefined {
    const stats = statsOf(this.path);
    return stats === undefined ? undefined : stats.isDirectory() ? "folder" : "file";
  }

  /** From the top down: each folder is watched before the next is looked up in it, so that no change is missed. */
  #watchAbove(): void {
    const kernel = this.#ports.kernel();
    const previous = this.#above;
    this.#above = [];
    const steps = [...this.#chain().map((step) => ({ ...step, isLink: false })), ...this.#linkSteps()];
    if (kernel !== undefined) for (const link of linksAbove(this.path)) this.#watch(kernel, link);
    if (kernel !== undefined) for (const step of steps) if (!this.#watch(kernel, step)) break;
    for (const handle of previous) handle.close();
  }

  /** Returns whether the folder exists. */
  #watch(kernel: WatchSource, step: WatchedName): boolean {
    try {
      this.#above.push(
        kernel(step.folder, (event, changedName) =>
          this.#onEvent(changedName === undefined || event === "rename", step, changedName),
        ),
      );
      return true;
    } catch (error) {
      if (error instanceof WatchLimitError) throw error;
      return false;
    }
  }

  #onEvent(isRenamed: boolean, { name, isLink }: WatchedName, changedName: string | undefined): void {
    // Another name beside a link may be part of the link's target.
    if (changedName !== undefined && changedName !== name && !(isLink && isRenamed)) return;
    if (!isRenamed && this.#stamp === undefined) return;
    this.#needsRenew ||= isRenamed;
    this.#isDirty = true;
    this.#ports.onDirty();
  }

  /** The folders above, highest first, each with the name in it that leads here. */
  #chain(): readonly Omit<WatchedName, "isLink">[] {
    const chain: Omit<WatchedName, "isLink">[] = [];
    const isInside = this.path.startsWith(`${this.#ports.folder}${sep}`);
    for (let path = this.path; path !== dirname(path); path = dirname(path)) {
      const folder = dirname(path);
      chain.unshift({ folder, name: path.slice(folder.length).replace(/^\//, "") });
      if (isInside ? folder === this.#ports.folder : statsOf(folder) !== undefined) break;
    }
    return chain;
  }

  /** For a file that is a link: the link itself, and each link and file that it leads to. */
  #linkSteps(): readonly WatchedName[] {
    const steps: WatchedName[] = [];
    if (this.#kind() === "folder") return steps;
    let path = this.path;
    for (let target = targetOf(path); target !== undefined && steps.length < MAX_LINKS; target = targetOf(path)) {
      if (steps.length === 0) steps.push({ folder: dirname(path), name: basename(path), isLink: true });
      path = resolve(dirname(path), target);
      steps.push({ folder: dirname(path), name: basename(path), isLink: true });
    }
    return steps;
  }
}

/** The links through which the path leads, highest first: each may be switched to another folder (`current` → `releases/2`). */
function linksAbove(path: string): readonly WatchedName[] {
  const links: WatchedName[] = [];
  const names = dirname(path).split(sep).slice(1);
  for (let folder: string = sep; names.length > 0 && links.length < MAX_LINKS; ) {
    const name = names.shift() ?? "";
    const target = targetOf(resolve(folder, name));
    if (target === undefined) folder = resolve(folder, name);
    else {
      links.push({ folder, name, isLink: false });
      names.unshift(...resolve(folder, target).split(sep).slice(1));
      folder = sep;
    }
  }
  return links;
}

/** undefined if it is not a link. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

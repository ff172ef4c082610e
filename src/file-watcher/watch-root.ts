/** One watched path, whether it is a file, a folder or not there yet: also the folders above it are watched, in which it comes and goes. */
import { readlinkSync } from "node:fs";
import { basename, dirname, resolve, sep } from "node:path";
import { seenAt, statsOf, textHash } from "./file-stamp.ts";
import { type WatchHandle, WatchLimitError, type WatchSource } from "./inotify.ts";
import { type EachFile, type ScanWork, type TreePorts, WatchedTree } from "./tree.ts";

/** Links that lead to links: the kernel follows no more. */
const MOST_STEPS = 40;

/** A folder that is watched for what is called so in it. */
type RootStep = { readonly folder: string; readonly name: string; readonly isLink: boolean };

export type WatchRootPorts = TreePorts & {
  /** Folders above this one stay where they are. */
  readonly folder: string;
};

export class WatchRoot {
  readonly #ports: WatchRootPorts;
  #above: WatchHandle[] = [];
  #tree: WatchedTree | undefined;
  /** Of a path that is a file. */
  #stamp: number | undefined;
  /** It may be another one of the same name. */
  #isMoved = false;
  #isTouched = false;

  constructor(ports: WatchRootPorts) {
    this.#ports = ports;
  }

  get path(): string {
    return this.#ports.scope.path;
  }

  /** Why nothing counts in it. */
  get emptiness(): string {
    const { path, pattern } = this.#ports.scope;
    if (pattern === undefined) return `no file in ${path} counts: look at "exts", "match" and "skip" of the watcher`;
    return `no file fits ${path === "/" ? "" : path}/${pattern}: correct the pattern, or look at "skip" of the watcher; a file that comes counts`;
  }

  get isThere(): boolean {
    return this.#stamp !== undefined || (this.#tree?.size.folders ?? 0) > 0;
  }

  get size(): { readonly files: number; readonly folders: number } {
    return this.#stamp === undefined ? (this.#tree?.size ?? { files: 0, folders: 0 }) : { files: 1, folders: 0 };
  }

  get fingerprint(): number {
    return ((this.#tree?.fingerprint ?? 0) + (this.#stamp === undefined ? 0 : Math.imul(textHash(this.path) | 1, this.#stamp))) >>> 0;
  }

  *open(): ScanWork {
    this.#watchAbove();
    const kind = this.#kind();
    if (kind === "file") this.#stamp = seenAt(this.path)?.stamp;
    if (kind === "folder") yield* this.#treeHere().open();
  }

  *stamp(each: EachFile): ScanWork {
    const seen = this.#stamp === undefined ? undefined : seenAt(this.path);
    if (seen !== undefined) each(dirname(this.path), basename(this.path), seen.changedAt);
    if (this.#tree !== undefined) yield* this.#tree.stamp(each);
  }

  *check(): ScanWork {
    if (this.#isMoved) yield* this.#renew();
    else if (this.#isTouched) this.#compare();
    this.#isTouched = false;
    if (this.#tree !== undefined) yield* this.#tree.check();
  }

  /** Looks at everything, told or not. */
  *scan(): ScanWork {
    yield* this.#renew();
  }

  unwatch(): void {
    for (const handle of this.#above.splice(0)) handle.close();
    this.#tree?.unwatch();
  }

  *#renew(): ScanWork {
    this.#isMoved = false;
    this.#watchAbove();
    const kind = this.#kind();
    if (kind !== "folder") this.#tree?.remove();
    this.#compare();
    if (kind === "folder") yield* this.#treeHere().renew();
  }

  #treeHere(): WatchedTree {
    this.#tree ??= new WatchedTree(this.#ports);
    return this.#tree;
  }

  /** As a file: came it, went it, has it changed? */
  #compare(): void {
    const [before, seen] = [this.#stamp, seenAt(this.path)];
    this.#stamp = seen?.stamp;
    if (before !== seen?.stamp || (this.#isTouched && seen?.isFresh)) this.#ports.report(this.path);
  }

  #kind(): "folder" | "file" | undefined {
    const stats = statsOf(this.path);
    return stats === undefined ? undefined : stats.isDirectory() ? "folder" : "file";
  }

  /** From above to below, each before it is looked for what lies in it: so nothing comes unnoticed. */
  #watchAbove(): void {
    const kernel = this.#ports.kernel();
    const former = this.#above;
    this.#above = [];
    const steps = [...this.#chain().map((step) => ({ ...step, isLink: false })), ...this.#steps()];
    if (kernel !== undefined) for (const step of steps) if (!this.#watch(kernel, step)) break;
    for (const handle of former) handle.close();
  }

  /** Whether it is there. */
  #watch(kernel: WatchSource, step: RootStep): boolean {
    try {
      this.#above.push(kernel(step.folder, (event, heard) => this.#onEvent(heard === undefined || event === "rename", step, heard)));
      return true;
    } catch (error) {
      if (error instanceof WatchLimitError) throw error;
      return false;
    }
  }

  #onEvent(isRenamed: boolean, { name, isLink }: RootStep, heard: string | undefined): void {
    // What lies beside a link may be on the way to what it leads to.
    if (heard !== undefined && heard !== name && !(isLink && isRenamed)) return;
    if (!isRenamed && this.#stamp === undefined) return;
    this.#isMoved ||= isRenamed;
    this.#isTouched = true;
    this.#ports.heard();
  }

  /** The folders above, highest first, each with the name in it that leads here. */
  #chain(): readonly Omit<RootStep, "isLink">[] {
    const chain: Omit<RootStep, "isLink">[] = [];
    const isInside = this.path.startsWith(`${this.#ports.folder}${sep}`);
    for (let path = this.path; path !== dirname(path); path = dirname(path)) {
      const folder = dirname(path);
      chain.unshift({ folder, name: path.slice(folder.length).replace(/^\//, "") });
      if (isInside ? folder === this.#ports.folder : statsOf(folder) !== undefined) break;
    }
    return chain;
  }

  /** Of a file that is a link: itself and what it leads to, step by step. */
  #steps(): readonly RootStep[] {
    const steps: RootStep[] = [];
    if (this.#kind() === "folder") return steps;
    let path = this.path;
    for (let target = targetOf(path); target !== undefined && steps.length < MOST_STEPS; target = targetOf(path)) {
      if (steps.length === 0) steps.push({ folder: dirname(path), name: basename(path), isLink: true });
      path = resolve(dirname(path), target);
      steps.push({ folder: dirname(path), name: basename(path), isLink: true });
    }
    return steps;
  }
}

/** undefined: it is no link. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

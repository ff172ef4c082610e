/** One watched folder: what was in it when it was looked at last. There may be thousands, so what most don't have takes no room. */
import type { Handle } from "./kernel.ts";
import { textHash, UNKNOWN } from "./stamp.ts";

const NONE: ReadonlySet<string> = new Set();

export class Folder {
  readonly path: string;
  handle: Handle | undefined;
  readonly #hash: number;
  readonly #files = new Map<string, number>();
  #folders: Set<string> | undefined;
  #links: Set<string> | undefined;
  #fingerprint = 0;

  constructor(path: string) {
    this.path = path;
    this.#hash = textHash(path);
  }

  /** Stamps by name. */
  get files(): ReadonlyMap<string, number> {
    return this.#files;
  }

  /** Names. */
  get folders(): ReadonlySet<string> {
    return this.#folders ?? NONE;
  }

  /** Names of files; what they lead to changes without a word about them. */
  get links(): ReadonlySet<string> {
    return this.#links ?? NONE;
  }

  /** Of all its files together. */
  get fingerprint(): number {
    return this.#fingerprint;
  }

  put(name: string, stamp: number): void {
    this.#count(name, stamp);
    this.#files.set(name, stamp);
  }

  /** Whether it was there. */
  drop(name: string): boolean {
    this.#count(name, UNKNOWN);
    this.#links?.delete(name);
    return this.#files.delete(name);
  }

  addLink(name: string): void {
    this.#links ??= new Set();
    this.#links.add(name);
  }

  addFolder(name: string): void {
    this.#folders ??= new Set();
    this.#folders.add(name);
  }

  dropFolder(name: string): void {
    this.#folders?.delete(name);
  }

  #count(name: string, stamp: number): void {
    const before = this.#files.get(name) ?? UNKNOWN;
    if (before !== stamp) this.#fingerprint = (this.#fingerprint + Math.imul(textHash(name, this.#hash) | 1, stamp - before)) >>> 0;
  }
}

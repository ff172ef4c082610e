/** Tells by which real file a path leads to, whether or not it exists: two paths may have one, through links or `..`. */
import { lstatSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";

/** `path`: without links; what doesn't exist keeps its name. `key`: equal for equal files; undefined: a folder or a device, as /dev/null. */
type RealFile = { readonly path: string; readonly key: string | undefined };

export class RealFiles {
  readonly #folders = new Map<string, string>();
  readonly #files = new Map<string, RealFile>();

  at(file: string): RealFile {
    const known = this.#files.get(file);
    if (known !== undefined) return known;
    const found = this.#find(file);
    this.#files.set(file, found);
    return found;
  }

  #find(file: string): RealFile {
    const path = join(this.#folderOf(dirname(file)), basename(file));
    const stats = statsOf(path);
    if (stats?.isSymbolicLink() === true) {
      const target = realOrSame(path);
      return target === path ? { path, key: path } : this.#find(target);
    }
    if (stats !== undefined && !stats.isFile()) return { path, key: undefined };
    return { path, key: stats !== undefined && stats.nlink > 1 ? `${stats.dev}:${stats.ino}` : path };
  }

  #folderOf(folder: string): string {
    const known = this.#folders.get(folder);
    if (known !== undefined) return known;
    const real = realOrSame(folder);
    const found = real === folder && dirname(folder) !== folder ? this.#find(folder).path : real;
    this.#folders.set(folder, found);
    return found;
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

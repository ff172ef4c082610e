/** Where procman lies after a package manager has replaced it: pnpm and Plug'n'Play of Yarn give each version another folder. */
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * The folder of a version: `….pnpm/procman@1.2.3/node_modules/procman/…`,
 * `….yarn/unplugged/procman-npm-1.2.3-0a1b2c3d4e/node_modules/procman/…`, and in pnpm's store, for global
 * installations, `…/links/@/procman/1.2.3/HASH/node_modules/procman/…`.
 */
const VERSION =
  /(?:(?<=\/(?:\.pnpm|\.yarn\/unplugged))\/procman[@-][^/]*|(?<=\/links\/@\/procman)\/[^/]+\/[^/]+)(?=\/node_modules\/procman(?:\/|$))/g;

/** The folder of all versions, and what follows the folder of one. `levels`: how many folders are between them. */
export type VersionedPlace = { readonly folder: string; readonly levels: 1 | 2; readonly file: string };

/** undefined: each version has the same place. */
export function versionedPlace(path: string): VersionedPlace | undefined {
  const found = [...path.matchAll(VERSION)].at(-1);
  if (found === undefined) return undefined;
  const { 0: version, index } = found;
  return {
    folder: path.slice(0, index),
    levels: version.lastIndexOf("/") === 0 ? 1 : 2,
    file: path.slice(index + version.length),
  };
}

/** The path; if it is gone, the same file of the version that was installed last. */
export function presentPath(path: string): string {
  return existsSync(path) ? path : (targetOf(linkTo(path)) ?? newestOf(versionedPlace(path)) ?? path);
}

/** The same file of the version that the project uses now. */
export function currentPath(path: string): string {
  return targetOf(linkTo(path)) ?? presentPath(path);
}

/**
 * A path that leads to this file after an update, too; without one, the file.
 *
 * @param started what this process was started as: it may be a link of the package manager
 */
export function lastingPath(file: string, started: string = process.argv[1] ?? ""): string {
  const links = [linkTo(file), ...(versionedPlace(started) === undefined ? [started] : [])];
  return (
    links.find(
      (link) => link !== undefined && basename(link) === basename(file) && targetOf(link) === realpathSync(file),
    ) ?? file
  );
}

/** pnpm links the version that a project uses from its `node_modules`. */
function linkTo(path: string): string | undefined {
  const { folder = "", file = "" } = versionedPlace(path) ?? {};
  return basename(folder) === ".pnpm" ? join(dirname(dirname(folder)), file) : undefined;
}

function targetOf(link: string | undefined): string | undefined {
  return link !== undefined && existsSync(link) ? realpathSync(link) : undefined;
}

function newestOf(place: VersionedPlace | undefined): string | undefined {
  if (place === undefined) return undefined;
  const versions = foldersIn(place.folder);
  const found = (place.levels === 1 ? versions : versions.flatMap(foldersIn))
    .map((folder) => ({ path: `${folder}${place.file}`, at: statSync(folder).mtimeMs }))
    .filter(({ path }) => existsSync(path));
  return found.sort((a, b) => b.at - a.at)[0]?.path;
}

function foldersIn(folder: string): string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

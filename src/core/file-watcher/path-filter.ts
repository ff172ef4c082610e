/** Decides which files below a watched path are reported, by patterns and extensions. */
import { statSync } from "node:fs";
import { globTest, isPattern } from "../base/glob.ts";
import { withoutEnd } from "../base/text-end.ts";

const SLASH = 47;

export type WatchSettings = {
  /** Milliseconds from a change to its report. */
  readonly intervalMs: number;
  /** Without the dot; empty: all files are included. */
  readonly exts: readonly string[];
  readonly match: readonly string[];
  readonly skip: readonly string[];
};

export type WatchFolders = {
  /** Patterns match paths relative to it. */
  readonly folder: string;
  /** Absolute paths of files and folders that procman itself writes: never included. */
  readonly own: readonly string[];
};

/** The filter of one watched path: a file, or everything below a folder. */
export type PathFilter = {
  /** Absolute. */
  readonly path: string;
  /** If present, files below the path must match it. */
  readonly pattern?: string | undefined;
  readonly includes: (file: string) => boolean;
  /** The same, for names in this folder. */
  readonly includesIn: (folder: string) => (name: string) => boolean;
  /** Nothing below this folder is included. */
  readonly prunes: (folder: string) => boolean;
};

/** `entry`: as configured, an absolute path, possibly with a pattern at the end. Extensions don't apply to a named file or a pattern. */
export function pathFilter(entry: string, settings: WatchSettings, folders: WatchFolders): PathFilter {
  const { path, pattern } = splitPattern(entry);
  const own = folders.own.filter((each) => each === path || isBelow(each, path) || isBelow(path, each));
  const isOwn =
    own.length === 0
      ? () => false
      : (file: string): boolean => own.some((each) => file === each || isBelow(file, each));
  const skips = testOf(settings.skip.map(includingBelow), path, folders.folder);
  const isSkipped = (file: string): boolean => skips(file) || isOwn(file);
  const hasExt = pattern === undefined ? extensionTest(settings.exts) : () => true;
  const isMatch = pattern === undefined ? testOf(settings.match, path, folders.folder) : patternTest(pattern, path);
  const isIncluded = (file: string): boolean => isMatch(file) && !isSkipped(file);
  return {
    path,
    pattern,
    prunes: isSkipped,
    includes: (file) => file === path || (hasExt(file) && isIncluded(file)),
    includesIn: (folder) => (name) => hasExt(name) && isIncluded(`${folder}/${name}`),
  };
}

/** Includes what one of the two, which are of the same entry, includes. */
export function eitherOf(one: PathFilter, other: PathFilter): PathFilter {
  return {
    ...one,
    includes: (file) => one.includes(file) || other.includes(file),
    includesIn: (folder) => {
      const [byOne, byOther] = [one.includesIn(folder), other.includesIn(folder)];
      return (name) => byOne(name) || byOther(name);
    },
    prunes: (folder) => one.prunes(folder) && other.prunes(folder),
  };
}

/** Existing names that look like patterns, such as `app/[id]`, are taken as names. */
function splitPattern(entry: string): { readonly path: string; readonly pattern?: string } {
  const parts = entry.split("/");
  const first = parts.findIndex((part, index) => isPattern(part) && !exists(parts.slice(0, index + 1).join("/")));
  if (first < 0) return { path: entry };
  return { path: parts.slice(0, first).join("/") || "/", pattern: parts.slice(first).join("/") };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function patternTest(pattern: string, path: string): (file: string) => boolean {
  const isMatch = globTest([pattern]);
  return (file) => isMatch(relativeTo(path, file));
}

function extensionTest(exts: readonly string[]): (file: string) => boolean {
  const known = new Set(exts.map((ext) => `.${ext.replace(/^\./, "")}`));
  return (file) => known.size === 0 || known.has(extensionOf(file));
}

/** `.env` has the extension `env`. */
function extensionOf(file: string): string {
  const dot = file.lastIndexOf(".");
  return dot > file.lastIndexOf("/") ? file.slice(dot) : "";
}

/** Patterns match the path relative to the folder of the configuration, or for files elsewhere relative to the watched path; `/…` matches the absolute path. */
function testOf(patterns: readonly string[], path: string, folder: string): (file: string) => boolean {
  const absolute = patterns.filter((pattern) => pattern.startsWith("/"));
  const isMatch = globTest(patterns.filter((pattern) => !pattern.startsWith("/")));
  const isAbsoluteMatch = globTest(absolute);
  const test = (file: string): boolean => isMatch(relativeTo(isBelow(file, folder) ? folder : path, file));
  return absolute.length === 0 ? test : (file) => test(file) || isAbsoluteMatch(file);
}

/** A pattern for a skipped folder includes everything below it: `dist`, `dist/` and `dist/**` mean the same. */
function includingBelow(pattern: string): string {
  return pattern.endsWith("**") ? pattern : `${withoutEnd(pattern, "/")}/**`;
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(folder) && (file.charCodeAt(folder.length) === SLASH || folder.endsWith("/"));
}

function relativeTo(folder: string, file: string): string {
  return isBelow(file, folder) ? file.slice(folder.endsWith("/") ? folder.length : folder.length + 1) : file;
}

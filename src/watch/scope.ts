/** What counts below one watched place. */
import { statSync } from "node:fs";
import { globTest, isPattern } from "./glob.ts";

const SLASH = 47;

export type Settings = {
  /** Milliseconds from a change to its report. */
  readonly intervalMs: number;
  /** Without dot; none: all count. */
  readonly exts: readonly string[];
  readonly match: readonly string[];
  readonly skip: readonly string[];
};

export type Surroundings = {
  /** Patterns are about paths relative to it. */
  readonly folder: string;
  /** Absolute paths that never count, with all below them: what procman itself writes. */
  readonly own: readonly string[];
};

/** A file, or all below a folder. */
export type Scope = {
  /** Absolute. */
  readonly path: string;
  /** What is below the path must fit it, if there is one. */
  readonly pattern?: string | undefined;
  readonly counts: (file: string) => boolean;
  /** The same for names in this folder. */
  readonly within: (folder: string) => (name: string) => boolean;
  /** Nothing below this folder counts. */
  readonly prunes: (folder: string) => boolean;
};

/** Of an entry as it is configured: an absolute path, or one that ends in a pattern. Who names a file or a pattern means it, whatever its extension. */
export function scopeOf(entry: string, settings: Settings, around: Surroundings): Scope {
  const { path, pattern } = split(entry);
  const own = around.own.filter((each) => each === path || isBelow(each, path) || isBelow(path, each));
  const isOwn = own.length === 0 ? () => false : (file: string): boolean => own.some((each) => file === each || isBelow(file, each));
  const skips = testOf(settings.skip.map(withBelow), path, around.folder);
  const isSkipped = (file: string): boolean => skips(file) || isOwn(file);
  const hasExt = pattern === undefined ? extensionTest(settings.exts) : () => true;
  const isMatch = pattern === undefined ? testOf(settings.match, path, around.folder) : patternTest(pattern, path);
  const isMeant = (file: string): boolean => isMatch(file) && !isSkipped(file);
  return {
    path,
    pattern,
    prunes: isSkipped,
    counts: (file) => file === path || (hasExt(file) && isMeant(file)),
    within: (folder) => (name) => hasExt(name) && isMeant(`${folder}/${name}`),
  };
}

/** Names with signs of a pattern that are there, as `app/[id]`, are names. */
function split(entry: string): { readonly path: string; readonly pattern?: string } {
  const parts = entry.split("/");
  const first = parts.findIndex((part, index) => isPattern(part) && !isThere(parts.slice(0, index + 1).join("/")));
  if (first < 0) return { path: entry };
  return { path: parts.slice(0, first).join("/") || "/", pattern: parts.slice(first).join("/") };
}

function isThere(path: string): boolean {
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

/** About the path from the folder of the configuration, for what lies elsewhere from the watched place; `/…` about the whole path. */
function testOf(patterns: readonly string[], path: string, folder: string): (file: string) => boolean {
  const whole = patterns.filter((pattern) => pattern.startsWith("/"));
  const isMatch = globTest(patterns.filter((pattern) => !pattern.startsWith("/")));
  const isWhole = globTest(whole);
  const test = (file: string): boolean => isMatch(relativeTo(isBelow(file, folder) ? folder : path, file));
  return whole.length === 0 ? test : (file) => test(file) || isWhole(file);
}

/** A folder that is skipped is so with all in it, however it is written: `dist`, `dist/`, `dist/**`. */
function withBelow(pattern: string): string {
  return pattern.endsWith("**") ? pattern : `${pattern.replace(/\/+$/, "")}/**`;
}

function isBelow(file: string, folder: string): boolean {
  return file.startsWith(folder) && (file.charCodeAt(folder.length) === SLASH || folder.endsWith("/"));
}

function relativeTo(folder: string, file: string): string {
  return isBelow(file, folder) ? file.slice(folder.endsWith("/") ? folder.length : folder.length + 1) : file;
}

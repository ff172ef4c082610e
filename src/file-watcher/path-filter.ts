/** What counts below one watched place. */
import { statSync } from "node:fs";

const SLASH = 47;

export type WatchSettings = {
  /** Milliseconds from a change to its report. */
  readonly intervalMs: number;
  /** Without dot; none: all count. */
  readonly exts: readonly string[];
  readonly match: readonly string[];
  readonly skip: readonly string[];
};

export type WatchFolders = {
  /** Patterns are about paths relative to it. */
  readonly folder: string;
  /** Absolute paths that never count, with all below them: what procman itself writes. */
  readonly own: readonly string[];
};

/** A file, or all below a folder. */
export type PathFilter = {
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
export function pathFilter(entry: string, settings: WatchSettings, around: WatchFolders): PathFilter {
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

/** Patterns of paths: `*` and `?` stay within a name, `**` goes through folders, `{a,b}` and `[ab]` choose. A dot is a letter like any other. */

const MAGIC = /[*?[{]/;

/** Whether it is more than the name of one file. */
export function isPattern(text: string): boolean {
  return MAGIC.test(text);
}

/**
 * Tests paths with `/` between their parts by any of the patterns. One that ends in `/**` takes in the folder itself.
 *
 * @example
 * globTest(["src/**\/*.{ts,tsx}"])("src/app/main.tsx") // true
 */
export function globTest(patterns: readonly string[]): (path: string) => boolean {
  if (patterns.length === 0) return () => false;
  const sources = patterns.map((pattern) => sourceOf(pattern.replace(/^(?:\.\/)+/, "").replace(/(?:\*\*\/)+/g, "**/")));
  const expression = new RegExp(`^(?:${sources.join("|")})$`, "s");
  return (path) => expression.test(path);
}

const TOKENS = /\/\*\*$|\*\*\/|\*+|\?|\[[!^]?[^\]/]+\]|[{},]|\\?[\s\S]/g;

const WILD: Readonly<Record<string, string>> = { "/**": "(?:/.*)?", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]" };

/** A brace that is never closed is a letter. */
function sourceOf(pattern: string, hasBraces = true): string {
  let depth = 0;
  const source = pattern.replace(TOKENS, (token) => {
    const brace = hasBraces ? braceOf(token, depth) : undefined;
    depth += brace?.step ?? 0;
    return brace?.source ?? WILD[token] ?? partOf(token);
  });
  return depth === 0 ? source : sourceOf(pattern, false);
}

function partOf(token: string): string {
  if (token.startsWith("*")) return ".*";
  if (token.length > 2 && token.startsWith("[")) return setOf(token);
  return escaped(token.length > 1 ? token.slice(1) : token);
}

function braceOf(token: string, depth: number): { readonly source: string; readonly step: number } | undefined {
  if (token === "{") return { source: "(?:", step: 1 };
  if (depth === 0) return undefined;
  if (token === "}") return { source: ")", step: -1 };
  return token === "," ? { source: "|", step: 0 } : undefined;
}

/** `[!a-z]`. A range that runs backwards (`[z-a]`) would be no expression: it is taken letter by letter. */
function setOf(token: string): string {
  const isNot = /^\[[!^]/.test(token);
  const letters = token.slice(isNot ? 2 : 1, -1);
  const parts = letters.replace(/(.)-(.)|./gs, (part, from = "", to = "") =>
    part.length === 3 && from <= to ? `${literal(from)}-${literal(to)}` : [...part].map(literal).join(""),
  );
  return `[${isNot ? "^/" : ""}${parts}]`;
}

function literal(letter: string): string {
  return /[\\\]^[-]/.test(letter) ? `\\${letter}` : letter;
}

function escaped(letters: string): string {
  return letters.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

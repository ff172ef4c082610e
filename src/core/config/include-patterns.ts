/** Which files the patterns of `include` mean. */
import { lstatSync, readdirSync } from "node:fs";
import { dirname, isAbsolute, join, sep } from "node:path";
import { globTest, isPattern } from "../base/glob.ts";
import { statIfSeen } from "../os/files.ts";
import { pathIn } from "./checks/home-paths.ts";

/** Most files of a configuration. */
export const MAX_FILES = 1_000;

export type IncludedPath = {
  /** Absolute. */
  readonly file: string;
  /** Index of the entry of `include`. */
  readonly entry: number;
  /** A pattern found it; the entry doesn't name it. */
  readonly isFound: boolean;
};

/** Sorted for each entry, each file once, without the main file where a pattern finds that. Named files may be missing. */
export function includedPaths(patterns: readonly string[], folder: string, main: string): readonly IncludedPath[] {
  const paths = new Map<string, IncludedPath>();
  for (const [entry, pattern] of patterns.entries()) {
    const isFound = isPattern(pattern);
    const absolute = pathIn(folder, pattern);
    const files = isFound ? filesLike(absolute).filter((file) => file !== main) : [absolute];
    for (const file of files) if (!paths.has(file)) paths.set(file, { file, entry, isFound });
  }
  return [...paths.values()];
}

/** The folders in which patterns begin to look for files; of a missing one, the nearest folder above. */
export function searchedFolders(patterns: readonly string[], folder: string): readonly string[] {
  return patterns.filter(isPattern).map((pattern) => {
    const steps = pathIn(folder, pattern).split(sep);
    let place = steps.slice(0, steps.findIndex(isPattern)).join(sep) || sep;
    while (statIfSeen(place) === undefined) place = dirname(place);
    return place;
  });
}

/** Names with a leading dot are found only by a pattern with one: editors and package managers leave such files behind. */
function filesLike(pattern: string): readonly string[] {
  const root = isAbsolute(pattern) ? sep : "";
  let places = [root];
  const steps = pattern.split(sep).filter(Boolean);
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    places = places.flatMap((place) =>
      (isPattern(step) ? namesLike(place, step) : [step]).map((name) => join(place, name)),
    );
    if (!isLast) places = places.filter((place) => statIfSeen(place)?.isDirectory() === true);
  }
  return places.filter((place) => lstatSync(place, { throwIfNoEntry: false })?.isDirectory() === false);
}

function namesLike(folder: string, pattern: string): readonly string[] {
  const matches = globTest([pattern]);
  try {
    return readdirSync(folder)
      .filter((name) => matches(name) && (!name.startsWith(".") || pattern.startsWith(".")))
      .sort();
  } catch {
    // A pattern that finds nothing is no problem.
    return [];
  }
}

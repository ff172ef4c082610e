/** Variables of procman's own environment in paths: filled in when the configuration is read, so that a missing one is an error with its place. */
import { expand } from "../base/variables.ts";
import type { Path } from "./document.ts";
import { type Finding, show } from "./finding.ts";
import type { LooseProcess } from "./loose.ts";

/** The path with all values; what has none (refused by the checks before) stays as it is. */
export function filledIn(path: string): string {
  return expand(path, (name) => process.env[name]).text;
}

/** Paths that need what is not set, and a PATH that is no list of folders. */
export function variableErrors({ cwd, path: folders, envFile, env = {} }: LooseProcess, path: Path): readonly Finding[] {
  const places: readonly (readonly [unknown, Path])[] = [
    [cwd, [...path, "cwd"]],
    ...each(folders, [...path, "path"]),
    ...each(envFile, [...path, "envFile"]),
    [env.PATH, [...path, "env", "PATH"]],
    ...Object.entries(env).map(([name, value]) => [fileOf(value), [...path, "env", name, "file"]] as const),
  ];
  const isObject = typeof env.PATH === "object";
  return [
    ...places.flatMap(([text, place]) => (typeof text === "string" ? missingIn(text, place) : [])),
    ...(isObject
      ? [{ path: [...path, "env", "PATH"], message: `Found ${show(env.PATH)}; allowed: a string, the folders to append.` }]
      : []),
  ];
}

function missingIn(text: string, path: Path): readonly Finding[] {
  const [name] = expand(text, (each) => process.env[each]).missing;
  if (name === undefined) return [];
  return [{ path, message: `Found ${show(text)}, but ${name} is not set here; set it, or give a default: \${${name}:-…}.` }];
}

function each(entries: string | readonly (string | undefined)[] | undefined, path: Path): readonly (readonly [unknown, Path])[] {
  if (typeof entries === "string") return [[entries, path]];
  return (entries ?? []).map((entry, index) => [entry, [...path, index]] as const);
}

function fileOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "file" in value ? value.file : undefined;
}

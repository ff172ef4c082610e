/** Variables of procman's own environment in paths: filled in when the configuration is read, so that a missing one is an error with its place. */
import { expand, strayIn } from "../base/variables.ts";
import type { Path } from "./document.ts";
import { type Finding, show } from "./finding.ts";
import type { LooseProcess } from "./loose.ts";

/** The path with all values; what has none (refused by the checks before) stays as it is. */
export function filledIn(path: string): string {
  return expand(path, (name) => process.env[name]).text;
}

/** Paths that need what is not set, and a PATH that is no list of folders. */
export function variableErrors(process: LooseProcess, path: Path): readonly Finding[] {
  const { env = {} } = process;
  const places = fixedTexts(process, path);
  const isObject = typeof env.PATH === "object";
  return [
    ...places.flatMap(([text, place]) => (typeof text === "string" ? missingIn(text, place) : [])),
    ...(isObject
      ? [{ path: [...path, "env", "PATH"], message: `Found ${show(env.PATH)}; allowed: a string, the folders to append.` }]
      : []),
  ];
}

/** What looks like a reference and is none: it stays as it is. */
export function variableWarnings(process: LooseProcess, path: Path): readonly Finding[] {
  const values = Object.entries(process.env ?? {}).map(([name, value]) => [value, [...path, "env", name]] as const);
  const texts = [...fixedTexts(process, path).filter(([, place]) => place.at(-1) !== "PATH"), ...values];
  return texts.flatMap(([text, place]) => {
    const stray = typeof text === "string" ? strayIn(text) : undefined;
    const known = "${NAME}, ${NAME:-default} and ${NAME-default} are known";
    const message = `Found ${show(stray)}, which stays as it is: ${known}; a plain "\${" is written "$\${".`;
    return stray === undefined ? [] : [{ path: place, message }];
  });
}

/** Texts in which variables are filled in when the configuration is read. */
function fixedTexts({ cwd, path: folders, envFile, env = {} }: LooseProcess, path: Path): readonly (readonly [unknown, Path])[] {
  return [
    [cwd, [...path, "cwd"]],
    ...each(folders, [...path, "path"]),
    ...each(envFile, [...path, "envFile"]),
    [env.PATH, [...path, "env", "PATH"]],
    ...Object.entries(env).map(([name, value]) => [fileOf(value), [...path, "env", name, "file"]] as const),
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

/** Profiles: parts of the configuration that are merged over the rest when selected. */
import { didYouMean } from "../base/suggest.ts";
import type { Document, JsonPath } from "./document.ts";
import { type Finding, show } from "./problems.ts";

type Data = Readonly<Record<string, unknown>>;

/** A profile can't change these: commands read them without profiles. */
const FIXED = ["$schema", "name", "profiles", "include"] as const;

/** Names of all profiles, valid or not. */
export function profileNames({ data }: Document): readonly string[] {
  return isObject(data) && isObject(data.profiles) ? Object.keys(data.profiles) : [];
}

/** Problems of the profile itself, before it is merged. */
export function profileErrors(document: Document, name: string): readonly Finding[] {
  const names = profileNames(document);
  if (!names.includes(name)) {
    const message =
      names.length === 0
        ? `Found no profile ${show(name)}: the file defines none. Remove --profile, or add "profiles".`
        : `Found no profile ${show(name)}; allowed: ${names.map(show).join(", ")}.${didYouMean(name, names)}`;
    return [{ path: ["profiles"], message }];
  }
  const profile = profileIn(document, name);
  return FIXED.filter((key) => Object.hasOwn(profile, key)).map((key) => ({
    path: ["profiles", name, key],
    at: "key",
    message: `Found ${show(key)} in a profile; allowed: only at the top level.`,
  }));
}

/** The document with the profile merged in; places are those of the text. */
export function withProfile(document: Document, name: string): Document {
  const base = isObject(document.data) ? document.data : {};
  const profile = profileIn(document, name);
  const rest: Data = Object.fromEntries(
    Object.entries(profile).filter(([key]) => !FIXED.some((fixed) => fixed === key)),
  );
  const origin = (path: JsonPath): JsonPath => originOf(path, { base, profile: rest, name });
  return { ...document, data: mergeTop(base, rest), place: (path, of) => document.place(origin(path), of) };
}

function profileIn({ data }: Document, name: string): Data {
  const profiles = isObject(data) && isObject(data.profiles) ? data.profiles : {};
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  return isObject(profile) ? profile : {};
}

function mergeTop(base: Data, profile: Data): Data {
  const all = merge(base, profile) as Data;
  if (!Array.isArray(base.processes) || !Array.isArray(profile.processes)) return all;
  const [baseProcesses, profileProcesses]: readonly [readonly unknown[], readonly unknown[]] = [
    base.processes,
    profile.processes,
  ];
  const counterparts = baseProcesses.map((process) => profileProcesses[indexOfSameId(profileProcesses, process)]);
  const added = profileProcesses.filter((process) => indexOfSameId(baseProcesses, process) < 0);
  return {
    ...all,
    processes: [...baseProcesses.map((process, index) => merge(process, counterparts[index])), ...added],
  };
}

/** Objects key by key; everything else, lists too, is replaced. */
function merge(base: unknown, over: unknown): unknown {
  if (over === undefined) return base;
  if (!isObject(base) || !isObject(over)) return over;
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    // Not by assignment: "__proto__" would set the prototype.
    const known = Object.hasOwn(base, key) ? base[key] : undefined;
    Object.defineProperty(result, key, {
      value: merge(known, value),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return result;
}

type Origins = { readonly base: Data; readonly profile: Data; readonly name: string };

/** The path in the text of a value of the merged data. */
function originOf(path: JsonPath, { base, profile, name }: Origins): JsonPath {
  const [first, index, ...rest] = path;
  const { processes: baseProcesses } = base;
  const { processes: profileProcesses } = profile;
  if (
    first !== "processes" ||
    typeof index !== "number" ||
    !Array.isArray(baseProcesses) ||
    !Array.isArray(profileProcesses)
  )
    return has(profile, path) ? ["profiles", name, ...path] : path;
  const added = profileProcesses.flatMap((process, at) => (indexOfSameId(baseProcesses, process) < 0 ? [at] : []));
  const at =
    index < baseProcesses.length
      ? indexOfSameId(profileProcesses, baseProcesses[index])
      : (added[index - baseProcesses.length] ?? -1);
  const isInProfile =
    at >= 0 && (index >= baseProcesses.length || (rest.length > 0 && has(profileProcesses[at], rest)));
  return isInProfile ? ["profiles", name, "processes", at, ...rest] : path;
}

function indexOfSameId(list: readonly unknown[], process: unknown): number {
  const id = isObject(process) ? process.id : undefined;
  return id === undefined ? -1 : list.findIndex((other) => isObject(other) && other.id === id);
}

function has(data: unknown, path: JsonPath): boolean {
  let value = data;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return false;
    value = (value as Record<string | number, unknown>)[step];
  }
  return path.length > 0;
}

function isObject(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

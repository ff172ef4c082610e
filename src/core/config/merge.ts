/** Merges parts of a configuration, and finds where a value of the result is written. */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "../base/schema-check.ts";
import { HEALTH_KINDS, READY_KINDS } from "./checks/probe-checks.ts";
import type { JsonPath } from "./document.ts";

/** A part of a configuration, such as a process of a profile. */
export type ConfigLayer = {
  readonly data: unknown;
  /** Where the document has it; undefined: nobody has written it. */
  readonly path: JsonPath | undefined;
};

/** Fields that exclude each other, in a process and in sections of it. */
const ALTERNATIVES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ["", ["cmd", "worker"]],
  ["ready", READY_KINDS],
  ["health", HEALTH_KINDS],
]);

/** A path in a part of a configuration, without positions in lists. */
type FieldPath = readonly string[];

/**
 * `over` laid over `base`: objects key by key, to any depth; everything else, also a list or a variable of `env`, is
 * replaced. Of fields that exclude each other those of `over` count. `null` takes away what is there. Where nothing is,
 * it stays, and is refused as a value, unless `mayBeNull`.
 */
export function merge(
  base: unknown,
  over: unknown,
  mayBeNull: (path: FieldPath) => boolean = () => false,
  path: FieldPath = [],
): unknown {
  if (over === undefined) return base;
  const field = path[0] === "defaults" ? path.slice(1) : path;
  if (!isObject(over) || isVariable(field)) return over;
  const result = new Map<string, unknown>(isObject(base) ? Object.entries(base) : []);
  for (const name of excludedBy(over, field)) result.delete(name);
  for (const [name, value] of Object.entries(over)) {
    const at = [...path, name];
    if (value === null && (result.has(name) || mayBeNull(at))) result.delete(name);
    else result.set(name, merge(result.get(name), value, mayBeNull, at));
  }
  // Not by assignment: "__proto__" would set the prototype.
  return Object.fromEntries(result);
}

/** `{ "file": … }` and `{ "env": … }` are values, not sections. */
function isVariable(path: FieldPath): boolean {
  return path.length > 1 && path[0] === "env";
}

function excludedBy(over: Readonly<Record<string, unknown>>, path: FieldPath): readonly string[] {
  const names = ALTERNATIVES.get(path.join(".")) ?? [];
  const isGiven = names.some((name) => Object.hasOwn(over, name) && over[name] !== null);
  return isGiven ? names.filter((name) => !Object.hasOwn(over, name)) : [];
}

/** The profile that, laid over `base`, gives `wanted`. */
export function difference(base: unknown, wanted: unknown, path: FieldPath = []): unknown {
  if (!isObject(base) || !isObject(wanted) || isVariable(path)) return wanted;
  const removed = Object.keys(base).filter((name) => !Object.hasOwn(wanted, name));
  const members = removed.map((name): readonly [string, unknown] => [name, null]);
  for (const [name, value] of Object.entries(wanted)) {
    if (!Object.hasOwn(base, name)) members.push([name, value]);
    else if (!isDeepStrictEqual(base[name], value))
      members.push([name, difference(base[name], value, [...path, name])]);
  }
  return Object.fromEntries(members);
}

/** Whether one of the layers has a value at this path. */
export function isWrittenIn(layers: readonly ConfigLayer[], path: JsonPath): boolean {
  return layers.some(({ data }) => has(data, path));
}

/** The layer that has the value at this path; of several the last. If none has it: what is nearest to it. */
export function layerWith(layers: readonly ConfigLayer[], path: JsonPath): ConfigLayer | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const layer = layers.findLast(({ data }) => has(data, path.slice(0, length)));
    if (layer !== undefined) return layer;
  }
  return undefined;
}

function has(data: unknown, path: JsonPath): boolean {
  let value = data;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return false;
    value = (value as Record<string | number, unknown>)[step];
  }
  return true;
}

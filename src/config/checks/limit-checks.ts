/** Resource limits and account of a process: the checks, and the specification made from them. */
import type { Ulimits } from "../../contract/limits.ts";
import type { RawProcess } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import type { PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import type { ProcessSpec } from "../spec.ts";
import { parseSize } from "../units.ts";
import { accountOf, groupOf } from "./accounts.ts";

type LimitFields = Pick<ProcessSpec, "memoryLimit" | "memoryMax" | "ulimits" | "user" | "group" | "nice" | "umask">;

export function limitsOf({ memoryLimit, memoryMax, ulimits, user, group, nice, umask }: RawProcess): LimitFields {
  const account = user === undefined ? undefined : accountOf(user);
  const gid = group === undefined ? undefined : groupOf(group);
  return {
    ...(memoryLimit !== undefined && { memoryLimit: parseSize(memoryLimit) }),
    ...(memoryMax !== undefined && { memoryMax: parseSize(memoryMax) }),
    ...(ulimits !== undefined && { ulimits: ulimitsOf(ulimits) }),
    ...(account !== undefined && { user: account }),
    ...(gid !== undefined && { group: gid }),
    ...(nice !== undefined && { nice }),
    ...(umask !== undefined && { umask }),
  };
}

/** `memoryMax` must exceed `memoryLimit`: a run that the kernel kills first is never stopped in order. */
export function memoryErrors({ memoryLimit, memoryMax }: PartialProcess, path: JsonPath): readonly Finding[] {
  if (memoryLimit === undefined || memoryMax === undefined || parseSize(memoryMax) > parseSize(memoryLimit)) return [];
  return [
    { path: [...path, "memoryMax"], message: `Found ${show(memoryMax)}; allowed: more than "memoryLimit", which is ${show(memoryLimit)}.` },
  ];
}

function ulimitsOf(raw: NonNullable<RawProcess["ulimits"]>): Ulimits {
  const given = Object.entries(raw).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === "unlimited" ? -1 : parseSize(value)]));
}

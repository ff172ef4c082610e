/** What a run may take of the machine, and as whom it runs, as the file says it. */
import type { Ulimits } from "../contract/limits.ts";
import { accountOf, groupOf } from "./accounts.ts";
import type { RawProcess } from "./schema.ts";
import type { ProcessSpec } from "./spec.ts";
import { parseSize } from "./units.ts";

type Limits = Pick<ProcessSpec, "memoryLimit" | "ulimits" | "user" | "group" | "nice" | "umask">;

export function limitsOf({ memoryLimit, ulimits, user, group, nice, umask }: RawProcess): Limits {
  const account = user === undefined ? undefined : accountOf(user);
  const gid = group === undefined ? undefined : groupOf(group);
  return {
    ...(memoryLimit !== undefined && { memoryLimit: parseSize(memoryLimit) }),
    ...(ulimits !== undefined && { ulimits: ulimitsOf(ulimits) }),
    ...(account !== undefined && { user: account }),
    ...(gid !== undefined && { group: gid }),
    ...(nice !== undefined && { nice }),
    ...(umask !== undefined && { umask }),
  };
}

function ulimitsOf(raw: NonNullable<RawProcess["ulimits"]>): Ulimits {
  const given = Object.entries(raw).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === "unlimited" ? -1 : parseSize(value)]));
}

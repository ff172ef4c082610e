/** Resource limits and account of a process: the checks, and the specification made from them. */
import { compact } from "../../base/compact.ts";
import type { Ulimits } from "../../contract/limits.ts";
import { type Capability, currentRights, type ProcessRights } from "../../os/process-rights.ts";
import type { RawProcess } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import { count as instancesOf } from "../instances.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import type { ProcessSpec } from "../spec.ts";
import { parseSize } from "../units.ts";
import { accountOf, groupOf } from "./accounts.ts";
import { atItsLargest } from "./scale-checks.ts";

/** Rows of /proc/self/limits. */
const KERNEL_NAMES: Readonly<Record<keyof Ulimits, string>> = {
  as: "Max address space",
  core: "Max core file size",
  cpu: "Max cpu time",
  data: "Max data size",
  fsize: "Max file size",
  memlock: "Max locked memory",
  nofile: "Max open files",
  nproc: "Max processes",
  stack: "Max stack size",
};

const RIGHTS = currentRights();

export function limitsOf(
  process: RawProcess,
): Pick<ProcessSpec, "memoryLimit" | "memoryMax" | "ulimits" | "user" | "group"> {
  const { memoryLimit, memoryMax, ulimits, user, group } = process;
  const account = user === undefined ? undefined : accountOf(user);
  const gid = group === undefined ? undefined : groupOf(group);
  return compact({
    ...(memoryLimit !== undefined && { memoryLimit: parseSize(memoryLimit) }),
    ...(memoryMax !== undefined && { memoryMax: parseSize(memoryMax) }),
    ...(ulimits !== undefined && { ulimits: ulimitsOf(ulimits) }),
    user: account,
    group: gid,
  });
}

/** `memoryMax` must exceed `memoryLimit`: a run that the kernel kills first is never stopped in order. */
export function memoryErrors({ memoryLimit, memoryMax }: PartialProcess, path: JsonPath): readonly Finding[] {
  if (memoryLimit === undefined || memoryMax === undefined || parseSize(memoryMax) > parseSize(memoryLimit)) return [];
  const message = `Found ${show(memoryMax)}; allowed: more than "memoryLimit", which is ${show(memoryLimit)}.`;
  return [{ path: [...path, "memoryMax"], message }];
}

/** Open files that the keeper, and likewise the logger, need for each captured process and for everything else. */
const DESCRIPTORS = { process: 2, others: 44 };
/** With fewer, the limit is not looked up. */
const MANY_PROCESSES = 10;

/** The first thing that many processes lack. */
export function openFileWarnings(
  { processes = [], logger }: PartialConfig,
  parallelism: number,
  rights: ProcessRights = RIGHTS,
): readonly Finding[] {
  const count = processes.reduce(
    (sum, process) => sum + instancesOf(atItsLargest(process ?? {}, parallelism), parallelism),
    0,
  );
  if (count < MANY_PROCESSES || logger?.internalLogHours === 0) return [];
  const most = rights.hardLimits[KERNEL_NAMES.nofile] ?? Infinity;
  const needed = count * DESCRIPTORS.process + DESCRIPTORS.others;
  if (needed <= most) return [];
  const able = Math.max(0, Math.floor((most - DESCRIPTORS.others) / DESCRIPTORS.process));
  const message = `${count} processes need ${needed} open files, and procman may open ${most}: about ${able} can run. Before procman is started, run "ulimit -n ${needed}", or set LimitNOFILE=${needed} in its systemd unit.`;
  return [{ path: ["processes"], at: "key", message }];
}

/** What the kernel would refuse at each start. `rights`: those of procman; another user than root has none of them. */
export function rightErrors(
  process: PartialProcess,
  path: JsonPath,
  rights: ProcessRights = RIGHTS,
): readonly Finding[] {
  const account = process.user === undefined ? undefined : accountOf(process.user);
  const can = (capability: Capability): boolean =>
    (account === undefined || account.uid === 0) && rights.can(capability);
  return [...ulimitErrors(process, path, { rights, can }), ...priorityErrors(process, path, { rights, can })];
}

type Allowed = { readonly rights: ProcessRights; readonly can: (capability: Capability) => boolean };

function ulimitErrors({ ulimits }: PartialProcess, path: JsonPath, { rights, can }: Allowed): readonly Finding[] {
  // The schema has reported the others.
  const known = Object.entries(ulimits ?? {}).filter(
    ([name, value]) => Object.hasOwn(KERNEL_NAMES, name) && value !== undefined,
  );
  return Object.entries(ulimitsOf(Object.fromEntries(known))).flatMap(([name, value]) => {
    const [most, what] = mostOf(name as keyof Ulimits, { rights, can });
    if ((value < 0 ? Infinity : value) <= most) return [];
    const message = `Found ${show(ulimits?.[name as keyof Ulimits])}; allowed: at most ${most}, ${what}. Raise that, or lower this value.`;
    return [{ path: [...path, "ulimits", name], message }];
  });
}

/** The highest value of a limit, and what it is. */
function mostOf(name: keyof Ulimits, { rights, can }: Allowed): readonly [number, string] {
  if (!can("resource"))
    return [rights.hardLimits[KERNEL_NAMES[name]] ?? Infinity, "the hard limit with which procman was started"];
  return name === "nofile" ? [rights.mostOpenFiles, "the kernel's fs.nr_open"] : [Infinity, ""];
}

function lowestScore({ rights, can }: Allowed): number {
  return can("resource") ? -Infinity : Math.min(0, rights.oomScoreAdjust);
}

function priorityErrors(
  { nice, oomScoreAdjust, ioNice }: PartialProcess,
  path: JsonPath,
  { rights, can }: Allowed,
): readonly Finding[] {
  const findings: Finding[] = [];
  const refuse = (steps: JsonPath, message: string): void => void findings.push({ path: [...path, ...steps], message });
  for (const [key, value] of Object.entries({ oomScoreAdjust, ioNice }))
    if (value !== undefined && !rights.isLinux)
      refuse([key], `Found ${show(value)}; only Linux has this setting. Leave it out here.`);
  if (findings.length > 0) return findings;
  if (nice !== undefined && !rights.has("nice"))
    refuse(["nice"], 'It needs the program "nice", which is not in PATH. Install coreutils, or leave it out.');
  if (oomScoreAdjust !== undefined && oomScoreAdjust < lowestScore({ rights, can }))
    refuse(
      ["oomScoreAdjust"],
      `Found ${oomScoreAdjust}; allowed: ${lowestScore({ rights, can })} or more. Only root (with CAP_SYS_RESOURCE) may set less.`,
    );
  if (ioNice === undefined) return findings;
  if (!rights.has("ionice"))
    refuse(
      ["ioNice"],
      'It needs the program "ionice", which is not in PATH. Install util-linux (on Alpine util-linux-misc), or leave it out.',
    );
  if (ioNice.class === "realtime" && !can("admin") && !can("nice"))
    refuse(["ioNice", "class"], 'Found "realtime"; allowed: "best-effort" or "idle". Only root may use "realtime".');
  if (ioNice.class === "idle" && ioNice.level !== undefined)
    refuse(["ioNice", "level"], `Found ${ioNice.level}; the class "idle" has no levels. Leave it out.`);
  return findings;
}

function ulimitsOf(raw: NonNullable<RawProcess["ulimits"]>): Ulimits {
  const given = Object.entries(raw).filter((entry): entry is [string, string | number] => entry[1] !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === "unlimited" ? -1 : parseSize(value)]));
}

/** Limits of this process, and what the kernel allows it. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { textIfSeen } from "./files.ts";

/** Numbers of capabilities(7). */
const CAPABILITIES = { admin: 21, nice: 23, resource: 24 } as const;

export type Capability = keyof typeof CAPABILITIES;

export type ProcessRights = {
  readonly isLinux: boolean;
  /** By their names in /proc/self/limits; none where the system doesn't tell them. */
  readonly hardLimits: Readonly<Record<string, number>>;
  /** What root may set as its limit of open files. */
  readonly mostOpenFiles: number;
  readonly oomScoreAdjust: number;
  readonly can: (capability: Capability) => boolean;
  /** Whether this program is in PATH. */
  readonly has: (program: string) => boolean;
};

/** Reads nothing until it is asked. */
export function currentRights(): ProcessRights {
  return {
    isLinux: process.platform === "linux",
    get hardLimits() {
      return hardLimitsIn(textIfSeen("/proc/self/limits"));
    },
    get mostOpenFiles() {
      return Number(textIfSeen("/proc/sys/fs/nr_open")) || Infinity;
    },
    get oomScoreAdjust() {
      return Number(textIfSeen("/proc/self/oom_score_adj"));
    },
    can: (capability) => isCapable(textIfSeen("/proc/self/status"), capability, process.getuid?.()),
    has: (program) => (process.env.PATH ?? "").split(delimiter).some((folder) => isExecutable(join(folder, program))),
  };
}

/** Hard limits in the text of /proc/PID/limits: name, soft limit, hard limit, unit. */
export function hardLimitsIn(text: string): Readonly<Record<string, number>> {
  const rows = text.matchAll(/^(Max \S+(?: \S+)*) {2,}\S+ +(\S+)/gm);
  return Object.fromEntries([...rows].map(([, name, hard]) => [name, numberOf(hard)]));
}

/** How many files the process with these limits may have open. */
function openFilesIn(text: string): number | undefined {
  const [, soft] = /^Max open files +(\S+)/m.exec(text) ?? [];
  return soft === undefined ? undefined : numberOf(soft);
}

/** How many files this process may have open; Infinity where the system doesn't tell. Descriptors are smaller numbers. */
export function openFilesLimit(): number {
  return openFilesIn(textIfSeen("/proc/self/limits")) ?? Infinity;
}

function numberOf(limit: string | undefined): number {
  return limit === "unlimited" ? Infinity : Number(limit);
}

/** Whether the text of /proc/PID/status grants the capability; without a text, only root has it. */
export function isCapable(status: string, capability: Capability, uid: number | undefined): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined) return uid === 0;
  return ((BigInt(`0x${effective}`) >> BigInt(CAPABILITIES[capability])) & 1n) === 1n;
}

/** Whether procman's own user may execute it. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

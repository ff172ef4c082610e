/** Resource limits and account of a run. */

export const ULIMITS = ["as", "core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "stack"] as const;

/** Bytes; for `cpu` seconds, for `nofile` and `nproc` a count. -1: unlimited. */
export type Ulimits = Readonly<Partial<Record<(typeof ULIMITS)[number], number>>>;

/** Flags of `ulimit` (POSIX, and what dash, bash and busybox agree on), and the bytes of their units. */
const ULIMIT_FLAGS: Readonly<Record<keyof Ulimits, { readonly flag: string; readonly unit: number }>> = {
  as: { flag: "-v", unit: 1_024 },
  core: { flag: "-c", unit: 512 },
  cpu: { flag: "-t", unit: 1 },
  data: { flag: "-d", unit: 1_024 },
  fsize: { flag: "-f", unit: 512 },
  memlock: { flag: "-l", unit: 1_024 },
  nofile: { flag: "-n", unit: 1 },
  nproc: { flag: "-u", unit: 1 },
  stack: { flag: "-s", unit: 1_024 },
};
/** What dash calls `-u`. */
const OTHER_NPROC = "-p";

/** Sets a limit in a shell, quietly; it fails if the limit can't be set. `value`: -1 for none. */
export function ulimitCommand(name: keyof Ulimits, value: number): string {
  const { flag, unit } = ULIMIT_FLAGS[name];
  const amount = value < 0 ? "unlimited" : Math.floor(value / unit);
  const flags = name === "nproc" ? [flag, OTHER_NPROC] : [flag];
  return flags.map((each) => `ulimit ${each} ${amount} 2>/dev/null`).join(" || ");
}

const REFUSED = "the limit ";

/** Why a run with this limit isn't started: it prints this after "Cannot start: ". */
export function limitRefused(name: keyof Ulimits, value: number): string {
  const amount = value < 0 ? "unlimited" : value;
  return `${REFUSED}${name} cannot be ${amount}; this user may not go beyond the hard limit`;
}

/** Whether a run has printed that. Its shell can say it in no other way than by a line of its output. */
export function saysLimitRefused(line: string): boolean {
  return line.startsWith(`Cannot start: ${REFUSED}`);
}

export const IO_CLASSES = ["realtime", "best-effort", "idle"] as const;

/** `level`: from 0, the highest priority, to 7; not for `idle`. */
export type IoPriority = { readonly class: (typeof IO_CLASSES)[number]; readonly level?: number };

export type UserAccount = { readonly name: string; readonly uid: number; readonly gid: number; readonly home?: string };

/** A shell in front of a program: it sets what is inherited and then becomes the program. Only who asks for it pays for it. */
import type { Ulimits } from "../contract/limits.ts";

export type Inherited = { readonly ulimits?: Ulimits; readonly umask?: string; readonly nice?: number; readonly share?: object };

/** How `ulimit` is told (POSIX, and what dash, bash and busybox agree on), and how many bytes its unit has. */
const FLAGS: Readonly<Record<keyof Ulimits, { readonly flag: string; readonly unit: number }>> = {
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
/** sd_listen_fds(3): a passed socket is for this pid alone, which only the process itself knows before its program begins. */
const LISTENER = "export LISTEN_PID=$$";
/** EX_CONFIG of sysexits.h: 126 would be taken for a command that may not be executed. */
const REFUSED = 78;

export function fronted(argv: readonly string[], { ulimits = {}, umask, nice, share }: Inherited): readonly string[] {
  const limits = Object.entries(ulimits).map(([name, value]) => limitOf(name as keyof Ulimits, value));
  const steps = [...limits, ...(umask === undefined ? [] : [`umask ${umask}`]), ...(share === undefined ? [] : [LISTENER])];
  if (steps.length === 0 && nice === undefined) return argv;
  const last = nice === undefined ? 'exec "$@"' : `exec nice -n ${nice} "$@"`;
  return ["/bin/sh", "-c", [...steps, last].join("\n"), "procman", ...argv];
}

/** Who can't have it doesn't start without. */
function limitOf(name: keyof Ulimits, value: number): string {
  const { flag, unit } = FLAGS[name];
  const amount = value < 0 ? "unlimited" : Math.floor(value / unit);
  const flags = name === "nproc" ? [flag, OTHER_NPROC] : [flag];
  const tries = flags.map((each) => `ulimit ${each} ${amount} 2>/dev/null`).join(" || ");
  const problem = `Cannot start: the limit ${name} can not be ${value < 0 ? "unlimited" : value}; this user may not go beyond the hard limit`;
  return `${tries} || { echo '${problem}' >&2; exit ${REFUSED}; }`;
}

/** Starts a program by a shell that sets limits, umask and niceness and then becomes the program. Used only where it is needed. */
import { parseCommandLine } from "../../base/command-line.ts";
import type { Ulimits } from "../../contract/limits.ts";

export type InheritedLimits = {
  readonly ulimits?: Ulimits;
  readonly umask?: string;
  readonly nice?: number;
  readonly share?: object;
  /** Module that Node loads before the program. */
  readonly preload?: string | undefined;
};

const SHELL = "/bin/sh";

/** Flags of `ulimit` (POSIX, and what dash, bash and busybox agree on), and the bytes of their units. */
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
/** sd_listen_fds(3): a passed socket is valid for one pid, which only the shell knows before it becomes the program. */
const SET_LISTEN_PID = "export LISTEN_PID=$$";
/** Of sysexits.h; 126 would mean a command that may not be executed. */
const EX_CONFIG = 78;

export function wrapWithLimits(argv: readonly string[], { ulimits = {}, umask, nice, share, preload }: InheritedLimits): readonly string[] {
  const limits = Object.entries(ulimits).map(([name, value]) => limitOf(name as keyof Ulimits, value));
  const steps = [
    ...limits,
    ...(umask === undefined ? [] : [`umask ${umask}`]),
    ...(share === undefined ? [] : [SET_LISTEN_PID]),
    ...(preload === undefined ? [] : [requireFirst(preload)]),
  ];
  if (steps.length === 0 && nice === undefined) return argv;
  const last = nice === undefined ? 'exec "$@"' : `exec nice -n ${nice} "$@"`;
  return [SHELL, "-c", [...steps, last].join("\n"), "procman", ...argv];
}

/** Adds to the NODE_OPTIONS of the run, which it inherits from the keeper. */
function requireFirst(file: string): string {
  const option = `--require="${file.replace(/["\\]/g, "\\$&")}"`;
  return `export NODE_OPTIONS="\${NODE_OPTIONS:+$NODE_OPTIONS }"'${option.replaceAll("'", "'\\''")}'`;
}

/** If the limit can't be set, the program isn't started. */
function limitOf(name: keyof Ulimits, value: number): string {
  const { flag, unit } = FLAGS[name];
  const amount = value < 0 ? "unlimited" : Math.floor(value / unit);
  const flags = name === "nproc" ? [flag, OTHER_NPROC] : [flag];
  const tries = flags.map((each) => `ulimit ${each} ${amount} 2>/dev/null`).join(" || ");
  const problem = `Cannot start: the limit ${name} cannot be ${value < 0 ? "unlimited" : value}; this user may not go beyond the hard limit`;
  return `${tries} || { echo '${problem}' >&2; exit ${EX_CONFIG}; }`;
}

/**
 * How a `cmd` is executed: without a shell, or by a shell that becomes the program (in both cases the pid is the program's),
 * or by a shell that stays.
 *
 * @example
 * shellArgv("redis-server --port 7000")   // ["redis-server", "--port", "7000"]
 * shellArgv("cd app && node app.js")      // ["/bin/sh", "-c", "cd app && exec node app.js"]
 * shellArgv("make | tee log")             // ["/bin/sh", "-c", "make | tee log"]
 */
export function shellArgv(line: string): readonly string[] {
  const command = parseCommandLine(line);
  if (command.kind === "words") return command.words;
  return [SHELL, "-c", command.kind === "exec" ? command.line : line];
}

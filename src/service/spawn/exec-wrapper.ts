/** Starts a program by a shell that sets limits, umask and niceness and then becomes the program. Used only where it is needed. */
import type { Ulimits } from "../../contract/limits.ts";

export type InheritedLimits = {
  readonly ulimits?: Ulimits;
  readonly umask?: string;
  readonly nice?: number;
  readonly share?: object;
  /** Module that Node loads before the program. */
  readonly preload?: string | undefined;
};

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
  return ["/bin/sh", "-c", [...steps, last].join("\n"), "procman", ...argv];
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

/** Words of a plain command: nothing in them means anything to a shell. */
const PLAIN_WORDS = /^[ \t]*[\w./@%+,:-][\w./@%+,:=-]*(?:[ \t]+[\w./@%+,:=-]+)*[ \t]*$/;

/** What a shell does itself, or reads as grammar (POSIX 2.4, 2.14, and dash's own). */
const BUILTINS = new Set(
  ": . [ alias bg break cd chdir command continue echo eval exec exit export false fc fg getopts hash jobs kill local newgrp printf pwd read readonly return set shift source test times trap true type ulimit umask unalias unset wait case do done elif else esac fi for function if in select then time until while { } !".split(
    " ",
  ),
);

const SHELL = "/bin/sh";

/**
 * How a `cmd` is executed. A plain program with plain arguments needs no shell at all, a single command with quotes,
 * variables, globs or redirects is run by a shell that becomes the program (`exec`): in both cases the pid is the
 * program's. Everything else stays the shell's: `a && b`, pipes, loops, here-documents, background jobs.
 *
 * @example
 * shellArgv("redis-server --port 7000")   // ["redis-server", "--port", "7000"]
 * shellArgv("node app.js > $OUT")         // ["/bin/sh", "-c", "exec node app.js > $OUT"]
 * shellArgv("make && ./run")              // ["/bin/sh", "-c", "make && ./run"]
 */
export function shellArgv(line: string): readonly string[] {
  const first = /^\s*("[^"]*"|'[^']*'|\S*)/.exec(line)?.[1] ?? "";
  if (!BUILTINS.has(first)) {
    if (PLAIN_WORDS.test(line) && !first.includes("=")) return line.trim().split(/[ \t]+/);
    if (isSingleCommand(line) && isProgramName(first)) return [SHELL, "-c", `exec ${line.trim()}`];
  }
  return [SHELL, "-c", line];
}

/** A first word that can't be an assignment, a substitution, an alias by quotes or a redirect. */
function isProgramName(word: string): boolean {
  return /^(?:[\w./+-]+|"[^"\\$`]*\/[^"\\$`]*"|'[^']*\/[^']*')$/.test(word);
}

/** Quoted text without substitutions, and escaped characters. */
const QUOTED = /\\.|'[^']*'|"(?:[^"\\$`]|\\.|\$(?!\())*"/gs;

/** Operators, substitutions, here-documents, comments, quotes that don't close. `2>&1` duplicates a descriptor; any other & is a background job or an AND. */
const MORE_THAN_ONE_COMMAND = /['"`\\]|\$\(|[;|()\n]|<<|(?<![<>])&|(?:^|\s)#/;

function isSingleCommand(line: string): boolean {
  return !MORE_THAN_ONE_COMMAND.test(line.replace(QUOTED, "_"));
}

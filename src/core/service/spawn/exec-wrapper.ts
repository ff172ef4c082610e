/** Starts a program by a shell that sets limits, umask and priorities and then becomes the program. Used only where it is needed. */
import { getPriority } from "node:os";
import { type IoPriority, limitRefused, type Ulimits, ulimitCommand } from "../../contract/limits.ts";

export type InheritedLimits = {
  readonly ulimits?: Ulimits;
  readonly umask?: string;
  readonly nice?: number;
  readonly oomScoreAdjust?: number;
  readonly ioNice?: IoPriority;
  readonly share?: object;
  /** Path of the file that is its standard input; opened with the rights of the program's user. */
  readonly input?: string | undefined;
  /** Module that Node loads before the program. */
  readonly preload?: string | undefined;
};

const SHELL = "/bin/sh";

/** ionice(1) of util-linux and busybox. */
const CLASS_NUMBERS: Readonly<Record<IoPriority["class"], number>> = { realtime: 1, "best-effort": 2, idle: 3 };
/** sd_listen_fds(3): a passed socket is valid for one pid, which only the shell knows before it becomes the program. */
const SET_LISTEN_PID = "export LISTEN_PID=$$";
/** Exit code of sysexits.h; 126 would mean a command that may not be executed. */
const EX_CONFIG = 78;

export function wrapWithLimits(argv: readonly string[], inherited: InheritedLimits): readonly string[] {
  const { ulimits = {}, umask, oomScoreAdjust, share, input, preload } = inherited;
  const limits = Object.entries(ulimits).map(([name, value]) => limitOf(name as keyof Ulimits, value));
  const steps = [
    ...limits,
    ...(umask === undefined ? [] : [`umask ${umask}`]),
    ...(oomScoreAdjust === undefined ? [] : [adjustOomScore(oomScoreAdjust)]),
    ...(share === undefined ? [] : [SET_LISTEN_PID]),
    ...(input === undefined ? [] : [readFrom(input)]),
    ...(preload === undefined ? [] : [requireFirst(preload)]),
  ];
  const wrappers = wrappersOf(inherited);
  if (steps.length === 0 && wrappers.length === 0) return argv;
  return [SHELL, "-c", [...steps, ["exec", ...wrappers, '"$@"'].join(" ")].join("\n"), "procman", ...argv];
}

/** Programs that set a priority and become the next program. nice(1) adds to the niceness that the run inherits from procman. */
function wrappersOf({ nice, ioNice }: InheritedLimits): readonly string[] {
  return [
    ...(nice === undefined ? [] : [`nice -n ${nice - getPriority()}`]),
    ...(ioNice === undefined
      ? []
      : [`ionice -c ${CLASS_NUMBERS[ioNice.class]}${ioNice.level === undefined ? "" : ` -n ${ioNice.level}`}`]),
  ];
}

/** A builtin writes it, so /proc/self is the shell, which becomes the program. */
function adjustOomScore(value: number): string {
  return `{ echo ${value} > /proc/self/oom_score_adj; } 2>/dev/null || ${refusal(`oomScoreAdjust cannot be ${value}; this user may not lower it`)}`;
}

function refusal(problem: string): string {
  return `{ echo ${quoted(`Cannot start: ${problem}`)} >&2; exit ${EX_CONFIG}; }`;
}

/** A word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A shell ends at once if its own redirection fails, and says less. */
function readFrom(file: string): string {
  const refused = refusal(`its user can't read its input file ${file}; give it the right, or correct "stdin"`);
  return `[ -r ${quoted(file)} ] || ${refused}\nexec < ${quoted(file)}`;
}

/** Adds to the NODE_OPTIONS of the run, which it inherits from the keeper. */
function requireFirst(file: string): string {
  const option = `--require="${file.replace(/["\\]/g, "\\$&")}"`;
  return `export NODE_OPTIONS="\${NODE_OPTIONS:+$NODE_OPTIONS }"${quoted(option)}`;
}

/** If the limit can't be set, the program isn't started. */
function limitOf(name: keyof Ulimits, value: number): string {
  return `${ulimitCommand(name, value)} || ${refusal(limitRefused(name, value))}`;
}

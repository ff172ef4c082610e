/** Where the kernel has put the core dump of a process that a signal has ended: core(5). */
import { constants, hostname } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { EndRecord } from "../contract/causes.ts";
import { namesIfSeen, statIfSeen, textIfSeen } from "./files.ts";
import { currentRights } from "./process-rights.ts";

type CoreRecord = NonNullable<EndRecord["core"]>;

/** The process that has ended; times in milliseconds since 1970. */
export type Crash = {
  readonly pid: number;
  readonly signal: string;
  /** In which it was started. */
  readonly folder: string;
  readonly started: number;
  readonly ended: number;
};

/** What the kernel does with core dumps. */
export type CoreRules = {
  /** A path with specifiers, or `|` and a command. */
  readonly pattern: string;
  /** A path without pid gets it at its end. */
  readonly appendsPid: boolean;
  /** Whether this program is in PATH. */
  readonly has: (program: string) => boolean;
};

/** Signals whose default action is to dump core: signal(7). */
const DUMPING = [
  "SIGQUIT",
  "SIGILL",
  "SIGTRAP",
  "SIGABRT",
  "SIGBUS",
  "SIGFPE",
  "SIGSEGV",
  "SIGXCPU",
  "SIGXFSZ",
  "SIGSYS",
];
/** Specifiers whose values are not known afterwards, as the time or the number of the thread. */
const VARYING = new Set([..."cCdeEfFgiItu"]);
/** Stands for such a value. */
const ANY = "\0";
/** The times of files and those of runs are of different clocks. Milliseconds. */
const INACCURACY_MS = 1_000;

/** undefined: there is none, or nobody can say where. */
export function coreOf(crash: Crash, rules?: CoreRules): CoreRecord | undefined {
  if (!DUMPING.includes(crash.signal)) return undefined;
  const { pattern, appendsPid, has } = rules ?? kernelRules();
  if (pattern.startsWith("|")) return passedOn(pattern, crash.pid, has);
  const end = appendsPid && !pattern.includes("%p") ? `.${crash.pid}` : "";
  const path = resolve(crash.folder, `${filledIn(pattern, crash)}${end}`);
  const isOne = !path.includes(ANY);
  // Of several files without a pid, it may be any.
  if (!isOne && !/%p/i.test(pattern) && end === "") return undefined;
  const file = (isOne ? [path] : pathsLike(path)).find((each) => isWrittenBy(crash, each));
  return file === undefined ? undefined : { file };
}

function kernelRules(): CoreRules {
  const { has } = currentRights();
  if (process.platform === "darwin") return { pattern: "/cores/core.%p", appendsPid: false, has };
  return {
    pattern: textIfSeen("/proc/sys/kernel/core_pattern").trim(),
    appendsPid: textIfSeen("/proc/sys/kernel/core_uses_pid").trim() === "1",
    has,
  };
}

function passedOn(pattern: string, pid: number, has: CoreRules["has"]): CoreRecord | undefined {
  const [program = ""] = pattern.slice(1).trim().split(" ");
  if (program === "") return undefined;
  // Without coredumpctl this is a container, and the program is on its host.
  const isListed = basename(program) === "systemd-coredump" && has("coredumpctl");
  return { program, ...(isListed && { command: `coredumpctl info ${pid}` }) };
}

/** `%P` is the pid, too, but in a container, where no file is found then. */
function filledIn(pattern: string, { pid, signal }: Crash): string {
  const values: Readonly<Record<string, string>> = {
    "%": "%",
    p: String(pid),
    P: String(pid),
    s: String(constants.signals[signal as NodeJS.Signals]),
    h: hostname(),
  };
  return pattern.replace(/%(.?)/g, (_, letter: string) => values[letter] ?? (VARYING.has(letter) ? ANY : ""));
}

/** The files in its folder whose names differ in the unknown values alone. */
function pathsLike(path: string): readonly string[] {
  const [folder, parts] = [dirname(path), basename(path).split(ANY)];
  if (folder.includes(ANY)) return [];
  return namesIfSeen(folder)
    .filter((name) => consistsOf(name, parts))
    .map((name) => join(folder, name));
}

/** Whether the name is these parts, with anything between two of them. */
function consistsOf(name: string, parts: readonly string[]): boolean {
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.endsWith(last) && name.length - last.length >= at;
}

function isWrittenBy({ started, ended }: Crash, path: string): boolean {
  const file = statIfSeen(path);
  if (file === undefined || !file.isFile() || file.size === 0) return false;
  return file.mtimeMs >= started - INACCURACY_MS && file.mtimeMs <= ended + INACCURACY_MS;
}

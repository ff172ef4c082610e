/**
 * The procmans of this machine, by the process table: there is no register, which could be out of date. A process that
 * only has the title of a keeper counts for nothing: it must belong to the user, and hold the lock of a state folder
 * that only this user can change.
 */
import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isSameFile } from "./file-identity.ts";
import { linkIfSeen, statIfSeen } from "./files.ts";
import { FAILOVER_VARIABLE } from "./keeper-failover.ts";
import { type Holder, holderOf, isAbandoned, seenHolderOf } from "./lock.ts";
import { partOf } from "./part-title.ts";
import { processEnvironment, processName, processStat, uidsOf } from "./process-stat.ts";
import { isShortage } from "./shortage.ts";
import { checkStateFolder } from "./state-folder.ts";

export type RunningKeeper = {
  /** The last folder of `stateDir`. */
  readonly name: string;
  readonly stateDir: string;
  readonly uid: number;
  /** undefined: it was killed and not replaced, and its logger is left. */
  readonly pid: number | undefined;
  /** The configuration file; undefined: there is no keeper. */
  readonly file: string | undefined;
  /** When it was started, in milliseconds since 1970. */
  readonly since: number | undefined;
};

/** Whether it runs this file, by whatever path or link. */
export function runsFile({ file }: RunningKeeper, other: string): boolean {
  return file !== undefined && isSameFile(file, other);
}

const OTHERS_WRITE = 0o002;

/**
 * The file of a running procman of the same name in the folder beside this one's, as those of two releases lie. In a
 * folder where everybody puts folders, as /tmp, being neighbours means nothing.
 *
 * @param stateDir in `.procman` beside the file
 */
export function neighbourOf(stateDir: string): string | undefined {
  const folder = dirname(dirname(stateDir));
  if (basename(dirname(stateDir)) !== ".procman" || ((statIfSeen(dirname(folder))?.mode ?? 0) & OTHERS_WRITE) !== 0)
    return undefined;
  const neighbours = runningKeepers().filter(({ name, pid }) => name === basename(stateDir) && pid !== undefined);
  const isBeside = (file: string): boolean => dirname(file) !== folder && dirname(dirname(file)) === dirname(folder);
  return neighbours.flatMap(({ file }) => file ?? []).find(isBeside);
}

/** Files that keeper and logger have open in the state folder. */
const OPEN = /^(.*)\/run\/(?:journal|fifos\/\d+\.(?:out|err))(?: \(deleted\))?$/;

/** Room for the files of hundreds of processes. */
const MAX_BYTES = 1 << 28;

type SeenPart = {
  readonly pid: number;
  readonly uid: number;
  readonly part: "keeper" | "logger";
  readonly stateDir: string;
};

/** Sorted by name. `isOwn`: only those of the effective user. About 10 µs for each process of the machine. */
export function runningKeepers(isOwn = true): readonly RunningKeeper[] {
  const own = process.geteuid?.();
  const parts = seenParts((uid) => !isOwn || uid === own);
  const keepers = parts.flatMap((part) => (part.part === "keeper" ? (verified(part, own) ?? []) : []));
  const folders = new Set(keepers.map(({ stateDir }) => stateDir));
  const pids = new Set(keepers.map(({ pid }) => pid));
  for (const { pid, part, stateDir, uid } of parts) {
    if (part !== "logger" || uid !== own || folders.has(stateDir)) continue;
    // After a move of the project folder the logger of a running keeper has files in the new place open.
    if (pids.has(processStat(pid)?.parent ?? 0)) continue;
    if (trusted(stateDir, uid, () => isAbandoned(stateDir)) !== true) continue;
    folders.add(stateDir);
    keepers.push({ name: basename(stateDir), stateDir, uid, pid: undefined, file: undefined, since: undefined });
  }
  return keepers.sort((one, other) => compare(one.name, other.name) || compare(one.stateDir, other.stateDir));
}

/** Whether a logger is left of the procman of this state folder that starts a keeper in place of a killed one. */
export function hasReviver(stateDir: string): boolean {
  const own = process.geteuid?.();
  const folder = realpathSync(stateDir);
  const loggers = seenParts((uid) => uid === own).filter((each) => each.part === "logger" && each.stateDir === folder);
  return loggers.some(({ pid }) => processEnvironment(pid)?.includes(`${FAILOVER_VARIABLE}=`));
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function verified({ pid, uid, stateDir }: SeenPart, own: number | undefined): RunningKeeper | undefined {
  const holder = trusted(stateDir, uid, () => (uid === own ? holderOf(stateDir) : seenHolderOf(stateDir)));
  if (holder?.pid !== pid) return undefined;
  const file = typeof holder.file === "string" ? holder.file : undefined;
  return { name: basename(stateDir), stateDir, uid, pid, file, since: sinceOf(stateDir, holder) };
}

/** undefined also if only this user can't look into the folder. */
function trusted<T>(stateDir: string, uid: number, look: () => T): T | undefined {
  try {
    checkStateFolder(stateDir, uid);
    return look();
  } catch {
    return undefined;
  }
}

/** The keeper has made its lock when it was started. */
function sinceOf(stateDir: string, { number }: Holder): number | undefined {
  return statSync(join(stateDir, `lock.${number}`), { throwIfNoEntry: false })?.mtimeMs;
}

function seenParts(isWanted: (uid: number) => boolean): readonly SeenPart[] {
  return process.platform === "linux" ? partsInProc(isWanted) : partsByPs(isWanted);
}

function partsInProc(isWanted: (uid: number) => boolean): readonly SeenPart[] {
  return readdirSync("/proc").flatMap((entry) => {
    const pid = /^\d+$/.test(entry) ? Number(entry) : 0;
    const part = pid === 0 ? undefined : kindOf(processName(pid));
    const uid = part === undefined ? undefined : uidsOf(pid)?.effective;
    if (part === undefined || uid === undefined || !isWanted(uid)) return [];
    const stateDir = stateFolderOf(pid);
    return stateDir === undefined ? [] : [{ pid, uid, part, stateDir }];
  });
}

function kindOf(title: string): SeenPart["part"] | undefined {
  const { part } = partOf(title) ?? {};
  return part === "keeper" || part === "logger" ? part : undefined;
}

/** The state folder of a keeper, or of a logger that reads output; undefined if its files may not be looked at. Linux only. */
export function stateFolderOf(pid: number): string | undefined {
  const folder = `/proc/${pid}/fd`;
  for (const fd of namesIn(folder)) {
    const [, stateDir] = OPEN.exec(linkIfSeen(join(folder, fd))) ?? [];
    if (stateDir !== undefined) return stateDir;
  }
  return undefined;
}

/** Processes may end during the scan, and those of other users are not readable. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isShortage(error)) throw error;
    return [];
  }
}

function partsByPs(isWanted: (uid: number) => boolean): readonly SeenPart[] {
  const found = titledIn(outputOf("ps", ["-axww", "-o", "pid=,uid=,command="])).filter(({ uid }) => isWanted(uid));
  if (found.length === 0) return [];
  const folders = foldersIn(
    outputOf("lsof", ["-nP", "-w", "-Fn", "-a", "-d", "0-65535", "-p", found.map(({ pid }) => pid).join(",")]),
  );
  return found.flatMap((part) => {
    const stateDir = folders.get(part.pid);
    return stateDir === undefined ? [] : [{ ...part, stateDir }];
  });
}

/** Lines of pid, user and title. */
export function titledIn(lines: string): readonly Omit<SeenPart, "stateDir">[] {
  return lines.split("\n").flatMap((line) => {
    const [, pid, uid, title = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)/s.exec(line) ?? [];
    const part = kindOf(title);
    return part === undefined ? [] : [{ pid: Number(pid), uid: Number(uid), part }];
  });
}

/** State folders by pid, in what `lsof -Fn` prints: `p4711`, then `n/srv/shop/.procman/shop/run/journal` for each file. */
export function foldersIn(lines: string): ReadonlyMap<number, string> {
  const folders = new Map<number, string>();
  let pid = 0;
  for (const line of lines.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1));
    const [, stateDir] = line.startsWith("n") ? (OPEN.exec(line.slice(1)) ?? []) : [];
    if (stateDir !== undefined && !folders.has(pid)) folders.set(pid, stateDir);
  }
  return folders;
}

/** lsof ends with 1 if one of the processes has ended. */
function outputOf(program: string, args: readonly string[]): string {
  const { stdout } = process
    .getBuiltinModule("node:child_process")
    .spawnSync(program, args, { encoding: "utf8", maxBuffer: MAX_BYTES });
  return stdout ?? "";
}

/** Most processes between a program and the keeper that are looked at. */
const MAX_DEPTH = 32;

/** Whether the process is a part of the procman with this state folder, or was started by it. */
export function isOfProcman(pid: number, stateDir: string): boolean {
  if ((processEnvironment(pid) ?? "").split("\0").includes(`PROCMAN_DATA_DIR=${stateDir}`)) return true;
  let at = pid;
  for (let depth = 0; depth < MAX_DEPTH && at > 1; depth++) {
    if (stateFolderOf(at) === stateDir) return true;
    at = processStat(at)?.parent ?? 0;
  }
  return false;
}

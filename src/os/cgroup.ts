/** cgroup v2, where procman may use it: a folder of its own for each slot holds whoever its runs have started, wherever they went. */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Where procman's own processes are once their cgroup is divided, and what systemd's DelegateSubgroup is to be called. */
const HOME = "procman";
/** Whoever forks while all are moved leaves another one behind. */
const ROUNDS = 10;

/** The cgroup that this process is in. */
export function currentCgroup(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const mount = /^\S+ (\/\S+) cgroup2 /m.exec(readOr("/proc/self/mounts"))?.[1];
  const path = /^0::(.*)$/m.exec(readOr("/proc/self/cgroup"))?.[1];
  // A container whose mount is that of the machine would be led astray by it.
  return mount === undefined || path === undefined || path.startsWith("/..") ? undefined : join(mount, path);
}

/** The cgroup that others can be made below, when this process may do that; undefined otherwise. */
export function ownCgroup(current = currentCgroup()): string | undefined {
  if (current === undefined) return undefined;
  const folder = basename(current) === HOME ? dirname(current) : current;
  return isWritable(folder) ? folder : undefined;
}

/**
 * Whether nobody else's cgroup is divided: the first of a container or a machine, or one with a place for procman's own
 * processes in it. A session of a user, say, holds others too.
 */
export function isGiven(current: string): boolean {
  return basename(current) === HOME || /^0::\/$/m.test(readOr("/proc/self/cgroup"));
}

/**
 * Lets the cgroups in `folder`, one below `root`, have limits of memory. Those may not be below one with members: who is in
 * `root` is moved, except in the first cgroup of the machine, which has no type.
 * @throws Error why that can't be had
 */
export function divideMemory(root: string, folder: string): void {
  if (!/\bmemory\b/.test(readOr(join(root, "cgroup.controllers"))))
    throw new Error(`the cgroup ${root} has no memory controller to give away`);
  mkdirSync(folder, { recursive: true });
  if (existsSync(join(root, "cgroup.type"))) moveAll(root, join(root, HOME));
  for (const each of [root, folder]) set(each, "cgroup.subtree_control", "+memory");
}

/** Moves all members of one cgroup to another, which is made if need be. */
export function moveAll(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (let round = 0; round < ROUNDS; round++) {
    const members = cgroupMembers(from).filter((pid) => pid > 0);
    if (members.length === 0) return;
    for (const pid of members) moveTo(to, pid);
  }
}

/** More than this nobody in it has, together; who wants more is killed, with all the others. @throws Error */
export function capMemory(folder: string, bytes: number): void {
  set(folder, "memory.oom.group", "1");
  // Else it would only be moved to the disk.
  if (existsSync(join(folder, "memory.swap.max"))) set(folder, "memory.swap.max", "0");
  set(folder, "memory.max", String(bytes));
}

/** Pids in a cgroup; none when it isn't there. */
export function cgroupMembers(folder: string): readonly number[] {
  return readOr(join(folder, "cgroup.procs")).split("\n").filter(Boolean).map(Number);
}

/** Moves this process there: whoever it starts is born in it. */
export function enterCgroup(folder: string): void {
  set(folder, "cgroup.procs", "0");
}

/** Makes it without members, limits or a past. Whoever can't be ended stays there. @throws Error */
export function renewCgroup(folder: string): void {
  try {
    removeCgroup(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
  }
  mkdirSync(folder, { recursive: true });
  if (existsSync(join(folder, "memory.max"))) set(folder, "memory.max", "max");
}

/** Ends all members at once, also those that fork as fast as they are killed. Linux 5.14. */
export function killCgroup(folder: string): void {
  const kill = join(folder, "cgroup.kill");
  if (existsSync(kill)) writeFileSync(kill, "1");
}

/** Removes a cgroup without members; one that still has some stays. */
export function removeCgroup(folder: string): void {
  if (existsSync(folder) && cgroupMembers(folder).length === 0) rmdirSync(folder);
}

/** Nobody is there any more: no matter. */
function moveTo(folder: string, pid: number): void {
  try {
    set(folder, "cgroup.procs", String(pid));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A file that the kernel doesn't have is not made. Node doesn't say what couldn't be written. */
function set(folder: string, file: string, value: string): void {
  const path = join(folder, file);
  try {
    writeFileSync(path, value, { flag: "r+" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error(`"${value}" can't be written to ${path} (${code})`, { cause: error }), { code });
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(join(folder, "cgroup.procs"), constants.W_OK);
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

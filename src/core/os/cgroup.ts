/** cgroup v2: where procman may use it, each slot has a cgroup with all processes that its runs have started. */
import { accessSync, constants, existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { textIfSeen } from "./files.ts";

/** Name of the cgroup for procman's own processes, once their cgroup is divided; also the value for systemd's DelegateSubgroup. */
const HOME = "procman";
/** A process that forks while members are moved leaves a child behind, so moving is repeated up to this many times. */
const ROUNDS = 10;

/** The cgroup of this process. */
export function currentCgroup(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const mount = /^\S+ (\/\S+) cgroup2 /m.exec(textIfSeen("/proc/self/mounts"))?.[1];
  const path = /^0::(.*)$/m.exec(textIfSeen("/proc/self/cgroup"))?.[1];
  // The container sees the mount of its host; the path is not valid in it.
  return mount === undefined || path === undefined || path.startsWith("/..") ? undefined : join(mount, path);
}

/** The cgroup below which this process may create others, or undefined. */
export function ownCgroup(current = currentCgroup()): string | undefined {
  if (current === undefined) return undefined;
  const folder = basename(current) === HOME ? dirname(current) : current;
  return isWritable(folder) ? folder : undefined;
}

/**
 * Whether the cgroup belongs to procman alone: the root of a container or machine, or a cgroup with a subgroup for
 * procman's own processes. The cgroup of a user session, for example, has other members too.
 */
export function isGiven(current: string): boolean {
  return basename(current) === HOME || /^0::\/$/m.test(textIfSeen("/proc/self/cgroup"));
}

export type Controller = "memory" | "cpu";

/** The period in which a CPU limit counts, the kernel's default, and its smallest part. Microseconds. */
const CPU_PERIOD = 100_000;
const MIN_QUOTA = 1_000;

/**
 * Enables limits of a kind for the cgroups in `folder`, which lies directly below `root`. The kernel allows these only
 * below cgroups without members, so the members of `root` are moved, except in the root cgroup of the machine, which
 * has no type.
 * @throws Error with the reason if the kernel or the permissions don't allow it
 */
export function divide(root: string, folder: string, controller: Controller): void {
  if (!textIfSeen(join(root, "cgroup.controllers")).split(/\s/).includes(controller))
    throw new Error(`the cgroup ${root} has no ${controller} controller to delegate`);
  mkdirSync(folder, { recursive: true });
  if (existsSync(join(root, "cgroup.type"))) moveAll(root, join(root, HOME));
  for (const each of [root, folder]) set(each, "cgroup.subtree_control", `+${controller}`);
}

/** Moves all members of one cgroup to another, which is created if necessary. */
export function moveAll(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (let round = 0; round < ROUNDS; round++) {
    const members = cgroupMembers(from).filter((pid) => pid > 0);
    if (members.length === 0) return;
    for (const pid of members) moveTo(to, pid);
  }
}

/** Limits the memory of all members together; when they exceed it, the kernel kills all of them. @throws Error */
export function capMemory(folder: string, bytes: number): void {
  set(folder, "memory.oom.group", "1");
  // Otherwise the kernel would swap instead of kill.
  if (existsSync(join(folder, "memory.swap.max"))) set(folder, "memory.swap.max", "0");
  set(folder, "memory.max", String(bytes));
}

/** Limits the CPU time of all members together. 100 percent is one core. @throws Error */
export function capCpu(folder: string, percent: number): void {
  set(folder, "cpu.max", `${Math.max(MIN_QUOTA, Math.round((percent * CPU_PERIOD) / 100))} ${CPU_PERIOD}`);
}

/** Pids in a cgroup; empty if the cgroup doesn't exist. */
export function cgroupMembers(folder: string): readonly number[] {
  return textIfSeen(join(folder, "cgroup.procs")).split("\n").filter(Boolean).map(Number);
}

/** Moves this process there; its future children start in it. */
export function enterCgroup(folder: string): void {
  set(folder, "cgroup.procs", "0");
}

/** Creates the cgroup again, without members or limits. It keeps members that can't be removed. @throws Error */
export function renewCgroup(folder: string): void {
  try {
    removeCgroup(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EBUSY") throw error;
  }
  mkdirSync(folder, { recursive: true });
  for (const file of ["memory.max", "cpu.max"]) if (existsSync(join(folder, file))) set(folder, file, "max");
}

/** Kills all members at once, even if they fork continuously. Linux 5.14 and later. */
export function killCgroup(folder: string): void {
  const kill = join(folder, "cgroup.kill");
  if (existsSync(kill)) writeFileSync(kill, "1");
}

/** Removes the cgroup if it has no members. */
export function removeCgroup(folder: string): void {
  if (existsSync(folder) && cgroupMembers(folder).length === 0) rmdirSync(folder);
}

/** Ignores processes that have exited meanwhile. */
function moveTo(folder: string, pid: number): void {
  try {
    set(folder, "cgroup.procs", String(pid));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Never creates a file. Node's error doesn't name the path and value, so they are added. */
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

/** cgroup v2, where procman may use it: a folder of its own for each slot holds whoever its runs have started, wherever they went. */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The cgroup that this process is in, when it may make others below it; undefined otherwise. */
export function ownCgroup(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const mount = /^\S+ (\/\S+) cgroup2 /m.exec(readOr("/proc/self/mounts"))?.[1];
  const path = /^0::(.*)$/m.exec(readOr("/proc/self/cgroup"))?.[1];
  if (mount === undefined || path === undefined) return undefined;
  const folder = join(mount, path);
  return isWritable(folder) ? folder : undefined;
}

/** Pids in a cgroup; none when it isn't there. */
export function cgroupMembers(folder: string): readonly number[] {
  return readOr(join(folder, "cgroup.procs")).split("\n").filter(Boolean).map(Number);
}

/** Makes the cgroup if need be, and moves this process there: whoever it starts is born in it. */
export function enterCgroup(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cgroup.procs"), "0");
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

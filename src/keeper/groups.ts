/** Which pids and process groups are taken. */
import { allProcesses } from "../os/process-stat.ts";

/** Without zombies: nobody but a parent can tell by a signal whether it is one that a group has left. */
export function livingGroups(): ReadonlySet<number> {
  return new Set(
    allProcesses()
      .filter(({ state }) => state !== "Z" && state !== "X")
      .map(({ group }) => group),
  );
}

export function groupLives(pid: number): boolean {
  return isTaken(-pid);
}

export function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Which pids and process groups exist. */
import { allProcesses } from "./process-stat.ts";

/** Groups with a living member. Zombies don't count; kill(2) can't tell them from living processes. */
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
    // The process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

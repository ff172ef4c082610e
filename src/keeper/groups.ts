/** Which pids and process groups are taken. */
import { allProcesses } from "../os/process-stat.ts";

/** On Linux and macOS, as libuv has it. */
const EPERM = -1;

type Kill = (pid: number, signal: number) => number | undefined;

/** What `process.kill` itself asks. Its error would be 0.1 ms of the 4 of a restart: nearly all who end leave no group behind. */
const { _kill: quick = thrown } = process as unknown as { readonly _kill?: Kill };

/** Where Node has no such thing. */
export function thrown(...[pid, signal]: Parameters<Kill>): number | undefined {
  try {
    process.kill(pid, signal);
    return 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).errno;
  }
}

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

export function isTaken(pid: number, ask: Kill = quick): boolean {
  const errno = ask(pid, 0);
  return errno === 0 || errno === EPERM;
}

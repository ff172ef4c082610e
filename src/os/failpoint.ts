/**
 * Named points at which the fault tests let a process of procman's end by SIGKILL. `PROCMAN_FAILPOINTS` names files, as
 * `keeper.forked=/tmp/a,service.sent=/tmp/b`: whoever reaches a point whose file is there takes that away and dies. Without the
 * variable a point is an empty call.
 */
import { unlinkSync } from "node:fs";

const VARIABLE = "PROCMAN_FAILPOINTS";

const FILES = new Map(
  (process.env[VARIABLE] ?? "")
    .split(",")
    .filter(Boolean)
    .map((row) => row.split("=") as [string, string]),
);

export type Failpoint =
  | `keeper.${"told" | "noted" | "asked" | "forked" | "recorded" | "exited" | "over" | "signalled" | "locked" | "housed" | "adopted" | "took" | "retold" | "removed"}`
  | `service.${"loaded" | "settled" | "begun" | "decided" | "sent"}`
  | `logger.${"read" | "written" | "drained" | "rotated" | "compressing" | "compressed" | "handing" | "handed"}`;

export const failpoint: (name: Failpoint) => void = FILES.size === 0 ? () => undefined : reach;

/** The environment for processes that are none of procman's own. */
export function withoutFailpoints({ [VARIABLE]: _ours, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env;
}

function reach(name: Failpoint): void {
  const file = FILES.get(name);
  if (file !== undefined && isTaken(file)) process.kill(process.pid, "SIGKILL");
}

/** Removed by us, and nobody else: it kills once. */
function isTaken(file: string): boolean {
  try {
    unlinkSync(file);
    return true;
  } catch {
    return false;
  }
}

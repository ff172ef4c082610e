/**
 * Named points at which fault tests kill one of procman's processes with SIGKILL. `PROCMAN_FAILPOINTS` assigns files to
 * points, for example `keeper.forked=/tmp/a,service.sent=/tmp/b`: a process that reaches a point whose file exists
 * removes the file and dies. Without the variable, a failpoint is an empty function.
 */
import { unlinkSync } from "node:fs";
import type { DeployStep } from "../contract/deployment-record.ts";

const VARIABLE = "PROCMAN_FAILPOINTS";

const FILES = new Map(
  (process.env[VARIABLE] ?? "")
    .split(",")
    .filter(Boolean)
    .map((row) => row.split("=") as [string, string]),
);

export type Failpoint =
  | `keeper.${"told" | "noted" | "asked" | "forked" | "recorded" | "exited" | "over" | "signalled" | "locked" | "housed" | "parted" | "adopted" | "took" | "retold" | "removed"}`
  | `service.${"loaded" | "settled" | "resting" | "begun" | "kept" | "rollback-noted" | "rollback-begun" | "decided" | "sent" | "hook-noted" | "hook-begun"}`
  | `service.rollout-${"noted" | "did"}`
  | `service.deploy-${"begun" | "did"}-${DeployStep}`
  | `service.warm-${"noted" | "added" | "rests" | "removed"}`
  | `logger.${"read" | "written" | "drained" | "rotated" | "compressing" | "compressed" | "handing" | "handed"}`;

export const failpoint: (name: Failpoint) => void = FILES.size === 0 ? () => undefined : reach;

/** The environment for processes other than procman's own. */
export function withoutFailpoints({ [VARIABLE]: _ours, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return env;
}

function reach(name: Failpoint): void {
  const file = FILES.get(name);
  if (file !== undefined && isTaken(file)) process.kill(process.pid, "SIGKILL");
}

/** True if this process removed the file, so that each file kills once. */
function isTaken(file: string): boolean {
  try {
    unlinkSync(file);
    return true;
  } catch {
    return false;
  }
}

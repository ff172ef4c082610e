/** Why a host refuses to take part in a rollout: as it says itself, and as a client says that asks before an upload. */
import { ProcmanError } from "../base/errors.ts";
import { callerText } from "./control.ts";
import type { RolloutRecord } from "./rollout-record.ts";

/** `host`: as the client calls it. */
export function rolloutRunning({ id, action, hosts, time, by, ...caller }: RolloutRecord, host: string): ProcmanError {
  const who = `${callerText(caller)}${by === undefined ? "" : `, ${by}`}`;
  return new ProcmanError(
    "rollout-running",
    `Cannot begin a rollout: ${host} takes part in rollout ${id} (${action.kind} on ${hosts.join(", ")}) of ${who} since ${time}; "procman rollout status ${id}" shows it, continue or abort end it`,
  );
}

/** Two names of one host. */
export function sameProcmanText(one: string, other: string): string {
  return `${one} and ${other} are the same procman, and it would be done there twice; "procman host remove ${other}" forgets that name`;
}

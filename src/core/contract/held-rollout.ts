/** Why a host that takes part in a rollout refuses another one: as it says itself, and as a client says that asks before an upload. */
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

/** Starts, stops, restarts and blocks a process by the API while procman is killed, and checks that accepted commands are completed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Procman } from "../../examples/kill-the-manager/managers/procman.mjs";
import { monotonicMs } from "../../examples/kill-the-manager/programs/instance.mjs";
import type { Action } from "../../src/contract/control.ts";
import type { ProcessRecord } from "../../src/contract/records.ts";
import type { Chance } from "./seeded-random.ts";

/** Time limit of an accepted command, while procman is down half of the time. Milliseconds. */
const PATIENCE_MS = 30_000;
const LOOK_MS = 40;

export type Played = { accepted: number; refused: number; readonly findings: string[] };

export type OperatorOptions = {
  readonly procman: Procman;
  readonly chance: Chance;
  readonly isOver: () => boolean;
  /** Whether the keeper was killed so close to this time that an accepted command may be lost. */
  readonly isExcused: (at: number) => boolean;
};

export async function operate(id: string, { procman, chance, isOver, isExcused }: OperatorOptions): Promise<Played> {
  const played: Played = { accepted: 0, refused: 0, findings: [] };
  while (!isOver()) {
    await sleep(chance.between(0, 400));
    const action = chance.weighted({ start: 3, stop: 3, restart: 3, block: 1, unblock: 2 });
    const answer = (await procman.api.ask("POST", `/processes/${id}/${action}`)) as { status: number; body: ProcessRecord } | undefined;
    const at = monotonicMs();
    if (answer === undefined) continue;
    if (answer.status !== 200) {
      played.refused += 1;
      continue;
    }
    played.accepted += 1;
    const last = await carriedOut(procman, id, { action, after: answer.body });
    if (last !== true && !isExcused(at))
      played.findings.push(
        `${action} of ${id}, accepted with ${JSON.stringify(answer.body)}, was not carried out: ${JSON.stringify(last)}`,
      );
  }
  return played;
}

/** True, or the last record seen. */
async function carriedOut(procman: Procman, id: string, asked: { readonly action: Action; readonly after: ProcessRecord }) {
  let last: ProcessRecord | undefined;
  for (const end = monotonicMs() + PATIENCE_MS; monotonicMs() < end; await sleep(LOOK_MS)) {
    const answer = await procman.api.ask("GET", `/processes/${id}`);
    if (answer?.status !== 200) continue;
    last = answer.body as ProcessRecord;
    if (isDone(asked.action, asked.after, last)) return true;
  }
  return last;
}

/** Whether the record `now` shows the effect of a command that was answered with `after`. */
function isDone(action: Action, after: ProcessRecord, now: ProcessRecord): boolean {
  const isUp = now.status === "running";
  switch (action) {
    case "start":
      return isUp;
    case "stop":
      return ["stopped", "created", "finished", "errored", "exhausted"].includes(now.status);
    case "restart":
      return isUp && (now.run ?? 0) >= (after.run ?? 0) + (after.status === "stopping" ? 1 : 0);
    case "block":
      return now.blocked;
    case "unblock":
      return !now.blocked;
    default:
      return action satisfies never;
  }
}

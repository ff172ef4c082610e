/** Starts, stops, restarts and blocks a process by the API while procman is killed, and checks that accepted commands are completed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Procman } from "../../examples/kill-the-manager/managers/procman.mjs";
import { monotonicMs } from "../../examples/kill-the-manager/programs/instance.mjs";
import type { Action } from "../../src/contract/control.ts";
import type { ProcessRecord } from "../../src/contract/records.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** Time limit of an accepted command, while procman is down half of the time. Milliseconds. */
const TIMEOUT_MS = 30_000;
const POLL_MS = 40;

export type OperatorReport = { accepted: number; refused: number; readonly findings: string[] };

export type OperatorOptions = {
  readonly procman: Procman;
  readonly random: SeededRandom;
  readonly isOver: () => boolean;
  /** Whether the keeper was killed so close to this time that an accepted command may be lost. */
  readonly isExcused: (at: number) => boolean;
};

export async function runOperator(id: string, { procman, random, isOver, isExcused }: OperatorOptions): Promise<OperatorReport> {
  const report: OperatorReport = { accepted: 0, refused: 0, findings: [] };
  while (!isOver()) {
    await sleep(random.between(0, 400));
    const action = random.weighted({ start: 3, stop: 3, restart: 3, block: 1, unblock: 2 });
    const answer = (await procman.api.ask("POST", `/processes/${id}/${action}`)) as { status: number; body: ProcessRecord } | undefined;
    const at = monotonicMs();
    if (answer === undefined) continue;
    if (answer.status !== 200) {
      report.refused += 1;
      continue;
    }
    report.accepted += 1;
    const last = await waitUntilDone(procman, id, { action, after: answer.body });
    if (last !== true && !isExcused(at))
      report.findings.push(`${action} of ${id}, accepted with ${JSON.stringify(answer.body)}, was not completed: ${JSON.stringify(last)}`);
  }
  return report;
}

/** True, or the last record seen. */
async function waitUntilDone(procman: Procman, id: string, issued: { readonly action: Action; readonly after: ProcessRecord }) {
  let last: ProcessRecord | undefined;
  for (const end = monotonicMs() + TIMEOUT_MS; monotonicMs() < end; await sleep(POLL_MS)) {
    const answer = await procman.api.ask("GET", `/processes/${id}`);
    if (answer?.status !== 200) continue;
    last = answer.body as ProcessRecord;
    if (isDone(issued.action, issued.after, last)) return true;
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

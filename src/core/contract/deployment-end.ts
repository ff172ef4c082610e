/** Follows a deployment to its end. */
import { ProcmanError } from "../base/errors.ts";
import type { ActOptions, Control } from "./control.ts";
import type { DeploymentRecord } from "./deployment-record.ts";

/** A request waits no longer. Seconds. */
const LONGEST_REQUEST = 30;

/** Requests until the next service must have answered, and the pause between them. */
const ATTEMPTS = 40;
const PAUSE_MS = 250;

type Following = Required<Pick<ActOptions, "waitSeconds">> & {
  readonly signal?: AbortSignal | undefined;
  /** Gets the lines as they come. */
  readonly onLines?: (lines: readonly string[]) => void;
};

/** @throws {ProcmanError} `deploy-failed`, `wait-timeout` */
export async function deploymentEnd(
  control: Pick<Control, "deployment">,
  begun: DeploymentRecord,
  { waitSeconds, signal, onLines = () => undefined }: Following,
): Promise<DeploymentRecord> {
  const deadline = Date.now() + waitSeconds * 1_000;
  let record = begun;
  onLines(newLines(record, 0));
  while (record.step !== undefined) {
    const left = (deadline - Date.now()) / 1_000;
    if (left <= 0)
      throw new ProcmanError(
        "wait-timeout",
        `Cannot wait for deployment ${begun.number}: timed out after ${waitSeconds} s; it goes on in the background`,
      );
    // Another service may take over meanwhile.
    const query = { after: record.next, waitSeconds: Math.min(left, LONGEST_REQUEST), ...(signal && { signal }) };
    record = await again(() => control.deployment(String(begun.number), query));
    signal?.throwIfAborted();
    onLines(newLines(record, query.after));
  }
  if (record.result === "done") return record;
  const { release, before, problem, result } = record;
  const back =
    before === undefined ? "there was none before it, so its processes were stopped" : `${before} is in use again`;
  const end = result === "failed" ? "nothing was switched" : back;
  throw new ProcmanError("deploy-failed", `Cannot deploy ${release}: ${problem}; ${end}`);
}

/** The lines since the last answer; a note in front counts those that a slow reader has missed. */
function newLines({ lines, next }: DeploymentRecord, after: number): readonly string[] {
  const missed = next - lines.length - (after > next ? 0 : after);
  if (lines.length === 0 || missed <= 0) return lines;
  return [
    `… ${missed} line${missed === 1 ? "" : "s"} left out; "procman logs --category service" shows them`,
    ...lines,
  ];
}

async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ProcmanError) || error.code !== "service-down" || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
}

/** The states of all processes, for the last line of the terminal. */
import { setTimeout as sleep } from "node:timers/promises";
import { connectTo } from "../../client/connection/connect.ts";
import { reconnectError } from "../../client/connection/log-reader.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { Location } from "../../core/config/find-config.ts";
import type { ProcessRecord, Status } from "../../core/contract/records.ts";

/** Until procman has come up, or comes back. Milliseconds. */
const RETRY_MS = 200;

/** Calls for each process, of a cluster for each instance, now and after each change, until the signal is aborted. */
export async function followStates(
  place: Location,
  signal: AbortSignal,
  onState: (record: ProcessRecord) => void,
): Promise<void> {
  for (; !signal.aborted; await sleep(RETRY_MS, undefined, { ref: false })) {
    try {
      await followOnce(place, signal, onState);
    } catch (error) {
      // It isn't up yet, or has ended, which the end of its lines says.
      if (!signal.aborted && !(error instanceof ProcmanError)) reconnectError(error, true);
    }
  }
}

async function followOnce(...[place, signal, onState]: Parameters<typeof followStates>): Promise<void> {
  const after = String(Date.now() * 1_000);
  const control = await connectTo(place, "dev");
  const records = await control.processes();
  records.flatMap((record) => record.instances ?? [record]).forEach(onState);
  for await (const event of control.events(after, signal, ["process.state"]))
    if (event.type === "process.state") onState(event.process);
}

/** What isn't usual first: `mail errored, 3 running`. */
export function statesText(records: readonly Pick<ProcessRecord, "id" | "status">[]): string {
  const usual: readonly Status[] = ["running", "finished", "stopped", "created"];
  const unusual = records.filter(({ status }) => !usual.includes(status));
  const counts = usual.flatMap((status) => {
    const count = records.filter((each) => each.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return [...unusual.map(({ id, status }) => `${id} ${status}`), ...counts].join(", ");
}

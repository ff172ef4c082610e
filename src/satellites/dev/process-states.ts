/** The states of all processes, for the last line of the terminal. */
import { setTimeout as sleep } from "node:timers/promises";
import { connectTo } from "../../client/connection/connect.ts";
import { reconnectError } from "../../client/connection/log-reader.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { Location } from "../../core/config/find-config.ts";
import { groupNamed, selectorsIn, unknownProcess } from "../../core/contract/groups.ts";
import type { ProcessRecord, Status } from "../../core/contract/records.ts";

/** Until procman has come up, or comes back. Milliseconds. */
const RETRY_MS = 200;
/** After a change; others often follow at once. Milliseconds. */
const SOON_MS = 50;

/** Calls with all processes, of a cluster with each instance, now and after changes, until the signal is aborted. */
export async function followStates(
  place: Location,
  signal: AbortSignal,
  onStates: (records: readonly ProcessRecord[]) => void,
): Promise<void> {
  for (; !signal.aborted; await sleep(RETRY_MS, undefined, { ref: false })) {
    try {
      await followOnce(place, signal, onStates);
    } catch (error) {
      // It isn't up yet, or has ended, which the end of its lines says.
      if (!signal.aborted && !(error instanceof ProcmanError)) reconnectError(error, true);
    }
  }
}

async function followOnce(...[place, signal, onStates]: Parameters<typeof followStates>): Promise<void> {
  const control = await connectTo(place, "dev");
  let asked = 0;
  const ask = async (): Promise<void> => {
    // As the ids of events. Microseconds.
    asked = Date.now() * 1_000;
    onStates((await control.processes()).flatMap((record) => record.instances ?? [record]));
  };
  await ask();
  for await (const { id } of control.events(String(asked), signal, ["process.state"])) {
    if (Number(id) < asked) continue;
    await sleep(SOON_MS, undefined, { ref: false });
    await ask();
  }
}

/** Processes, instances or groups; `ids`: none stands for all. */
export type NamedProcesses = { readonly ids: readonly string[]; readonly except: readonly string[] };

/** The ids of the processes and clusters that are meant; none: all. @throws {ProcmanError} `process-unknown` */
export async function idsOf(place: Location, { ids, except }: NamedProcesses): Promise<readonly string[]> {
  if (ids.length + except.length === 0) return [];
  const records = await (await connectTo(place, "dev")).processes();
  const unknown = [...ids, ...except].find((id) => !records.some((record) => isMeant(id, record)));
  const known = records.flatMap(({ id, instances = [] }) => [id, ...instances.map((each) => each.id)]);
  if (unknown !== undefined) throw unknownProcess(unknown, known, selectorsIn(records));
  return records
    .filter((record) => ids.length === 0 || ids.some((id) => isMeant(id, record)))
    .filter((record) => !except.some((id) => isMeant(id, record)))
    .map(({ id }) => id);
}

function isMeant(named: string, { id, instances = [], groups = [] }: ProcessRecord): boolean {
  const group = groupNamed(named);
  if (group !== undefined) return groups.includes(group);
  return named === "all" || named === id || instances.some((each) => each.id === named);
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

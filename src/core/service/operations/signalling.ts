/** Signals that are sent by hand. */
import { ProcmanError } from "../../base/errors.ts";
import type { AnySignal } from "../../base/signals.ts";
import type { Signalling } from "../../contract/control.ts";
import { isCollective } from "../../contract/groups.ts";
import { signalOf } from "../../os/signal-name.ts";
import type { Process } from "../../supervisor/process.ts";
import type { RecordCache } from "../reporting/record-cache.ts";
import type { KeeperSpawner } from "../spawn/spawner.ts";

/** In place of a signal: the `reloadSignal` of each process. */
const RELOAD = "reload";

type SignalOf = (process: Process) => readonly [AnySignal, "leader" | undefined];

/**
 * Signals every run of these processes that has a pid.
 *
 * @throws {ProcmanError} `input-invalid`; `reload-unsupported`; `process-not-running` if none has one
 */
export function signalRuns(
  found: readonly Process[],
  id: string,
  signalling: Signalling,
  { spawner, records }: { readonly spawner: Pick<KeeperSpawner, "signal">; readonly records: Pick<RecordCache, "of"> },
): void {
  const isReload = signalling.signal === RELOAD;
  const signalFor = isReload ? reloadOf(found, id) : byName(signalling);
  const runs = found.flatMap((process) =>
    process.runs
      .filter(({ state }) => "pid" in state && !("ending" in state))
      .map(({ slot, run }) => ({ slot, run, process })),
  );
  const [first] = found;
  if (runs.length === 0 && first !== undefined) {
    const members = isCollective(id) ? "processes" : "instances";
    const why = found.length === 1 ? `it ${records.of(first).reason}` : `none of its ${members} is running`;
    const what = isReload ? "reload" : "signal";
    throw new ProcmanError(
      "process-not-running",
      `Cannot ${what} "${id}": ${id === "all" ? "no process is running" : why}`,
    );
  }
  for (const { slot, run, process } of runs) spawner.signal(slot, run, ...signalFor(process));
}

function byName({ signal: written, to }: Signalling): SignalOf {
  const signal = signalOf(written, "body.signal");
  return ({ definition: { policy } }) => [signal, (to ?? policy.killMode) === "leader" ? "leader" : undefined];
}

/** To the main process: it tells its children itself, and those that don't handle the signal would end. */
function reloadOf(found: readonly Process[], id: string): SignalOf {
  const other = found.find(({ definition: { policy } }) => policy.reloadSignal === undefined);
  if (other !== undefined)
    throw new ProcmanError(
      "reload-unsupported",
      `Cannot reload "${id}": ${id === other.id ? "it" : `"${other.id}"`} has no "reloadSignal"; set that if the program re-reads its configuration on a signal; else "procman restart ${id}" restarts it`,
    );
  return ({ definition: { policy } }) => [policy.reloadSignal ?? "SIGHUP", "leader"];
}

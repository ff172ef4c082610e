/**
 * An end that was cut off: everything was killed while it was under way, as by the time limit of an init system. The
 * next `procman run` is a new request. It starts what starts with procman; what has not ended yet ends first.
 */
import type { Config } from "../../config/spec.ts";
import { sleeps } from "../../supervisor/definition.ts";
import type { ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { isIdle, isStopping } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";
import { definitionOf } from "../spec-registry.ts";
import { systemClock } from "../system-clock.ts";
import type { LastingState } from "./lasting-state.ts";
import { type KeeperSnapshot, type RecoveredState, reconcile } from "./reconcile.ts";

export function recover(
  snapshot: KeeperSnapshot,
  config: Config,
  { notes, log }: Pick<Services, "notes" | "log">,
  lasting: LastingState,
): RecoveredState {
  const recovered = reconcile(snapshot, config);
  if (!notes.isEndCutOff) return recovered;
  log.info("the end before this start was cut off: what starts with procman starts now");
  const starting = config.processes
    .map(definitionOf)
    .filter(({ id, autostart }) => autostart && !lasting.isDisabled(id));
  const startOf = new Map(
    starting.map((definition) => [definition.id, sleeps(definition) ? "sleep" : "start"] as const),
  );
  return { ...recovered, snapshots: afterCutOffEnd(recovered.snapshots, startOf) };
}

/** What becomes of a process that starts with procman. */
type Beginning = "start" | "sleep";

/** `startOf`: by id, of the processes that start with procman. */
export function afterCutOffEnd(
  snapshots: ReadonlyMap<string, ProcessSnapshot>,
  startOf: ReadonlyMap<string, Beginning>,
): ReadonlyMap<string, ProcessSnapshot> {
  return new Map(
    [...snapshots].map(([id, { held: _, ...snapshot }]) => {
      const slots = Object.entries(snapshot.slots).map(([slot, state]) => [
        slot,
        next(state, slot === id ? startOf.get(id) : undefined),
      ]);
      return [id, { ...snapshot, blocked: false, slots: Object.fromEntries(slots) as ProcessSnapshot["slots"] }];
    }),
  );
}

function next(state: SlotState, beginning: Beginning | undefined): SlotState {
  const { run } = state;
  if (isStopping(state))
    return beginning === "sleep"
      ? { ...state, next: "idle", cause: "idle" }
      : { ...state, next: beginning === "start" ? "start" : "idle" };
  if (!isIdle(state) || beginning === undefined) return state;
  if (beginning === "start") return { status: "waiting", run, restarts: 0 };
  return { status: "idle", run, restarts: 0, outcome: { kind: "asleep", since: systemClock.now() } };
}

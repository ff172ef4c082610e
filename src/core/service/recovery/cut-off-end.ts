/**
 * An end that was cut off: everything was killed while it was under way, as by the time limit of an init system. The
 * next `procman run` is a new request. It starts what starts with procman; what has not ended yet ends first.
 */
import type { Config } from "../../config/spec.ts";
import type { ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { isIdle, isStopping } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";
import { definitionOf } from "../spec-registry.ts";
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
  const starting = config.processes.filter((spec) => definitionOf(spec).autostart && !lasting.isDisabled(spec.id));
  return { ...recovered, snapshots: afterCutOffEnd(recovered.snapshots, new Set(starting.map(({ id }) => id))) };
}

/** `starting`: ids of the processes that start with procman. */
export function afterCutOffEnd(
  snapshots: ReadonlyMap<string, ProcessSnapshot>,
  starting: ReadonlySet<string>,
): ReadonlyMap<string, ProcessSnapshot> {
  return new Map(
    [...snapshots].map(([id, { held: _, ...snapshot }]) => {
      const slots = Object.entries(snapshot.slots).map(([slot, state]) => [
        slot,
        next(state, slot === id && starting.has(id)),
      ]);
      return [id, { ...snapshot, blocked: false, slots: Object.fromEntries(slots) as ProcessSnapshot["slots"] }];
    }),
  );
}

function next(state: SlotState, starts: boolean): SlotState {
  if (isStopping(state)) return { ...state, next: starts ? "start" : "idle" };
  return isIdle(state) && starts ? { status: "waiting", run: state.run, restarts: 0 } : state;
}

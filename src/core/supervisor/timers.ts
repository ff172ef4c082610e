/** The deadlines of the machine in `machine.ts`, derived from its state. */
import type { Policy } from "./restart-policy.ts";
import type { RunningState, SlotState, Timer } from "./states.ts";

/** The deadlines of a state. The driver arms these and drops all others, so that none can leak. */
export function timers(state: SlotState, policy: Policy): readonly Timer[] {
  switch (state.status) {
    case "running":
      return runTimers(state, policy);
    case "backoff":
      return [{ name: "restart", due: state.until }];
    case "stopping": {
      if (state.phase === "grace") return [{ name: "escalate", due: state.since + policy.graceMs }];
      if (state.phase === "terminate" || state.phase === "cleanup")
        return [{ name: "escalate", due: state.since + policy.terminateMs }];
      return [];
    }
    case "idle":
    case "waiting":
    case "starting":
      return [];
    default:
      return state satisfies never;
  }
}

function runTimers({ since, ready }: RunningState, { timeoutMs, readyMs = Infinity }: Policy): readonly Timer[] {
  const all: readonly Timer[] = [
    { name: "timeout", due: since + (timeoutMs || Infinity) },
    { name: "ready", due: ready ? Infinity : since + readyMs },
  ];
  return all.filter(({ due }) => due < Infinity);
}

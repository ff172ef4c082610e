/** Why a process is in its state, in one sentence. */
import type { Instance } from "../supervisor/states.ts";
import { describe, duration, ofLimit, type Subject, usedUp, whyNot } from "./narrator.ts";

export function reasonOf(state: Instance, { policy, blocked }: Subject, now: number): string {
  switch (state.status) {
    case "idle":
      return idleReason(state, { policy, blocked });
    case "waiting":
      return "waits for what it depends on";
    case "starting":
      return "is being started";
    case "running":
      return state.restarts === 0 ? "runs" : `runs, restarted ${state.restarts === 1 ? "once" : `${state.restarts} times`}`;
    case "stopping":
      return stoppingReason(state);
    case "backoff":
      return `${describe(state.ending)}, restart ${state.restarts + 1}${ofLimit(policy)} in ${duration(Math.max(0, state.until - now))}`;
    default:
      return state satisfies never;
  }
}

function idleReason({ outcome }: Instance & { readonly status: "idle" }, { policy, blocked }: Subject): string {
  switch (outcome.kind) {
    case "never-started":
      return "was not started yet";
    case "stopped":
      return outcome.ending === undefined ? "was stopped" : `was stopped; it ${describe(outcome.ending)}`;
    case "finished":
      return "finished by itself with code 0";
    case "failed":
      return `${describe(outcome.ending)}; ${whyNot(outcome.ending, policy, blocked)}`;
    case "exhausted":
      return `${describe(outcome.ending)}; ${usedUp(policy)}`;
    default:
      return outcome satisfies never;
  }
}

function stoppingReason(state: Instance & { readonly status: "stopping" }): string {
  const causes = {
    operator: "is being stopped",
    terminate: "is being stopped by its schedule",
    timeout: "has run for its timeout and is being stopped",
    watch: "is being stopped for a changed file",
    itself: "has ended; what it left behind is being ended",
  } as const;
  const phases = {
    spawning: "",
    grace: ", has time to finish by itself",
    terminate: ", has got SIGTERM",
    kill: ", has got SIGKILL",
    sweep: "",
    "sweep-kill": "",
  } as const;
  return `${causes[state.cause]}${phases[state.phase]}${state.next === "start" ? ", and starts again then" : ""}`;
}

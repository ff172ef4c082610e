/** Whether a process that was started or restarted is up, has failed, or is still on its way. */
import type { Incident } from "../../contract/records.ts";
import type { Process } from "../../supervisor/process.ts";
import { minUptimeOf } from "../../supervisor/restart-policy.ts";
import type { SlotState } from "../../supervisor/states.ts";

/** A start that fails for lack of a socket or of processes is repeated for this time. Milliseconds. */
const UNSTARTABLE_MS = 1_000;

/** A number: it is running; it counts as up if it still does after this many milliseconds. */
export type StartVerdict = "up" | "failed" | "pending" | number;

export class StartWatch {
  readonly #process: Process;
  readonly #lastCause: () => Incident["cause"] | undefined;
  readonly #since = performance.now();
  /** More restarts than these mean that a run has failed since. */
  #restarts: number;

  /** Created right after the start was requested: that clears the count, unless the process was running already. */
  constructor(process: Process, lastCause: () => Incident["cause"] | undefined = () => undefined) {
    this.#process = process;
    this.#lastCause = lastCause;
    this.#restarts = Math.max(0, ...process.states.map(({ status, restarts }) => (status === "running" ? restarts : 0)));
  }

  verdict(): StartVerdict {
    const { states, isIdle, definition } = this.#process;
    if (this.#mayStartYet()) return "pending";
    if (states.some((state) => this.#hasFailed(state))) return "failed";
    if (isIdle) return states.some(isFinished) ? "up" : "failed";
    if (!states.some(({ status }) => status === "running") || !states.every(isSettled)) return "pending";
    const restMs = definition.policy.readyMs === undefined ? minUptimeOf(definition.policy) - this.#process.uptimeMs : 0;
    return restMs > 0 ? restMs : "up";
  }

  /** It could not be started, for example because another instance of its cluster has not ended yet; the policy tries again. */
  #mayStartYet(): boolean {
    if (this.#lastCause() !== "unstartable" || performance.now() - this.#since > UNSTARTABLE_MS) return false;
    const [state] = this.#process.states;
    if (state === undefined || state.status === "idle" || state.status === "stopping") return false;
    this.#restarts = Math.max(this.#restarts, state.restarts);
    return state.status !== "running";
  }

  /** While it is being stopped it has the count of its earlier runs. */
  #hasFailed({ status, restarts }: SlotState): boolean {
    return status === "backoff" || (restarts > this.#restarts && status !== "stopping" && status !== "idle");
  }
}

/** A short job may have finished already. */
function isFinished(state: SlotState): boolean {
  return state.status === "idle" && state.outcome.kind === "finished";
}

function isSettled(state: SlotState): boolean {
  return state.status === "idle" || (state.status === "running" && state.ready);
}

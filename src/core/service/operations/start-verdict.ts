/** Whether a process that was started or restarted is up, has failed, or is still on its way. */
import type { Incident } from "../../contract/records.ts";
import type { Process } from "../../supervisor/process.ts";
import { minUptimeOf } from "../../supervisor/restart-policy.ts";
import type { SlotState } from "../../supervisor/states.ts";
import {
  hasFinished,
  isIdle,
  isInBackoff,
  isReady,
  isRunning,
  isStopping,
  isUnhealthy,
} from "../../supervisor/verdict.ts";
import { hasLeftClients, type ServingPorts, ServingTime } from "./serving.ts";

/** A start that fails for lack of a socket or of processes is repeated for this time. Milliseconds. */
const UNSTARTABLE_MS = 1_000;

/** A number: it is running; look again after this many milliseconds. */
export type StartVerdict = "up" | "failed" | "pending" | number;

/** What a watch knows beside the process. */
export type StartSource = ServingPorts & {
  /** How its latest run has ended. */
  readonly lastEnd: (id: string) => Pick<Incident, "cause" | "reason"> | undefined;
};

export class StartWatch {
  readonly #process: Process;
  readonly #source: StartSource;
  readonly #serving: ServingTime;
  readonly #since = performance.now();
  /** More restarts than these mean that a run has failed since. */
  #restarts: number;

  /** An earlier run may be unhealthy. */
  readonly #run: number;

  /** Created right after the start was requested: that clears the count, unless the process was running already. */
  constructor(process: Process, source: StartSource) {
    this.#process = process;
    this.#source = source;
    this.#serving = new ServingTime(source);
    const running = process.states.filter(isRunning);
    this.#run = Math.max(0, ...running.map(({ run }) => run));
    this.#restarts = Math.max(0, ...running.map(({ restarts }) => restarts));
  }

  verdict(): StartVerdict {
    const { states, id } = this.#process;
    if (this.#mayStartYet()) return "pending";
    if (states.some((state) => this.#hasFailed(state)) || hasLeftClients(this.#process, this.#source.spec(id)))
      return "failed";
    // A short job may have finished already.
    if (this.#process.isIdle) return states.some(hasFinished) ? "up" : "failed";
    if (!states.some(isRunning) || !states.every((state) => isIdle(state) || isReady(state))) return "pending";
    const restMs = this.#restMs();
    return restMs > 0 ? restMs : "up";
  }

  /** An instance must serve for its `minUptimeMs`, another process must be ready or run for that long. */
  #restMs(): number {
    const { id, uptimeMs, definition } = this.#process;
    const minUptimeMs = minUptimeOf(definition.policy);
    if (this.#source.spec(id).cluster !== undefined) return this.#serving.restMs(this.#process, minUptimeMs);
    return definition.policy.readyMs === undefined ? minUptimeMs - uptimeMs : 0;
  }

  /** Whether the policy tries again, as the process could not be started: another instance of its cluster may not have ended yet. */
  #mayStartYet(): boolean {
    if (
      this.#source.lastEnd(this.#process.id)?.cause !== "unstartable" ||
      performance.now() - this.#since > UNSTARTABLE_MS
    )
      return false;
    const [state] = this.#process.states;
    if (state === undefined || isIdle(state) || isStopping(state)) return false;
    this.#restarts = Math.max(this.#restarts, state.restarts);
    return !isRunning(state);
  }

  /** While it is being stopped it has the count of its earlier runs. */
  #hasFailed(state: SlotState): boolean {
    if (isInBackoff(state) || (isUnhealthy(state) && state.run !== this.#run)) return true;
    return state.restarts > this.#restarts && !isStopping(state) && !isIdle(state);
  }
}

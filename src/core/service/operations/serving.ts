/** Whether an instance of a cluster does its work, and for how long it has. */
import { hasCommonPort } from "../../config/instances.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { Process } from "../../supervisor/process.ts";
import { hasFinished, isRunning } from "../../supervisor/verdict.ts";

/** `watch` calls after each change, until the returned function is called. */
export type ChangeSource = { readonly watch: (call: () => void) => () => void };

export type ServingPorts = {
  readonly spec: (id: string) => ProcessSpec;
  readonly balancing: ChangeSource & {
    /** Whether it gets connections: from the load balancer, or from the shared socket. */
    readonly accepts: (id: string) => boolean;
  };
};

/** Interval at which an instance that does not serve yet is looked at again, beside each change. Milliseconds. */
const LOOK_MS = 500;

/** Measures how long the present run of a process has served. */
export class ServingTime {
  readonly #ports: ServingPorts;
  #run: number | undefined;
  #since = 0;

  constructor(ports: ServingPorts) {
    this.#ports = ports;
  }

  get isServing(): boolean {
    return this.#run !== undefined;
  }

  /** Milliseconds after which to look again; 0 or less: it has served for `minUptimeMs`. */
  restMs(process: Process, minUptimeMs: number): number {
    const run = this.#runServing(process);
    if (run !== this.#run) [this.#run, this.#since] = [run, performance.now()];
    return run === undefined ? LOOK_MS : this.#since + minUptimeMs - performance.now();
  }

  /** The number of its run, if that serves. An instance does when its first health check has succeeded, and it gets connections. */
  #runServing({ id, states: [state] }: Process): number | undefined {
    if (!isRunning(state) || !state.ready) return undefined;
    const { cluster, health } = this.#ports.spec(id);
    if (cluster === undefined) return state.run;
    const isWell = health === undefined || state.healthy === true;
    return isWell && this.#ports.balancing.accepts(id) ? state.run : undefined;
  }
}

/** Whether it has ended by itself, as a job does that is done, although clients reach it by a common port. */
export function hasLeftClients({ states }: Process, spec: ProcessSpec): boolean {
  return hasCommonPort(spec) && states.some(hasFinished);
}

/** Ports of processes that another program holds, as far as the specification names the port. */
import type { ProcessSpec } from "../../config/spec.ts";
import { holderBeside, strangerOn } from "../../os/port-owner.ts";
import { processEnvironment } from "../../os/process-stat.ts";
import type { Occupied } from "../../supervisor/states.ts";
import { type LogLine, warn } from "../reporting/lifecycle-messages.ts";

/** The port that its runs should listen on, as far as the specification says. */
function portOf({ cluster, share, ready, health }: Pick<ProcessSpec, "cluster" | "share" | "ready" | "health">): number | undefined {
  // A shared socket belongs to all instances.
  if (share !== undefined) return undefined;
  const probed = ready?.kind === "port" ? ready : health?.probe.kind === "port" ? health.probe : undefined;
  return cluster?.port ?? probed?.port;
}

/** The problem if another program holds the process's port, and so would answer the probe. `port`: of the probe. */
export function programAtPort(spec: ProcessSpec, port: number | undefined, leader: number): string | undefined {
  const isItsOwn = port !== undefined && port === portOf(spec);
  const by = isItsOwn ? strangerOn(port, leader) : undefined;
  return by === undefined ? undefined : `its port ${port} is held by ${by}; end that, or choose another port`;
}

/** The program that holds the port of a run that has ended, and is not part of that run. */
export function occupiedPortOf(spec: ProcessSpec, marker: string): Occupied | undefined {
  const port = portOf(spec);
  if (port === undefined) return undefined;
  const isOwn = (pid: number): boolean => processEnvironment(pid)?.includes(`PROCMAN_RUN_ID=${marker}`) === true;
  const by = holderBeside(port, isOwn);
  return by === undefined ? undefined : { port, by };
}

/** Interval of checks whether the other program still holds the port. Milliseconds. */
const RECHECK_MS = 500;

/** A running instance. */
export type InstancePort = { readonly spec: ProcessSpec; readonly pid: number };

export type PortConflictsPorts = {
  /** A conflict has appeared or is over. */
  readonly onChange: () => void;
  readonly write: (id: string, line: LogLine) => void;
};

type ObservedPort = { readonly pid: number; readonly problem: string | undefined; readonly isLogged?: boolean };

/** Other programs on the ports of instances: while they hold a port, the load balancer sends no connections to it. */
export class PortConflicts {
  readonly #find: (id: string) => InstancePort | undefined;
  readonly #ports: PortConflictsPorts;
  readonly #observed = new Map<string, ObservedPort>();
  #timer: NodeJS.Timeout | undefined;

  constructor(find: (id: string) => InstancePort | undefined, ports: PortConflictsPorts) {
    this.#find = find;
    this.#ports = ports;
  }

  /** The conflict of this instance; undefined: none. Each run is checked once, and again while there is a conflict. */
  of(id: string): string | undefined {
    const pid = this.#find(id)?.pid;
    if (pid === undefined) this.#observed.delete(id);
    else if (this.#observed.get(id)?.pid !== pid) this.check(id);
    return this.#observed.get(id)?.problem;
  }

  /** Checks which program accepts connections on the port. A conflict is logged when it is found twice. */
  check(id: string): string | undefined {
    const found = this.#find(id);
    if (found === undefined) {
      this.#observed.delete(id);
      return undefined;
    }
    const { spec, pid } = found;
    const known = this.#observed.get(id);
    const problem = programAtPort(spec, spec.cluster?.port, pid);
    const isSame = known?.pid === pid && known.problem === problem;
    if (isSame && problem !== undefined && known.isLogged !== true) this.#ports.write(id, warn(`runs, but ${problem}`));
    this.#observed.set(id, { pid, problem, isLogged: isSame });
    if (known?.pid === pid && !isSame) this.#ports.onChange();
    if (problem !== undefined) this.#arm();
    return problem;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#observed.clear();
  }

  #arm(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const [id, { problem }] of this.#observed) if (problem !== undefined) this.check(id);
    }, RECHECK_MS).unref();
  }
}

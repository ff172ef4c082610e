/** Ports of processes that somebody else has: who, told from what the specification says of them. */
import type { ProcessSpec } from "../../config/spec.ts";
import { holderBeside, strangerOn } from "../../os/port-owner.ts";
import { processEnvironment } from "../../os/process-stat.ts";
import type { Occupied } from "../../supervisor/states.ts";
import { type LogLine, warn } from "../reporting/lifecycle-messages.ts";

/** Where its runs are to listen, as far as it is said. */
function portOf({ cluster, share, ready, health }: Pick<ProcessSpec, "cluster" | "share" | "ready" | "health">): number | undefined {
  // A shared socket is everybody's.
  if (share !== undefined) return undefined;
  const probed = ready?.kind === "port" ? ready : health?.probe.kind === "port" ? health.probe : undefined;
  return cluster?.port ?? probed?.port;
}

/** Why an answer from there is none of this run: another program gives it. `port`: where it was asked. */
export function programAtPort(spec: ProcessSpec, port: number | undefined, leader: number): string | undefined {
  const isItsOwn = port !== undefined && port === portOf(spec);
  const by = isItsOwn ? strangerOn(port, leader) : undefined;
  return by === undefined ? undefined : `its port ${port} is held by ${by}; end that, or choose another port`;
}

/** Who has the port of a run that has ended, and is none of that run. */
export function occupiedPortOf(spec: ProcessSpec, marker: string): Occupied | undefined {
  const port = portOf(spec);
  if (port === undefined) return undefined;
  const isOwn = (pid: number): boolean => processEnvironment(pid)?.includes(`PROCMAN_RUN_ID=${marker}`) === true;
  const by = holderBeside(port, isOwn);
  return by === undefined ? undefined : { port, by };
}

/** Foreign programs on the ports of instances: the load balancer sends nobody there while they have them. */

/** They may have ended; and a run that ends for them says so itself. Milliseconds. */
const RECHECK_MS = 500;

/** It runs. */
export type InstancePort = { readonly spec: ProcessSpec; readonly pid: number };

export type PortConflictsPorts = {
  /** Some are gone, or have come. */
  readonly onChange: () => void;
  readonly write: (id: string, line: LogLine) => void;
};

type ObservedPort = { readonly pid: number; readonly problem: string | undefined; readonly isLogged?: boolean };

export class PortConflicts {
  readonly #find: (id: string) => InstancePort | undefined;
  readonly #ports: PortConflictsPorts;
  readonly #observed = new Map<string, ObservedPort>();
  #timer: NodeJS.Timeout | undefined;

  constructor(find: (id: string) => InstancePort | undefined, ports: PortConflictsPorts) {
    this.#find = find;
    this.#ports = ports;
  }

  /** What is wrong with the port of this one; undefined: nothing. Each run is looked at once. */
  of(id: string): string | undefined {
    const pid = this.#find(id)?.pid;
    if (pid === undefined) this.#observed.delete(id);
    else if (this.#observed.get(id)?.pid !== pid) this.check(id);
    return this.#observed.get(id)?.problem;
  }

  /** Somebody accepts connections there: is it this one? */
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

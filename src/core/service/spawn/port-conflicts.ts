/** Ports of processes that another program holds, as far as the specification names the port. */
import { ownPort } from "../../config/cluster-variables.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { Probe, ReadyProbe } from "../../contract/probe-spec.ts";
import { PortOwnership, type PortProblem } from "../../os/port-ownership.ts";
import { hasEnded } from "../../os/process-stat.ts";
import { warn } from "../log-line.ts";
import type { Log } from "../services.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "::1", "[::1]"]);

/** The port that its runs should listen on, as far as the specification says. */
export function portOf(spec: Pick<ProcessSpec, "cluster" | "port" | "share" | "ready" | "health">): number | undefined {
  const { share, ready, health } = spec;
  // A shared socket belongs to all instances.
  if (share !== undefined) return undefined;
  const probed = ready?.kind === "port" ? ready : health?.probe.kind === "port" ? health.probe : undefined;
  return ownPort(spec) ?? probed?.port;
}

/** Returns a function that says why an answer to a probe of this run can't be the run's; undefined if it can. */
export function objectionTo(probe: ReadyProbe | Probe, spec: ProcessSpec, leader: number): () => string | undefined {
  const isNear = probe.kind === "port" || (probe.kind === "http" && LOOPBACK.has(probe.hostname));
  const ownership = isNear ? ownershipOf(spec, probe.port, leader) : undefined;
  return () => {
    const problem = ownership?.problem ?? (hasEnded(leader) ? ({ t: "ended" } as const) : undefined);
    return problem === undefined ? undefined : problemText(problem, isNear ? probe.port : 0);
  };
}

function ownershipOf(spec: ProcessSpec, port: number, leader: number): PortOwnership {
  const { user } = spec;
  return new PortOwnership({
    port,
    leader,
    isOwn: port === portOf(spec),
    ...(user === undefined ? {} : { uid: user.uid }),
  });
}

function problemText(problem: PortProblem, port: number): string {
  if (problem.t === "ended") return "it has ended";
  if (problem.t === "held") return `its port ${port} is in use by ${problem.by}; stop it, or choose another port`;
  return `it can't be looked up which program has port ${port}: procman has no free file descriptor or memory`;
}

/** The problem if another program has the port of an instance. */
function heldPortOf(spec: ProcessSpec, leader: number): string | undefined {
  const port = spec.cluster?.port;
  const problem = port === undefined ? undefined : ownershipOf(spec, port, leader).strangerOnly();
  return port !== undefined && problem?.t === "held" ? problemText(problem, port) : undefined;
}

/** Interval of checks whether the other program still holds the port. Milliseconds. */
const RECHECK_MS = 500;

/** A running instance. */
export type InstancePort = { readonly spec: ProcessSpec; readonly pid: number };

type ObservedPort = { readonly pid: number; readonly problem: string | undefined; readonly isLogged?: boolean };

/** Other programs on the ports of instances: while they hold a port, the load balancer sends no connections to it. */
export class PortConflicts {
  readonly #find: (id: string) => InstancePort | undefined;
  readonly #log: Pick<Log, "write">;
  readonly #onChange: () => void;
  readonly #observed = new Map<string, ObservedPort>();
  #timer: NodeJS.Timeout | undefined;

  /** `onChange`: a conflict has appeared or is over. */
  constructor(find: (id: string) => InstancePort | undefined, log: Pick<Log, "write">, onChange: () => void) {
    this.#find = find;
    this.#log = log;
    this.#onChange = onChange;
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
    const problem = heldPortOf(spec, pid);
    const isSame = known?.pid === pid && known.problem === problem;
    if (isSame && problem !== undefined && known.isLogged !== true) this.#log.write(id, warn(`runs, but ${problem}`));
    this.#observed.set(id, { pid, problem, isLogged: isSame });
    if (known?.pid === pid && !isSame) this.#onChange();
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

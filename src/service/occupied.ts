/** Ports of processes that somebody else has: who, told from what the specification says of them. */
import type { ProcessSpec } from "../config/spec.ts";
import { holderBeside, strangerOn } from "../os/port-holder.ts";
import { processEnvironment } from "../os/process-stat.ts";
import type { Occupied } from "../supervisor/states.ts";

/** Where its runs are to listen, as far as it is said. */
function portOf({ cluster, share, ready, health }: Pick<ProcessSpec, "cluster" | "share" | "ready" | "health">): number | undefined {
  // A shared socket is everybody's.
  if (share !== undefined) return undefined;
  const asked = ready?.kind === "port" ? ready : health?.probe.kind === "port" ? health.probe : undefined;
  return cluster?.port ?? asked?.port;
}

/** Why an answer from there is none of this run: another program gives it. `port`: where it was asked. */
export function strangerAt(spec: ProcessSpec, port: number | undefined, leader: number): string | undefined {
  const isItsOwn = port !== undefined && port === portOf(spec);
  const by = isItsOwn ? strangerOn(port, leader) : undefined;
  return by === undefined ? undefined : `its port ${port} is held by ${by}; end that, or choose another port`;
}

/** Who has the port of a run that has ended, and is none of that run. */
export function occupiedOf(spec: ProcessSpec, marker: string): Occupied | undefined {
  const port = portOf(spec);
  if (port === undefined) return undefined;
  const isOwn = (pid: number): boolean => processEnvironment(pid)?.includes(`PROCMAN_RUN_ID=${marker}`) === true;
  const by = holderBeside(port, isOwn);
  return by === undefined ? undefined : { port, by };
}

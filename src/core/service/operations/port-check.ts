/** Before a reload: whether the load balancer could open the common ports that it is to open. */
import { createServer } from "node:net";
import { ProcmanError } from "../../base/errors.ts";
import type { RunMarkers } from "../../base/run-marker.ts";
import { ownPort } from "../../config/cluster-variables.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { PlanRecord } from "../../contract/plan.ts";
import type { FrontSpec } from "../../ipc/balancer-protocol.ts";
import { holderBeside, holdersOf, whyNotListening } from "../../os/port-owner.ts";
import { processEnvironment } from "../../os/process-stat.ts";
import { definitionOf, processOf } from "../spec-registry.ts";

/** The common ports that a reload opens. `isActive`: the process runs, or is about to. */
export function addedFronts(from: Config, to: Config, isActive: (id: string) => boolean): readonly FrontSpec[] {
  const open = new Set(from.processes.map(({ front }) => front?.port));
  const added = to.processes.filter((spec) => definitionOf(spec).autostart || isActive(spec.id));
  const fronts = added.flatMap(({ front }) =>
    front === undefined || open.has(front.port) ? [] : [[front.id, front] as const],
  );
  return [...new Map(fronts).values()];
}

/** Common ports, by the id of the process that has them. */
export type HeldPorts = ReadonlyMap<string, FrontSpec>;

/**
 * Changes nothing. Returns the ports that processes hold which the reload ends, by id.
 *
 * @param before the active configuration: its own ports may become free
 * @param holderOf the process that has this port, if the reload ends it
 * @throws {ProcmanError} `reload-failed`, if another program has a port, or the address can't be used
 */
export async function checkPorts(
  fronts: readonly FrontSpec[],
  before: Config,
  holderOf: (port: number) => string | undefined,
): Promise<HeldPorts> {
  const held = new Map<string, FrontSpec>();
  const own = new Set(before.processes.flatMap(portsOf));
  for (const front of fronts) {
    const problem = await whyNotOpened(front);
    const holder = problem === undefined ? undefined : holderOf(front.port);
    if (holder !== undefined) held.set(holder, front);
    else if (problem !== undefined && !own.has(front.port))
      throw new ProcmanError(
        "reload-failed",
        `Cannot reload: the common port ${front.hostname}:${front.port} of "${front.id}" can't be opened: ${problem}; nothing was changed`,
      );
  }
  return held;
}

/** The process whose run has the port; undefined: none of these, or another program has it, too. */
export function holderAmong(ids: ReadonlySet<string>, port: number, markers: RunMarkers): string | undefined {
  let holder: string | undefined;
  const isOneOfThem = (pid: number): boolean => {
    const marker = markers.in(processEnvironment(pid) ?? "");
    const id = marker === undefined ? undefined : processOf(marker.slot);
    if (id !== undefined && ids.has(id)) holder = id;
    return holder !== undefined;
  };
  return holderBeside(port, isOneOfThem) === undefined ? holder : undefined;
}

/** The processes of procman that have these ports, by one look. */
export function idsByPort(ports: ReadonlySet<number>, markers: RunMarkers): ReadonlyMap<number, readonly string[]> {
  const idOf = (pid: number): readonly string[] => {
    const marker = markers.in(processEnvironment(pid) ?? "");
    return marker === undefined ? [] : [processOf(marker.slot)];
  };
  return new Map([...holdersOf(ports)].map(([port, pids]) => [port, [...new Set(pids.flatMap(idOf))]]));
}

/** The plan that says when these ports open. */
export function withHeldPorts(plan: PlanRecord, held?: HeldPorts): PlanRecord {
  if (held === undefined || held.size === 0) return plan;
  const processes = plan.processes.map((change) => {
    const front = held.get(change.process);
    if (front === undefined) return change;
    const gap = `the common port ${front.port} of "${front.id}" opens when it has ended`;
    return { ...change, reason: `${change.reason}; ${gap}` };
  });
  return { ...plan, processes };
}

/** Ports of procman's own, which may become free by the reload. */
function portsOf(spec: ProcessSpec): readonly (number | undefined)[] {
  const { front, share, ready, health } = spec;
  const probes = [ready, health?.probe].map((probe) =>
    probe !== undefined && "port" in probe ? probe.port : undefined,
  );
  return [front?.port, share?.port, ownPort(spec), ...probes];
}

function whyNotOpened({ hostname, port }: FrontSpec): Promise<string | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", ({ code = "", message }: NodeJS.ErrnoException) =>
      resolve(whyNotListening(code, port) ?? message),
    );
    server.listen({ host: hostname, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

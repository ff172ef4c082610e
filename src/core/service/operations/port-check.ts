/** Before a reload: whether the load balancer could open the common ports that it is to open. */
import { createServer } from "node:net";
import { ProcmanError } from "../../base/errors.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { FrontSpec } from "../../ipc/balancer-protocol.ts";
import { whyNotListening } from "../../os/port-owner.ts";
import { definitionOf } from "../spec-registry.ts";

/** The common ports that a reload opens. `isActive`: the process runs, or is about to. */
export function addedFronts(from: Config, to: Config, isActive: (id: string) => boolean): readonly FrontSpec[] {
  const known = new Set(from.processes.flatMap(portsOf));
  const added = to.processes.filter((spec) => definitionOf(spec).autostart || isActive(spec.id));
  const fronts = added.flatMap(({ front }) =>
    front === undefined || known.has(front.port) ? [] : [[front.id, front] as const],
  );
  return [...new Map(fronts).values()];
}

/**
 * Changes nothing.
 *
 * @throws {ProcmanError} `reload-failed`, if another program has a port, or the address can't be used
 */
export async function checkPorts(fronts: readonly FrontSpec[]): Promise<void> {
  for (const front of fronts) {
    const problem = await whyNotOpened(front);
    if (problem !== undefined)
      throw new ProcmanError(
        "reload-failed",
        `Cannot reload: the common port ${front.hostname}:${front.port} of "${front.id}" can't be opened: ${problem}; nothing was changed`,
      );
  }
}

/** Ports of procman's own, which may become free by the reload. */
function portsOf({ front, share, cluster, ready, health }: ProcessSpec): readonly (number | undefined)[] {
  const probes = [ready, health?.probe].map((probe) =>
    probe !== undefined && "port" in probe ? probe.port : undefined,
  );
  return [front?.port, share?.port, cluster?.port, ...probes];
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

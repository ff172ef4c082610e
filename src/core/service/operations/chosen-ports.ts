/** Another program has got a port that procman chose for a process: a reload gives the process another one. */
import { holdersOf, named } from "../../os/port-owner.ts";
import { isOfProcman } from "../../os/running-keepers.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Services } from "../services.ts";
import type { Reloads } from "./reload.ts";

type Replacing = Pick<Reloads, "replacePort">;

/** When a run has failed for it. */
export function replaceTakenPorts({ bus }: Pick<Services, "bus">, reloads: Replacing): void {
  bus.transitions.listen(({ id, transition: { input } }) => {
    if (input.type !== "ended" || input.ending.kind === "unstartable" || input.ending.occupied?.chosen !== true) return;
    const why = whyReplaced(id, input.ending.occupied);
    // When the state is that after the end.
    setImmediate(() => void reloads.replacePort(id, why));
  });
}

/** Before a user starts these processes: the ports of those that don't run, and those where their clients come. */
export async function renewPorts(
  asked: readonly Process[],
  { specs, reloads }: Pick<Services, "specs"> & { readonly reloads: Replacing },
): Promise<void> {
  const { chosenPorts = {}, stateDir } = specs.config;
  const chosen = new Set(Object.values(chosenPorts));
  if (chosen.size === 0) return;
  const ids = new Map<number, string>();
  for (const { id, isIdle } of asked) {
    if (!isIdle) continue;
    const { front } = specs.of(id);
    for (const [owner, port] of [[id, chosenPorts[id]] as const, [front?.id ?? id, front?.port] as const])
      if (port !== undefined && chosen.has(port)) ids.set(port, owner);
  }
  // The load balancer has the port of one that sleeps, or of which other instances run.
  const isOwn = (pid: number): boolean => isOfProcman(pid, stateDir);
  const [taken] = ids.size === 0 ? [] : [...holdersOf(new Set(ids.keys()))].filter(([, pids]) => !pids.some(isOwn));
  if (taken === undefined) return;
  const [port, [pid]] = taken;
  const by = pid === undefined ? "another program" : named(pid);
  // It looks at the ports of all that don't run.
  const id = ids.get(port) ?? "";
  await reloads.replacePort(id, whyReplaced(id, { port, by }));
}

function whyReplaced(id: string, { port, by }: { readonly port: number; readonly by: string }): string {
  return `port ${port} of "${id}" is in use by ${by}`;
}

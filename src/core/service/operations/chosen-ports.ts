/** Another program has got a port that procman chose for a process: a reload gives the process another one. */
import { holdersOf, named } from "../../os/port-owner.ts";
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

/** Before a user starts these processes: the ports of those that don't run. */
export async function renewPorts(
  asked: readonly Process[],
  { specs, reloads }: Pick<Services, "specs"> & { readonly reloads: Replacing },
): Promise<void> {
  const { chosenPorts } = specs.config;
  if (chosenPorts === undefined) return;
  const ids = new Map<number, string>();
  for (const { id, isIdle } of asked) if (isIdle && chosenPorts[id] !== undefined) ids.set(chosenPorts[id], id);
  const [taken] = ids.size === 0 ? [] : holdersOf(new Set(ids.keys()));
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

/** A run has failed because another program has the port that was chosen for it: a reload gives it another one. */
import type { Services } from "../services.ts";
import type { Reloads } from "./reload.ts";

export function replaceTakenPorts(
  { bus, specs }: Pick<Services, "bus" | "specs">,
  reloads: Pick<Reloads, "replacePort">,
): void {
  bus.transitions.listen(({ id, transition: { input } }) => {
    if (input.type !== "ended" || input.ending.kind === "unstartable") return;
    const { occupied } = input.ending;
    if (occupied === undefined || occupied.port !== specs.config.chosenPorts?.[id]) return;
    const why = `port ${occupied.port} of "${id}" is in use by ${occupied.by}`;
    // When the state is that after the end.
    setImmediate(() => void reloads.replacePort(id, why));
  });
}

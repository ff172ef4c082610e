/** A run has failed because another program has the port that was chosen for it: a reload gives it another one. */
import type { Services } from "../services.ts";
import type { Reloads } from "./reload.ts";

/** With a changed file, only its user reloads. */
export function replaceTakenPorts(
  { bus, specs, log }: Pick<Services, "bus" | "specs" | "log">,
  reloads: Pick<Reloads, "unapplied" | "reloadWhenFree">,
): void {
  bus.transitions.listen(({ id, transition: { input } }) => {
    if (input.type !== "ended" || input.ending.kind === "unstartable") return;
    const { occupied } = input.ending;
    if (occupied === undefined || occupied.port !== specs.config.chosenPorts?.[id]) return;
    const why = `port ${occupied.port} of "${id}" is in use by ${occupied.by}`;
    // When the state is that after the end.
    setImmediate(() => {
      if (reloads.unapplied === undefined) void reloads.reloadWhenFree(why);
      else log.warn(`${why}; "procman reload" gives it another one, and applies what has changed in the file`);
    });
  });
}

/** Which processes belong to which run: members of its session or group, descendants, and whoever carries its mark. */
import { processEnvironment } from "./process-stat.ts";
import type { ProcessUsage } from "./process-usage.ts";

/** The owner of each process that has one. `roots`: owners by the pid of their leader. */
export function ownersOf(
  usages: readonly ProcessUsage[],
  roots: ReadonlyMap<number, string>,
  marked: (usage: ProcessUsage) => string | undefined,
): ReadonlyMap<ProcessUsage, string> {
  const byPid = new Map(usages.map((usage) => [usage.pid, usage]));
  const known = new Map<ProcessUsage, string | undefined>();
  const ownerOf = (usage: ProcessUsage): string | undefined => {
    if (known.has(usage)) return known.get(usage);
    // A circle is possible, as the look takes a while and pids are used again.
    known.set(usage, undefined);
    const { pid, session, group, parent } = usage;
    const above = byPid.get(parent);
    const owner =
      roots.get(pid) ?? roots.get(session) ?? roots.get(group) ?? (above === undefined ? undefined : ownerOf(above)) ?? marked(usage);
    known.set(usage, owner);
    return owner;
  };
  const owners = new Map<ProcessUsage, string>();
  for (const usage of usages) {
    const owner = ownerOf(usage);
    if (owner !== undefined) owners.set(usage, owner);
  }
  return owners;
}

/** Reads the mark of each process once: an environment doesn't change. */
export class Marks {
  readonly #pattern: RegExp;
  readonly #read: (pid: number) => string | undefined;
  #known = new Map<string, string | undefined>();
  #next = new Map<string, string | undefined>();

  /** `mark`: what stands behind the `@` of `PROCMAN_RUN_ID`. */
  constructor(mark: string, read = processEnvironment) {
    this.#pattern = new RegExp(`(?:^|[\\0 ])PROCMAN_RUN_ID=([^\\0 ]*)\\.\\d+@${mark}(?:$|[\\0 ])`);
    this.#read = read;
  }

  /** The slot that it was started for. */
  slotOf({ pid, startTime }: ProcessUsage): string | undefined {
    const who = `${pid} ${startTime}`;
    const slot = this.#known.has(who) ? this.#known.get(who) : this.#pattern.exec(this.#read(pid) ?? "")?.[1];
    this.#next.set(who, slot);
    return slot;
  }

  /** A look is over: whoever was not asked for in it is forgotten. */
  turn(): void {
    this.#known = this.#next;
    this.#next = new Map();
  }
}

/** How the processes of the balancer share the work: whoever comes is served by the process that accepts first, and that may be the same one each time. */

/** Of one process since its last look. */
export type Load = {
  /** CPU time used, as a share of a core. */
  readonly cpu: number;
  /** Connections that last, and through which something has flowed. */
  readonly busy: number;
  /** Further connections that it may have. */
  readonly room: number;
};

/** So many connections go from one process to another, by their indices. */
export type Transfer = { readonly from: number; readonly to: number; readonly count: number };

/** A process with less to do keeps up easily. Share of a core. */
const LOADED = 0.2;
/** What is closer together than this is even. Share of a core. */
const APART = 0.1;
/** At a time. */
const MOST = 32;

export const NO_LOAD: Load = { cpu: 0, busy: 0, room: 0 };

/**
 * What would make the most and the least loaded process even. undefined: they are, or a whole connection would be too much.
 *
 * Where no processor has time left, a process gets less than it could use, and its CPU time doesn't tell how much more it has to
 * do than another: then its connections do.
 */
export function transferOf(loads: readonly Load[]): Transfer | undefined {
  const [from, most] = extreme(loads, (one, other) => one.cpu > other.cpu);
  const [to, least] = extreme(loads, (one, other) => one.cpu < other.cpu);
  const apart = most.cpu - least.cpu;
  if (most.cpu < LOADED || apart < APART) return undefined;
  const halfOfMore = Math.max(most.busy - least.busy, (most.busy * apart) / most.cpu) / 2;
  const count = Math.min(MOST, least.room, Math.floor(halfOfMore));
  return count <= 0 ? undefined : { from, to, count };
}

function extreme(loads: readonly Load[], beats: (one: Load, other: Load) => boolean): readonly [number, Load] {
  let best = 0;
  for (const [index, load] of loads.entries()) if (beats(load, loads[best] ?? NO_LOAD)) best = index;
  return [best, loads[best] ?? NO_LOAD];
}

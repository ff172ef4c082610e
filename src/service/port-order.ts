/** The order of a roll in which instances change their ports: as when a cluster moves from 3000 to 3001. */
import type { Config } from "../config/spec.ts";

/** Who takes a port that another of them has comes after that one; all else stays in its order. */
export function afterPorts(ids: readonly string[], before: Config, now: Config): readonly string[] {
  const taken = portsIn(now);
  const holders = new Map([...portsIn(before)].filter(([id]) => ids.includes(id)).map(([id, port]) => [port, id]));
  const isFree = (id: string): boolean => [undefined, id].includes(holders.get(taken.get(id) ?? 0));
  const [rest, sorted]: [string[], string[]] = [[...ids], []];
  while (rest.length > 0) {
    // Of those that swap their ports, one has to be the first.
    const [next = ""] = rest.splice(Math.max(0, rest.findIndex(isFree)), 1);
    for (const [port, id] of holders) if (id === next) holders.delete(port);
    sorted.push(next);
  }
  return sorted;
}

function portsIn({ processes }: Config): ReadonlyMap<string, number> {
  return new Map(processes.flatMap(({ id, cluster }) => (cluster?.port === undefined ? [] : [[id, cluster.port] as const])));
}

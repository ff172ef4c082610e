/** Which backend gets the next connection. */
import type { Strategy } from "../contract/balancer-protocol.ts";

/** A backend that may be chosen. */
export type Candidate = { readonly seed: number; readonly connections: number };

/** `turn` counts the choices. */
export type Choice = { readonly candidates: readonly Candidate[]; readonly turn: number; readonly address: string };

/** Index of the chosen one; there is at least one. */
export const choose: Readonly<Record<Strategy, (choice: Choice) => number>> = {
  "round-robin": ({ candidates, turn }) => turn % candidates.length,
  "least-connections": leastConnections,
  "ip-hash": highestScore,
};

/** Of equals, each in its turn. */
function leastConnections({ candidates, turn }: Choice): number {
  const { length } = candidates;
  let best = turn % length;
  for (let step = 1; step < length; step++) {
    const index = (turn + step) % length;
    if ((candidates[index] as Candidate).connections < (candidates[best] as Candidate).connections) best = index;
  }
  return best;
}

/** Rendezvous hashing: every client ranks all backends, so one that goes moves its own clients only, and one that comes back gets them back. */
function highestScore({ candidates, address }: Choice): number {
  const client = seedOf(sameAddress(address));
  let best = 0;
  let highest = -1;
  for (let index = 0; index < candidates.length; index++) {
    const score = mixed(client ^ (candidates[index] as Candidate).seed);
    if (score <= highest) continue;
    highest = score;
    best = index;
  }
  return best;
}

/** FNV-1a, then mixed: ids that differ in a last digit must differ in all bits. */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return mixed(hash);
}

/** An IPv4 client is the same one on an IPv6 socket. */
function sameAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/** The finaliser of MurmurHash3: each bit changes half of the others. Unsigned. */
function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Connections go from one process of the balancer to another while they are open: what comes meanwhile waits in the kernel. */
import type { Pair, Sockets } from "./pair.ts";
import type { Handle } from "./sockets.ts";

/** One half of a connection, with its socket. */
export type Half = { readonly t: "client" | "backend"; readonly front: string; readonly backend: string };

/** A pair, and whose it is. */
export type Placed = { readonly front: string; readonly backend: string; readonly pair: Pair };

/** Resolves with whether it is on its way: then the socket lives on even when it is closed here. */
export type Send = (half: Half, socket: Handle) => Promise<boolean>;

/** Gives so many of these, one after the other: each stands still for a moment only. */
export async function give(pairs: readonly Placed[], count: number, send: Send): Promise<void> {
  let left = count;
  for (const { pair, ...place } of pairs) {
    if (left === 0) return;
    const sockets = pair.pause();
    if (sockets === undefined) continue;
    if (!(await sendBoth(place, sockets, send))) return pair.resume();
    pair.close(false);
    left -= 1;
  }
}

/** Resolves with whether both are on their way. */
export async function sendBoth({ front, backend }: Omit<Placed, "pair">, sockets: Sockets, send: Send): Promise<boolean> {
  const halves = (["client", "backend"] as const).map((t) => send({ t, front, backend }, sockets[t]));
  return (await Promise.all(halves)).every(Boolean);
}

/** Puts together what comes one half after the other. */
export class Arrivals {
  #client: Handle | undefined;

  /** Both sockets, with the second. Without a file for one of them the other is closed, too. */
  add({ t }: Half, socket: Handle | undefined): Sockets | undefined {
    if (t === "client") {
      this.clear();
      this.#client = socket;
      return undefined;
    }
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined && socket !== undefined) return { client, backend: socket };
    client?.close();
    socket?.close();
    return undefined;
  }

  /** Whoever has sent the first half is gone. */
  clear(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}

/** Awaits clients on shared sockets from which nobody accepts: their clusters sleep. A client stays in the queue. */
import type { Listening } from "../../ipc/keeper-protocol.ts";
import { addressOf } from "../../os/inherited-sockets.ts";
import { isListeningHandle, onceQueued } from "../../os/server-handle.ts";
import type { KeeperLink } from "../services.ts";

/** `close`: absent: the socket is on its way. */
type Watch = { close?: () => void; hasClient: boolean };

export class QueueWatch {
  /** Whether the keeper sends copies of its sockets: one of 1.0.0 doesn't. */
  isSupported = false;
  readonly #link: Pick<KeeperLink, "send">;
  readonly #onClient: () => void;
  readonly #watches = new Map<string, Watch>();

  constructor(link: Pick<KeeperLink, "send">, onClient: () => void) {
    this.#link = link;
    this.#onClient = onClient;
  }

  /** Whether somebody waits there. If that isn't known yet, it is awaited. What can't be watched counts as a client: its start says what is wrong. */
  hasClient(listening: Listening): boolean {
    if (!this.isSupported) return true;
    const address = addressOf(listening);
    const known = this.#watches.get(address);
    if (known === undefined) {
      this.#watches.set(address, { hasClient: false });
      this.#link.send({ t: "copy", listening });
    }
    return known?.hasClient === true;
  }

  /** Ends all others. */
  retain(wanted: readonly Listening[]): void {
    const addresses = new Set(wanted.map(addressOf));
    for (const [address, { close }] of this.#watches) {
      if (addresses.has(address)) continue;
      close?.();
      this.#watches.delete(address);
    }
  }

  /** The keeper's answer. */
  take(address: string, socket: unknown): void {
    const watch = this.#watches.get(address);
    const isUsable = isListeningHandle(socket);
    if (watch === undefined || watch.close !== undefined) return isUsable ? socket.close() : undefined;
    const onClient = (): void => {
      watch.hasClient = true;
      if (this.#watches.get(address) === watch) this.#onClient();
    };
    if (isUsable) watch.close = onceQueued(socket, onClient);
    else onClient();
  }
}

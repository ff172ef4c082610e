/** The listening socket of the API on its way from service to service: the keeper holds it, so no other program can take the port meanwhile. */
import {
  apiAddress,
  type HeldSockets,
  type InheritedSocket,
  isApiAddress,
  releaseApi,
} from "../../os/inherited-sockets.ts";
import type { KeeperLink } from "../services.ts";

type Handle = { readonly fd: number };

export class KeptSocket {
  readonly #sockets: HeldSockets;
  readonly #link: Pick<KeeperLink, "send" | "sendSocket">;
  /** The one on which this service listens, while no other copy is held here. */
  #own: { readonly address: string; readonly socket: InheritedSocket } | undefined;

  /** `sockets`: copies that this process holds for a later keeper. */
  constructor(sockets: HeldSockets, link: Pick<KeeperLink, "send" | "sendSocket">) {
    this.#sockets = sockets;
    this.#link = link;
  }

  /**
   * The descriptor of the socket of the previous service, to listen on.
   *
   * @param ports the ports that will do, in the order of preference
   */
  take(hostname: string, ports: readonly (number | undefined)[]): number | undefined {
    const sockets = this.#sockets;
    for (const port of ports) {
      const address = apiAddress({ hostname, port: port ?? 0 });
      const socket = sockets.get(address);
      if (socket === undefined) continue;
      this.#hold(address, socket.fd);
      return socket.fd;
    }
    return undefined;
  }

  /** Gives the keeper a copy. It sends another one back, for a keeper that this process may have to start. */
  give(hostname: string, port: number, handle: Handle): void {
    const address = apiAddress({ hostname, port });
    this.#hold(address, handle.fd);
    this.#link.sendSocket({ t: "listening", address }, handle);
  }

  /** The API listens elsewhere: the port is free as soon as each process has closed its copy. Returns whether there was one. */
  drop(): boolean {
    const isKept = [...this.#sockets.keys()].some(isApiAddress);
    if (isKept) this.release();
    return isKept;
  }

  /** The API listens nowhere. The socket of a service that was killed may still be on its way to the keeper. */
  release(): void {
    releaseApi(this.#sockets);
    this.#own = undefined;
    this.#link.send({ t: "listening" });
  }

  /** Call before the server closes its descriptor: it is not handed on any more. */
  closed(): void {
    const { address, socket } = this.#own ?? {};
    const sockets = this.#sockets;
    if (address !== undefined && sockets.get(address) === socket) sockets.delete(address);
    this.#own = undefined;
  }

  /** The server closes this descriptor. */
  #hold(address: string, fd: number): void {
    const sockets = this.#sockets;
    const held = sockets.get(address);
    if (held !== undefined && held.fd !== fd) held.close();
    const socket = { fd, close: () => undefined };
    this.#own = { address, socket };
    sockets.set(address, socket);
  }
}

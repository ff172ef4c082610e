/** The listening sockets that clusters share: opened once, inherited by each run, and by the next keeper. */
import { spawn } from "node:child_process";
import type { Listening, SocketWord } from "../contract/keeper-protocol.ts";
import { addressOf, type KeptSocket, type KeptSockets } from "../os/kept-sockets.ts";
import { type Installation, openerOf, ownEnvironment, type Start } from "./installation.ts";

/** `problem`: why there is none. */
export type Opened = { readonly code?: string; readonly problem?: string };

/** Another process that has the sockets, too. */
type Keeping = { readonly keep: (message: SocketWord, socket?: KeptSocket) => Promise<void> };

export type SocketsOptions = {
  readonly start: Start;
  /** Where programs are taken from. */
  readonly from: () => Installation;
  /** They start the next keeper when this one is killed. */
  readonly keepers: () => readonly Keeping[];
};

export class Sockets {
  readonly #options: SocketsOptions;
  readonly #open: Map<string, KeptSocket>;
  readonly #opening = new Map<string, Promise<Opened>>();

  constructor(options: SocketsOptions) {
    this.#options = options;
    this.#open = new Map(options.start.sockets);
  }

  get all(): KeptSockets {
    return this.#open;
  }

  /** Resolves when it listens, and a successor would have it too. */
  async open(listening: Listening): Promise<Opened> {
    const address = addressOf(listening);
    if (this.fd(listening) !== undefined) return {};
    const opening = this.#opening.get(address) ?? this.#attempt(listening, address).finally(() => this.#opening.delete(address));
    this.#opening.set(address, opening);
    return opening;
  }

  /** undefined: it is to be opened first. */
  fd(listening: Listening): number | undefined {
    const address = addressOf(listening);
    return this.#opening.has(address) ? undefined : this.#open.get(address)?.fd;
  }

  /** All others are closed: nobody shall wait where nobody will answer. */
  retain(wanted: readonly Listening[]): void {
    const addresses = new Set(wanted.map(addressOf));
    for (const [address, socket] of this.#open) {
      if (addresses.has(address)) continue;
      socket.close();
      this.#open.delete(address);
      for (const each of this.#options.keepers()) void each.keep({ t: "drop", address });
    }
  }

  async #attempt({ hostname, port }: Listening, address: string): Promise<Opened> {
    const [opened, socket] = await this.#ask([...openerOf(this.#options.from()), hostname, String(port)]);
    if (socket === undefined) return opened;
    this.#open.set(address, socket);
    await Promise.all(this.#options.keepers().map((each) => each.keep({ t: "keep", address }, socket)));
    return opened;
  }

  #ask([program = "", ...args]: readonly string[]): Promise<readonly [Opened, KeptSocket | undefined]> {
    const { start, from } = this.#options;
    return new Promise((resolve) => {
      const opener = spawn(program, args, {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        env: ownEnvironment(start, from()),
      });
      const failed = (code: string, problem: string): void => resolve([{ code, problem }, undefined]);
      opener.once("message", (answer: Opened, socket: unknown) => resolve([answer, socket as KeptSocket | undefined]));
      opener.once("error", (error: NodeJS.ErrnoException) => failed(error.code ?? "EIO", error.message));
      opener.once("close", () => failed("EIO", "the process that was to open the port has ended"));
    });
  }
}

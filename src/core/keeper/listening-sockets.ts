/** The shared sockets of clusters: opened once, inherited by each run, and by the next keeper. And the socket of the API, which the first service opens and each later one inherits. */
import { spawn } from "node:child_process";
import type { Listening, ListeningSocket, SocketCopy } from "../ipc/keeper-protocol.ts";
import { addressOf, type InheritedSocket, type InheritedSockets, isApiAddress } from "../os/inherited-sockets.ts";
import { handleFor, isListeningHandle } from "../os/server-handle.ts";
import { type Installation, openerProgram, ownEnvironment, type ProgramStart } from "./programs.ts";

/** Linux takes at most 128 KiB in one argument (MAX_ARG_STRLEN): above this the opener is not told the runs. */
const MOST_ARGUMENT = 100_000;

/** `problem`: why it could not be opened. */
export type OpenedSocket = { readonly code?: string; readonly problem?: string };

/** An internal process that also holds the sockets. */
type SocketKeeper = { readonly shareSocket: (message: ListeningSocket, socket?: InheritedSocket) => Promise<void> };

export type ListeningSocketsOptions = {
  readonly start: ProgramStart;
  /** The installation of the service, which has the opener program. */
  readonly from: () => Installation;
  /** Pids of the leaders of all runs. */
  readonly leaders: () => readonly number[];
  /** Service and logger: they start the next keeper when this one is killed. */
  readonly keepers: () => readonly SocketKeeper[];
  readonly sendCopy: (message: SocketCopy, socket: InheritedSocket | undefined) => Promise<void> | undefined;
};

export class ListeningSockets {
  readonly #options: ListeningSocketsOptions;
  readonly #open: Map<string, InheritedSocket>;
  #wanted: ReadonlySet<string> = new Set();
  readonly #opening = new Map<string, Promise<OpenedSocket>>();

  constructor(options: ListeningSocketsOptions) {
    this.#options = options;
    this.#open = new Map(options.start.sockets);
  }

  get all(): InheritedSockets {
    return this.#open;
  }

  /** Resolves when it listens, and a next keeper would inherit it too. */
  async open(listening: Listening): Promise<OpenedSocket> {
    const address = addressOf(listening);
    if (this.fd(listening) !== undefined) return {};
    const opening =
      this.#opening.get(address) ?? this.#openSocket(listening, address).finally(() => this.#opening.delete(address));
    this.#opening.set(address, opening);
    return opening;
  }

  /** Opens it, if it isn't open, and sends it to the service once more; without it if that fails. */
  async copy(listening: Listening): Promise<void> {
    await this.open(listening);
    const address = addressOf(listening);
    // Its cluster may have been stopped meanwhile.
    if (!this.#wanted.has(address)) this.#drop(address);
    const socket = this.#open.get(address);
    // An earlier keeper has opened it.
    if (socket?.isBare === true) this.#open.set(address, handleFor(socket.fd));
    await this.#options.sendCopy({ t: "copy", address }, this.#open.get(address));
  }

  /** undefined: call `open` first. */
  fd(listening: Listening): number | undefined {
    const address = addressOf(listening);
    return this.#opening.has(address) ? undefined : this.#open.get(address)?.fd;
  }

  /** Holds the socket on which the API listens, in place of the one before; `address` undefined: the API listens nowhere. */
  keepApi(address: string | undefined, socket: unknown): void {
    const isUsable = address !== undefined && isListeningHandle(socket);
    for (const former of [...this.#open.keys()].filter(isApiAddress)) {
      if (isUsable && former === address) this.#open.get(former)?.close();
      else this.#drop(former);
    }
    if (!isUsable) return;
    this.#open.set(address, socket);
    for (const each of this.#options.keepers()) void each.shareSocket({ t: "keep", address }, socket);
  }

  /** Closes all others, so that no client waits on a socket without instances. */
  retain(wanted: readonly Listening[]): void {
    this.#wanted = new Set(wanted.map(addressOf));
    for (const address of [...this.#open.keys()])
      if (!this.#wanted.has(address) && !isApiAddress(address)) this.#drop(address);
  }

  #drop(address: string): void {
    this.#open.get(address)?.close();
    this.#open.delete(address);
    for (const each of this.#options.keepers()) void each.shareSocket({ t: "drop", address });
  }

  async #openSocket({ hostname, port }: Listening, address: string): Promise<OpenedSocket> {
    const { from } = this.#options;
    const leaders = this.#options.leaders().join();
    const [opened, socket] = await this.#runOpener([
      ...openerProgram(from()),
      hostname,
      String(port),
      ...(leaders.length > MOST_ARGUMENT ? [] : [leaders]),
    ]);
    if (socket === undefined) return opened;
    this.#open.set(address, socket);
    await Promise.all(this.#options.keepers().map((each) => each.shareSocket({ t: "keep", address }, socket)));
    return opened;
  }

  #runOpener([program = "", ...args]: readonly string[]): Promise<
    readonly [OpenedSocket, InheritedSocket | undefined]
  > {
    const { start, from } = this.#options;
    return new Promise((resolve) => {
      const opener = spawn(program, args, {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        env: ownEnvironment(start, from()),
      });
      const failed = (code: string, problem: string): void => resolve([{ code, problem }, undefined]);
      opener.once("message", (answer: OpenedSocket, socket: unknown) => {
        if (answer.problem !== undefined) resolve([answer, undefined]);
        else if (isListeningHandle(socket)) resolve([answer, socket]);
        else
          failed(
            "ENOTSUP",
            `Node ${process.version} doesn't pass listening sockets between processes as procman needs; use another version`,
          );
      });
      opener.once("error", (error: NodeJS.ErrnoException) => failed(error.code ?? "EIO", error.message));
      opener.once("close", () => failed("EIO", "the helper process that opens the port has ended"));
    });
  }
}

/** Listening sockets that survive the keeper: service and logger hold copies, and pass them on to a keeper that they start. */
import { closeSync } from "node:fs";
import { messagesIn } from "../base/messages.ts";

/** A listening socket from which this process doesn't accept. `isBare`: only a descriptor, which can't be sent to another process. */
export type InheritedSocket = { readonly fd: number; readonly close: () => void; readonly isBare?: true };

/** Keyed by the address on which they listen. */
export type InheritedSockets = ReadonlyMap<string, InheritedSocket>;

/** Sockets of a process that may listen on one of them itself. */
export type HeldSockets = Map<string, InheritedSocket>;

/**
 * Whether a port that instances still listen on can be opened once more, beside them (SO_REUSEPORT): on Linux, with
 * Node 22.12 or later.
 */
export const CAN_REOPEN: boolean = process.platform === "linux" && isSince(22, 12);

/** Message of the keeper to the processes that hold its sockets; `keep` is sent together with a socket. */
type SocketAddressText = { readonly t: "keep" | "drop"; readonly address: string };

/** The key of a socket. */
export function addressOf({ hostname, port }: { readonly hostname: string; readonly port: number }): string {
  return `${hostname} ${port}`;
}

function isSince(major: number, minor: number): boolean {
  const [nodeMajor = 0, nodeMinor = 0] = process.versions.node.split(".").map(Number);
  return nodeMajor > major || (nodeMajor === major && nodeMinor >= minor);
}

const API = "api ";

/** The key of the API's socket: another program's cluster may have a socket of the same host name and port. */
export function apiAddress(listening: { readonly hostname: string; readonly port: number }): string {
  return `${API}${addressOf(listening)}`;
}

export function isApiAddress(address: string): boolean {
  return address.startsWith(API);
}

const VARIABLE = "PROCMAN_KEPT_SOCKETS";
/** First descriptor of inherited sockets: after the standard streams and the channel to the keeper. */
const FIRST_FD = 4;

/** What a new process needs: the variable with the addresses, and the descriptors to pass from `FIRST` on. */
export function inheritance(sockets: InheritedSockets): {
  readonly env: NodeJS.ProcessEnv;
  readonly fds: readonly number[];
} {
  if (sockets.size === 0) return { env: {}, fds: [] };
  return { env: { [VARIABLE]: JSON.stringify([...sockets.keys()]) }, fds: [...sockets.values()].map(({ fd }) => fd) };
}

/** The sockets that this process inherited. Node marks them close-on-exec, so its children don't inherit them. */
export function takeSockets(): Map<string, InheritedSocket> {
  const { [VARIABLE]: text = "[]" } = process.env;
  delete process.env[VARIABLE];
  const addresses = JSON.parse(text) as readonly string[];
  return new Map(
    addresses.map((address, index) => {
      const fd = FIRST_FD + index;
      return [address, { fd, close: () => closeSync(fd), isBare: true }];
    }),
  );
}

/** In service and logger: holds the inherited sockets and those that the keeper opens later. */
export function keepSockets(): HeldSockets {
  const sockets = takeSockets();
  process.on("message", (batch: unknown, socket?: InheritedSocket) => {
    for (const message of messagesIn(batch)) if (isForKeeping(message)) take(message, socket);
  });
  const take = ({ t, address }: SocketAddressText, socket: InheritedSocket | undefined): void => {
    sockets.get(address)?.close();
    sockets.delete(address);
    if (t === "keep" && socket !== undefined) sockets.set(address, socket);
  };
  return sockets;
}

export function isForKeeping(message: { readonly t: string }): message is SocketAddressText {
  return message.t === "keep" || message.t === "drop";
}

/** Closes the API's socket in a process that doesn't listen on it, so that its port is free when no other process has it. */
export function releaseApi(sockets: HeldSockets): void {
  for (const [address, socket] of sockets) {
    if (!isApiAddress(address)) continue;
    socket.close();
    sockets.delete(address);
  }
}

/** Listening sockets that outlive a keeper: service and logger have them too, and whoever starts another process of procman hands them on. */
import { closeSync } from "node:fs";

/** A socket that listens, with nobody in this process who accepts from it. */
export type KeptSocket = { readonly fd: number; readonly close: () => void };

/** By the address that they listen on. */
export type KeptSockets = ReadonlyMap<string, KeptSocket>;

/** What a keeper tells those who keep its sockets: `keep` comes with one. */
type SocketWord = { readonly t: "keep" | "drop"; readonly address: string };

/** What they are known by. */
export function addressOf({ hostname, port }: { readonly hostname: string; readonly port: number }): string {
  return `${hostname} ${port}`;
}

const VARIABLE = "PROCMAN_KEPT_SOCKETS";
/** Descriptors that they begin at: after the streams, and the channel to the keeper. */
const FIRST = 4;

/** What another process gets: the variable that names the sockets, and their descriptors for the places from `FIRST` on. */
export function handedOn(sockets: KeptSockets): { readonly env: NodeJS.ProcessEnv; readonly fds: readonly number[] } {
  if (sockets.size === 0) return { env: {}, fds: [] };
  return { env: { [VARIABLE]: JSON.stringify([...sockets.keys()]) }, fds: [...sockets.values()].map(({ fd }) => fd) };
}

/** Those that this process was started with. Node has seen to it that its children don't get them. */
export function takeSockets(): Map<string, KeptSocket> {
  const { [VARIABLE]: text = "[]" } = process.env;
  delete process.env[VARIABLE];
  const addresses = JSON.parse(text) as readonly string[];
  return new Map(addresses.map((address, index) => [address, { fd: FIRST + index, close: () => closeSync(FIRST + index) }]));
}

/** In service and logger: keeps what they were started with, and what their keeper opens later. */
export function keepSockets(): KeptSockets {
  const kept = takeSockets();
  process.on("message", (batch: readonly { readonly t: string }[], socket?: KeptSocket) => {
    for (const message of batch) if (isForKeeping(message)) take(message, socket);
  });
  const take = ({ t, address }: SocketWord, socket: KeptSocket | undefined): void => {
    kept.get(address)?.close();
    kept.delete(address);
    if (t === "keep" && socket !== undefined) kept.set(address, socket);
  };
  return kept;
}

export function isForKeeping(message: { readonly t: string }): message is SocketWord {
  return message.t === "keep" || message.t === "drop";
}

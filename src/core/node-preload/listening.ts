/** Where the program listens: its first `listen` on a TCP port takes the cluster's shared socket, or the instance's own port. */
import { fstatSync } from "node:fs";
import { type ListenOptions, Server } from "node:net";

/** systemd's SD_LISTEN_FDS_START. */
const SHARED_FD = 3;
/** Clients that wait in the kernel's queue, as procman has opened the socket; by default Node would lower that to 511. */
const BACKLOG = 4_096;

type Place = { readonly fd: number } | { readonly port: number; readonly host: string };

export function placeOf({ LISTEN_FDS: sockets, PROCMAN_CLUSTER_PORT: port }: NodeJS.ProcessEnv): Place | undefined {
  if (Number(sockets) >= 1) return isSocket(SHARED_FD) ? { fd: SHARED_FD } : undefined;
  return port === undefined ? undefined : { port: Number(port), host: "127.0.0.1" };
}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    // A program between procman and this one has closed it.
    return false;
  }
}

export type ListeningServers = {
  /** Gets each server before it listens. */
  readonly watch: (server: Server) => void;
  /** Gets the one that takes the place, and those that listen on its port later. */
  readonly place: (server: Server) => void;
};

export function replaceListen(place: Place | undefined, on: ListeningServers): void {
  const original = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server;
  const port = place !== undefined && "port" in place ? place.port : undefined;
  let free = place;
  Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
    on.watch(this);
    const options = tcpOptions(args[0]);
    if (options !== undefined && (free !== undefined || Number(options.port) === port)) on.place(this);
    if (options === undefined || free === undefined) return original.apply(this, args);
    const { port: _port, host: _host, ...others } = options;
    const own = { ...others, ...free };
    free = undefined;
    const backlog = "fd" in own ? [BACKLOG] : [];
    return original.call(this, own, ...backlog, ...args.slice(1).filter((each) => typeof each === "function"));
  };
}

/** undefined: it listens on something else than a TCP port, or on any free one. */
function tcpOptions(first: unknown): ListenOptions | undefined {
  const options: ListenOptions = typeof first === "object" && first !== null ? first : { port: Number(first ?? 0) };
  const isPort = Number.isInteger(Number(options.port)) && Number(options.port) > 0;
  return isPort && !("fd" in options) && !("_handle" in options) && !("handle" in options) && options.path === undefined
    ? options
    : undefined;
}

/**
 * Loaded by `--require` into a program with `"node": true`, before its own code. In the first Node process of the run it
 * - writes to the ready descriptor when the program sends the message "ready" (`process.send`, as for pm2);
 * - keeps `process.send` from failing when the keeper, which holds the other end of the channel, has been killed;
 * - lets the program's first `listen` on a TCP port use the cluster's shared socket, or the instance's own port.
 */
import { fstatSync, writeSync } from "node:fs";
import { type ListenOptions, Server } from "node:net";

/** systemd's SD_LISTEN_FDS_START. */
const SHARED_FD = 3;

type Place = { readonly fd: number } | { readonly port: number; readonly host: string };
type Callback = (error: Error | null) => void;

/** `PROCMAN_NODE`: `on`, or `ready=FD`. */
const { PROCMAN_NODE: task } = process.env;

if (task !== undefined) {
  const place = placeOf(process.env);
  // The programs that this one starts have neither the descriptors nor the channel.
  for (const name of ["PROCMAN_NODE", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"]) delete process.env[name];
  process.env.NODE_OPTIONS = (process.env.NODE_OPTIONS ?? "").replace(/ ?--require="(?:[^"\\]|\\.)*node-preload\.cjs"$/, "");
  if (process.env.NODE_OPTIONS === "") delete process.env.NODE_OPTIONS;
  const [, fd] = /^ready=(\d+)$/.exec(task) ?? [];
  wrapSend(fd === undefined ? undefined : Number(fd));
  if (place !== undefined) takeFirstListen(place);
}

function placeOf({ LISTEN_FDS: sockets, PROCMAN_CLUSTER_PORT: port }: NodeJS.ProcessEnv): Place | undefined {
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

function wrapSend(readyFd: number | undefined): void {
  const send = process.send?.bind(process) as ((...args: unknown[]) => boolean) | undefined;
  if (send === undefined) return;
  process.send = (message: unknown, ...rest: unknown[]): boolean => {
    if (message === "ready" && readyFd !== undefined) writeSync(readyFd, "\n");
    if (process.connected) return send(message, ...rest);
    const callback = rest.find((each): each is Callback => typeof each === "function");
    if (callback !== undefined)
      process.nextTick(callback, new Error("Cannot send a message: procman's keeper was killed, and the channel is closed"));
    return false;
  };
}

function takeFirstListen(place: Place): void {
  const original = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server;
  Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
    const options = tcpOptions(args[0]);
    if (options === undefined) return original.apply(this, args);
    Server.prototype.listen = original;
    const { port: _port, host: _host, ...others } = options;
    return original.call(this, { ...others, ...place }, ...args.slice(1).filter((each) => typeof each === "function"));
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

/**
 * Loaded by `--require` into a program with `"node": true`, before its own code. In the first Node process of the run
 * it
 * - writes to the ready descriptor when the program sends the message "ready" (`process.send`, as for pm2);
 * - keeps `process.send` from failing when the keeper, which holds the other end of the channel, has been killed;
 * - lets the program's first `listen` on a TCP port use the cluster's shared socket, or the instance's own port;
 * - gives the connections of that server the addresses of their clients, which the balancer's headers name;
 * - ends kept connections of HTTP servers with an answer, before the program gets its stop signal and when it closes a
 * server;
 * - counts the connections of a server on the shared socket, if its cluster sleeps without any.
 */
import { writeSync } from "node:fs";
import { ClientAddresses } from "./client-address.ts";
import { clientCount } from "./client-count.ts";
import { drainBefore, watchServer } from "./http-drain.ts";
import { placeOf, replaceListen } from "./listening.ts";

type Callback = (error: Error | null) => void;

/** `on`, or parts: `ready=FD`, `stop=SIGNAL`, `idle=MS`, `proxy=TOKEN`, `raw=net`, `clients=FD`. */
const { PROCMAN_NODE: task } = process.env;

if (task !== undefined) {
  const place = placeOf(process.env);
  // The programs that this one starts have neither the descriptors nor the channel.
  for (const name of ["PROCMAN_NODE", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"]) delete process.env[name];
  process.env.NODE_OPTIONS = (process.env.NODE_OPTIONS ?? "").replace(
    / ?--require="(?:[^"\\]|\\.)*node-preload\.cjs"$/,
    "",
  );
  if (process.env.NODE_OPTIONS === "") delete process.env.NODE_OPTIONS;
  const {
    ready,
    stop = "SIGTERM",
    idle = "5000",
    proxy,
    raw,
    clients,
  } = Object.fromEntries(task.split(" ").map((part) => part.split("=")));
  wrapSend(ready === undefined ? undefined : Number(ready));
  const addresses = proxy === undefined ? undefined : new ClientAddresses(proxy, raw === "net");
  const count = clients === undefined ? undefined : clientCount(Number(clients));
  replaceListen(place, {
    watch: (server) => watchServer(server, Number(idle)),
    place: (server) => {
      addresses?.read(server);
      if (count !== undefined) watchServer(server, Number(idle), true);
      count?.watch(server);
    },
  });
  drainBefore(stop as NodeJS.Signals, Number(idle), count && (() => count.ended));
}

function wrapSend(readyFd: number | undefined): void {
  const send = process.send?.bind(process) as ((...args: unknown[]) => boolean) | undefined;
  if (send === undefined) return;
  process.send = (message: unknown, ...rest: unknown[]): boolean => {
    if (message === "ready" && readyFd !== undefined) writeSync(readyFd, "\n");
    if (process.connected) return send(message, ...rest);
    const callback = rest.find((each): each is Callback => typeof each === "function");
    if (callback !== undefined)
      process.nextTick(
        callback,
        new Error("Cannot send a message: procman's keeper was killed, and the channel is closed"),
      );
    return false;
  };
}

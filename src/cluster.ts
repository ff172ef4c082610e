/**
 * `procman/cluster`: lets a server of a Node program listen on the shared socket of its cluster (`"mode": "share"`).
 *
 * Without procman, or behind its load balancer, the same call listens on a port.
 */
import { fstatSync } from "node:fs";
import type { Server } from "node:net";

/** systemd's SD_LISTEN_FDS_START. */
const SHARED_FD = 3;

/**
 * Listens on the shared socket if there is one, else on `PROCMAN_CLUSTER_PORT`, else on `port`; in the last two cases
 * on 127.0.0.1. Takes any server with the `listen` of `net.Server`: http, https, http2, tls. Returns it.
 *
 * @throws Error if there is neither a socket nor a port.
 * @example
 * import { createServer } from "node:http";
 * import { listen } from "procman/cluster";
 * listen(createServer((request, response) => response.end("hello\n")), 3000);
 */
export function listen<AnyServer extends Server>(server: AnyServer, port?: number): AnyServer {
  const { PROCMAN_CLUSTER_PORT: own } = process.env;
  if (isSocketPassed()) return server.listen({ fd: SHARED_FD });
  const chosen = own === undefined ? port : Number(own);
  if (chosen === undefined) throw new Error(`Cannot listen: ${whyNoPort()}`);
  return server.listen({ port: chosen, host: "127.0.0.1" });
}

/** As sd_listen_fds(3) checks: children inherit the variables, but not the socket. */
function isSocketPassed(): boolean {
  const { LISTEN_FDS: count, LISTEN_PID: pid } = process.env;
  return Number(count) >= 1 && Number(pid) === process.pid && fstatSync(SHARED_FD).isSocket();
}

function whyNoPort(): string {
  const { LISTEN_FDS: count, LISTEN_PID: pid } = process.env;
  if (count === undefined)
    return 'no socket was passed to this process, and no port given; give one, or set "mode": "share" for its cluster';
  return `the shared socket was passed to process ${pid}, not to ${process.pid}; "cmd" must start this program directly, or with "exec"`;
}

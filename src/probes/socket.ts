/** Asks a port, or a server of HTTP behind it, whether somebody is there: plain sockets, as hundreds of them are asked each second. */
import { connect, type Socket } from "node:net";
import type { Probe } from "../contract/probe.ts";
import type { Attempt } from "./attempt.ts";

/** Enough of an answer for its status. */
const STATUS_LENGTH = "HTTP/1.1 200".length;
/** Who goes on answering for so long, or so much, is hung up on. Milliseconds, characters. */
const LINGER_MS = 1_000;
const LINGER_LENGTH = 65_536;

export const askPort: Attempt<Probe & { readonly kind: "port" }> = ({ port }, over) =>
  reach("localhost", port, {
    connected: (socket) => {
      socket.end();
      over(undefined);
    },
    failed: over,
  });

export const askHttp: Attempt<Probe & { readonly kind: "http" }> = ({ hostname, port, path }, over) => {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nUser-Agent: procman\r\nAccept: */*\r\nConnection: close\r\n\r\n`;
  return reach(hostname, port, {
    connected: (socket) => {
      socket.write(request);
      hear(socket, over);
    },
    failed: over,
  });
};

function hear(socket: Socket, over: (problem: string | undefined) => void): void {
  let head = "";
  let length = 0;
  let isHeard = false;
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    length += text.length;
    // To hang up in the middle of an answer is an error to some servers.
    if (isHeard) return void (length > LINGER_LENGTH && socket.destroy());
    head += text;
    if (head.length < STATUS_LENGTH) return;
    isHeard = true;
    over(verdictOn(head));
  });
  socket.once("end", () => over("closes the connection without an answer"));
}

function verdictOn(head: string): string | undefined {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  if (status === undefined) return "does not answer with HTTP";
  return status >= "200" && status < "400" ? undefined : `answers with status ${status}`;
}

type Reached = { readonly connected: (socket: Socket) => void; readonly failed: (problem: string) => void };

/** Hangs up when the returned function is called before there was an answer. */
function reach(hostname: string, port: number, on: Reached): (isAnswered: boolean) => void {
  const hosts = hostname === "localhost" ? ["127.0.0.1", "::1"] : [hostname];
  let socket: Socket;
  const attempt = ([host = "", ...others]: readonly string[], before?: string): void => {
    socket = connect({ host, port, autoSelectFamily: false });
    socket.once("connect", () => {
      if (isToItself(socket)) socket.destroy(Object.assign(new Error("nobody but itself"), { code: "ECONNREFUSED" }));
      else on.connected(socket);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      // Of two addresses the first one's reason is told: where the other is not there at all, that says nothing.
      const problem = before ?? `${host}:${port} ${reasonOf(error)}`;
      socket.destroy();
      if (others.length > 0 && error.code === "ECONNREFUSED") attempt(others, problem);
      else on.failed(problem);
    });
  };
  attempt(hosts);
  return (isAnswered) => {
    if (isAnswered && !socket.writableEnded && !socket.destroyed) socket.setTimeout(LINGER_MS, () => socket.destroy());
    else socket.destroy();
  };
}

/** It may be where nobody listens on a port that the kernel gives to clients: see `cluster/sockets`. */
export function isToItself({ localPort, remotePort, localAddress, remoteAddress }: Socket): boolean {
  return localPort === remotePort && localAddress === remoteAddress;
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ECONNREFUSED") return "refuses connections";
  if (code === "ECONNRESET") return "resets the connection";
  return code === "ENOTFOUND" ? "is not known" : message;
}

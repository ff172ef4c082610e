/** Probes a port or an HTTP server, with plain sockets, since hundreds may be probed each second. */
import { connect, type Socket } from "node:net";
import { addressText } from "../base/address-text.ts";
import type { Probe } from "../contract/probe-spec.ts";
import type { ProbeMethod } from "./probe-method.ts";

/** Length of an answer up to its status. */
const STATUS_LENGTH = "HTTP/1.1 200".length;
/** Limits of the rest of an answer, after which the connection is closed. Milliseconds, characters. */
const LINGER_MS = 1_000;
const LINGER_LENGTH = 65_536;

const REFUSES = "refuses connections";

/** Whether nothing listens where it was asked. */
export function isRefused(problem: string): boolean {
  return problem.endsWith(` ${REFUSES}`);
}

export const askPort: ProbeMethod<Probe & { readonly kind: "port" }> = ({ port }, done) =>
  reach("localhost", port, {
    connected: (socket) => {
      socket.end();
      done(undefined);
    },
    failed: done,
  });

export const askHttp: ProbeMethod<Probe & { readonly kind: "http" }> = ({ hostname, port, path }, done) => {
  const request = `GET ${path} HTTP/1.1\r\nHost: ${addressText({ hostname, port })}\r\nUser-Agent: procman\r\nAccept: */*\r\nConnection: close\r\n\r\n`;
  return reach(hostname, port, {
    connected: (socket) => {
      socket.write(request);
      readStatus(socket, done);
    },
    failed: done,
  });
};

function readStatus(socket: Socket, done: (problem: string | undefined) => void): void {
  let head = "";
  let length = 0;
  let isComplete = false;
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    length += text.length;
    // Some servers log an error if the connection is closed in the middle of an answer.
    if (isComplete) return void (length > LINGER_LENGTH && socket.destroy());
    head += text;
    if (head.length < STATUS_LENGTH) return;
    isComplete = true;
    done(verdictOn(head));
  });
  socket.once("end", () => done("closes the connection without an answer"));
}

function verdictOn(head: string): string | undefined {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
  if (status === undefined) return "does not answer with HTTP";
  return status >= "200" && status < "400" ? undefined : `answers with status ${status}`;
}

type ReachedServer = { readonly connected: (socket: Socket) => void; readonly failed: (problem: string) => void };

/** The returned function closes the connection, immediately if there was no answer. */
function reach(hostname: string, port: number, on: ReachedServer): (isAnswered: boolean) => void {
  const hosts = hostname === "localhost" ? ["127.0.0.1", "::1"] : [hostname];
  let socket: Socket;
  const attempt = ([host = "", ...others]: readonly string[], before?: string): void => {
    socket = connect({ host, port, autoSelectFamily: false });
    socket.once("connect", () => {
      if (isToItself(socket)) socket.destroy(Object.assign(new Error("connected to itself"), { code: "ECONNREFUSED" }));
      else on.connected(socket);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      // Of two addresses the first one's problem is reported: the second may not exist at all.
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

/** A connection to a port of the ephemeral range without a listener may be connected to itself. */
export function isToItself({ localPort, remotePort, localAddress, remoteAddress }: Socket): boolean {
  return localPort === remotePort && localAddress === remoteAddress;
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ECONNREFUSED") return REFUSES;
  if (code === "ECONNRESET") return "resets the connection";
  return code === "ENOTFOUND" ? "is not known" : message;
}

/** Receivers of log lines: for each kind of address, how lines are sent. */
import { createSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { LogEntry } from "../../../core/contract/records.ts";
import { type PostOutcome, post } from "../shared/http-retry.ts";
import { framed, type SyslogOrigin, syslogMessage } from "./syslog.ts";

export type LogSink = {
  readonly send: (entries: readonly LogEntry[]) => Promise<PostOutcome>;
  readonly close: () => Promise<void>;
};

export type SinkOptions = {
  readonly to: string;
  readonly origin: SyslogOrigin;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
};

export function sinkFor({ to, origin, headers, timeoutMs }: SinkOptions): LogSink {
  const { protocol, hostname, port } = new URL(to);
  // A URL has an IPv6 address in brackets.
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol === "udp:") return datagrams(host, Number(port), origin);
  if (protocol === "tcp:" || protocol === "tls:") {
    const sink = new StreamSink({ isTls: protocol === "tls:", host, port: Number(port), timeoutMs });
    return {
      send: (entries) => sink.send(framed(entries.map((entry) => syslogMessage(entry, origin)))),
      close: () => sink.end(),
    };
  }
  const all = { "content-type": "application/x-ndjson", ...headers };
  return {
    send: (entries) => post(to, { body: lines(entries, origin), headers: all, timeoutMs }),
    close: async () => undefined,
  };
}

/** One message a datagram (RFC 5426). Receipt can't be checked. */
function datagrams(host: string, port: number, origin: SyslogOrigin): LogSink {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  // A closed port may cause an error at a later message.
  socket.on("error", () => undefined);
  const send = (message: Buffer): Promise<void> =>
    new Promise((resolve, reject) =>
      socket.send(message, port, host, (error) => (error === null ? resolve() : reject(error))),
    );
  return {
    send: async (entries) => {
      try {
        for (const entry of entries) await send(syslogMessage(entry, origin));
        return { kind: "done", body: "" };
      } catch (error) {
        return { kind: "later", reason: (error as Error).message };
      }
    },
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

/** One entry a line, as in `procman logs --json`, with host and name. */
function lines(entries: readonly LogEntry[], { hostname, name }: SyslogOrigin): string {
  return entries.map((entry) => `${JSON.stringify({ ...entry, host: hostname, name })}\n`).join("");
}

export type StreamTarget = {
  readonly isTls: boolean;
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
};

/** Time to wait for a reset: a peer that has closed its end answers the first packet with one. */
const RESET_MS = 50;

/** Sends messages over a connection (TCP or TLS) that is opened on demand and after each failure. */
class StreamSink {
  readonly #target: StreamTarget;
  #socket: Socket | undefined;
  #problem: string | undefined;

  constructor(target: StreamTarget) {
    this.#target = target;
  }

  /** Done when the system has accepted all bytes and the connection is still open: syslog has no acknowledgement. */
  async send(bytes: Buffer): Promise<PostOutcome> {
    try {
      const socket = this.#socket ?? (await this.#connect());
      await this.#write(socket, bytes);
      return { kind: "done", body: "" };
    } catch (error) {
      this.close();
      return { kind: "later", reason: (error as Error).message };
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  /** Closes the connection after sending what was written. */
  async end(): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined || socket.destroyed) return;
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      socket.setTimeout(1_000, () => socket.destroy());
      socket.end();
    });
  }

  #connect(): Promise<Socket> {
    const { isTls, host, port, timeoutMs } = this.#target;
    this.#problem = undefined;
    return new Promise((resolve, reject) => {
      const socket = isTls ? connectTls({ host, port, servername: host }) : connect({ host, port });
      const timeout = setTimeout(
        () => socket.destroy(new Error(`no connection within ${timeoutMs / 1_000} s`)),
        timeoutMs,
      );
      socket.once(isTls ? "secureConnect" : "connect", () => {
        clearTimeout(timeout);
        this.#socket = socket;
        resolve(socket);
      });
      socket.on("error", ({ message }) => {
        this.#problem = message;
      });
      // Received bytes are discarded: syslog has no answers.
      socket.resume();
      socket.once("close", () => {
        clearTimeout(timeout);
        this.#problem ??= "the receiver has closed the connection";
        if (this.#socket === socket) this.#socket = undefined;
        reject(new Error(this.#problem));
      });
    });
  }

  #write(socket: Socket, bytes: Buffer): Promise<void> {
    const { timeoutMs } = this.#target;
    return new Promise((resolve, reject) => {
      const fail = (): void => {
        clearTimeout(timeout);
        reject(new Error(this.#problem ?? "the connection has broken"));
      };
      const timeout = setTimeout(
        () => socket.destroy(new Error(`no data was accepted within ${timeoutMs / 1_000} s`)),
        timeoutMs,
      );
      if (socket.destroyed) return fail();
      socket.once("close", fail);
      socket.write(bytes, () => {
        clearTimeout(timeout);
        setTimeout(() => {
          socket.off("close", fail);
          if (socket.destroyed) fail();
          else resolve();
        }, RESET_MS);
      });
    });
  }
}

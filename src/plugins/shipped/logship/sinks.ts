/** Where shipped log lines go: each kind of address with its way of sending. */
import { createSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { LogEntry } from "../../../contract/records.ts";
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
  // An address of IPv6 stands in brackets.
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol === "udp:") return datagrams(host, Number(port), origin);
  if (protocol === "tcp:" || protocol === "tls:") {
    const sink = new StreamSink({ isTls: protocol === "tls:", host, port: Number(port), timeoutMs });
    return { send: (entries) => sink.send(framed(entries.map((entry) => syslogMessage(entry, origin)))), close: () => sink.end() };
  }
  const all = { "content-type": "application/x-ndjson", ...headers };
  return { send: (entries) => post(to, { body: lines(entries, origin), headers: all, timeoutMs }), close: async () => undefined };
}

/** One message each (RFC 5426). Whether anybody gets it, nobody knows. */
function datagrams(host: string, port: number, origin: SyslogOrigin): LogSink {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  // A port that nobody listens on may show as an error of a later message.
  socket.on("error", () => undefined);
  const send = (message: Buffer): Promise<void> =>
    new Promise((resolve, reject) => socket.send(message, port, host, (error) => (error === null ? resolve() : reject(error))));
  return {
    send: async (entries) => {
      try {
        for (const entry of entries) await send(syslogMessage(entry, origin));
        return { kind: "done", body: "" };
      } catch (error) {
        return { kind: "later", why: (error as Error).message };
      }
    },
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

/** An entry on each line, as `procman logs --json` has it, with host and name. */
function lines(entries: readonly LogEntry[], { hostname, name }: SyslogOrigin): string {
  return entries.map((entry) => `${JSON.stringify({ ...entry, host: hostname, name })}\n`).join("");
}

/** A connection that log messages go to, by TCP or TLS: made when it is needed, made again when it has broken. */

export type StreamTarget = { readonly isTls: boolean; readonly host: string; readonly port: number; readonly timeoutMs: number };

/** A peer that has closed its end answers the first packet with a reset: so long it is waited for. Milliseconds. */
const RESET_MS = 50;

class StreamSink {
  readonly #target: StreamTarget;
  #socket: Socket | undefined;
  #problem: string | undefined;

  constructor(target: StreamTarget) {
    this.#target = target;
  }

  /** Done when the system has taken all of it, and the connection has not broken. There is no answer in syslog. */
  async send(bytes: Buffer): Promise<PostOutcome> {
    try {
      const socket = this.#socket ?? (await this.#connect());
      await this.#write(socket, bytes);
      return { kind: "done", body: "" };
    } catch (error) {
      this.close();
      return { kind: "later", why: (error as Error).message };
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  /** What was written goes out before the end. */
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
      const late = setTimeout(() => socket.destroy(new Error(`no connection within ${timeoutMs / 1_000} s`)), timeoutMs);
      socket.once(isTls ? "secureConnect" : "connect", () => {
        clearTimeout(late);
        this.#socket = socket;
        resolve(socket);
      });
      socket.on("error", ({ message }) => {
        this.#problem = message;
      });
      // Nobody answers by syslog; what comes is not kept.
      socket.resume();
      socket.once("close", () => {
        clearTimeout(late);
        this.#problem ??= "the other side has closed the connection";
        if (this.#socket === socket) this.#socket = undefined;
        reject(new Error(this.#problem));
      });
    });
  }

  #write(socket: Socket, bytes: Buffer): Promise<void> {
    const { timeoutMs } = this.#target;
    return new Promise((resolve, reject) => {
      const broken = (): void => {
        clearTimeout(late);
        reject(new Error(this.#problem ?? "the connection has broken"));
      };
      const late = setTimeout(() => socket.destroy(new Error(`nothing was taken within ${timeoutMs / 1_000} s`)), timeoutMs);
      if (socket.destroyed) return broken();
      socket.once("close", broken);
      socket.write(bytes, () => {
        clearTimeout(late);
        setTimeout(() => {
          socket.off("close", broken);
          if (socket.destroyed) broken();
          else resolve();
        }, RESET_MS);
      });
    });
  }
}

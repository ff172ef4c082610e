/** Where shipped log lines go: each kind of address with its way of sending. */
import { createSocket } from "node:dgram";
import type { LogEntry } from "../../contract/records.ts";
import { type Outcome, post } from "./post.ts";
import { StreamSink } from "./stream-sink.ts";
import { framed, type SyslogOrigin, syslogMessage } from "./syslog.ts";

export type Sink = {
  readonly send: (entries: readonly LogEntry[]) => Promise<Outcome>;
  readonly close: () => Promise<void>;
};

export type SinkOptions = {
  readonly to: string;
  readonly origin: SyslogOrigin;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
};

export function sinkFor({ to, origin, headers, timeoutMs }: SinkOptions): Sink {
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
function datagrams(host: string, port: number, origin: SyslogOrigin): Sink {
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

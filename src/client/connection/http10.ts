/** HTTP/1.0 over a plain socket: one request and one answer, which ends with the connection. (`node:http` takes 10 ms of each start.) */
import { connect, isIP, type Socket } from "node:net";
import { addAbortSignal } from "node:stream";
import { addressText, reachable } from "../../core/base/address-text.ts";
import { connectUnix } from "../../core/os/unix-socket.ts";
import type { Reply, Request } from "../transport.ts";

export type WireOptions = {
  readonly hostname: string;
  readonly port: number;
  /** Path of a Unix socket, in place of host name and port. */
  readonly socket?: string | undefined;
  /** The port speaks TLS. `true`: with any certificate, as the address is one of this machine and procman's own files name it. `ca`: PEM; default: the authorities of Node. */
  readonly tls?: true | { readonly ca?: string } | undefined;
  /** Time without data after which the request fails. Milliseconds. */
  readonly silenceMs: number;
};

type WireRequest = Request & WireOptions;

type Head = { readonly status: number; readonly headers: ReadonlyMap<string, string> };

const HEAD_END = "\r\n\r\n";
/** Without data, until the kernel asks whether the other side is there. Milliseconds. */
const KEEP_ALIVE_MS = 15_000;
const MAX_HEAD_BYTES = 64 * 1024;
/** Longest answer that is read as a whole. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** Resolves when the head of the answer has arrived. Rejects, or fails later while the body is read, if the answer is incomplete. */
export async function exchange(request: WireRequest): Promise<Reply> {
  const socket = dial(request);
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    const { head, rest } = await readHead(chunks);
    const body = bodyOf(socket, { chunks, rest, length: lengthOf(head) });
    return {
      status: head.status,
      headers: { get: (name) => head.headers.get(name) ?? null },
      text: () => textIn(body),
      body,
    };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function dial(request: WireRequest): Socket {
  const { hostname, port, silenceMs, signal, socket: path } = request;
  const socket = path === undefined ? dialPort(request) : connectUnix(path);
  // The option `signal` of `connect` leaves a listener for each socket, and a follower connects again and again.
  if (signal !== undefined) addAbortSignal(signal, socket);
  // An answer that takes its time: the kernel notices that the machine is gone.
  if (request.patienceSeconds !== undefined) socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const place = path ?? `${hostname}:${port}`;
  socket.setTimeout(silenceMs, () => socket.destroy(silent(`no answer from ${place} within ${silenceMs / 1_000} s`)));
  socket.write(textOf(request));
  return socket;
}

function dialPort({ hostname, port, tls }: WireRequest): Socket {
  const address = { host: reachable(hostname), port };
  if (tls === undefined) return connect({ ...address, noDelay: true });
  const name = isIP(address.host) === 0 ? { servername: address.host } : {};
  const trust = tls === true ? { rejectUnauthorized: false } : { ...name, ...(tls.ca && { ca: tls.ca }) };
  // Loaded here, as most commands use a Unix socket.
  const socket = process.getBuiltinModule("node:tls").connect({ ...address, ...trust });
  return socket.setNoDelay(true);
}

function textOf({ hostname, port, socket, method, path, headers, body }: WireRequest): string {
  const all = {
    host: socket === undefined ? addressText({ hostname: reachable(hostname), port }) : "localhost",
    ...headers,
    ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}`);
  return [`${method} ${path} HTTP/1.0`, ...lines, "", body ?? ""].join("\r\n");
}

async function readHead(chunks: AsyncIterator<Buffer>): Promise<{ readonly head: Head; readonly rest: Buffer }> {
  let read: Buffer = Buffer.alloc(0);
  for (;;) {
    const end = read.indexOf(HEAD_END);
    if (end >= 0)
      return { head: parseHead(read.toString("latin1", 0, end)), rest: read.subarray(end + HEAD_END.length) };
    if (read.length > MAX_HEAD_BYTES) throw new Error("the answer is not HTTP");
    const chunk = await nextOf(chunks);
    if (chunk === undefined) throw cutOff();
    read = Buffer.concat([read, chunk]);
  }
}

function parseHead(text: string): Head {
  const [first = "", ...lines] = text.split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1]);
  const headers = new Map(
    lines.map(
      (line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()] as const,
    ),
  );
  if (Number.isNaN(status) || headers.has("transfer-encoding")) throw new Error("the answer is not HTTP/1.0");
  return { status, headers };
}

/** undefined: the body ends with the connection. */
function lengthOf({ headers }: Head): number | undefined {
  const length = headers.get("content-length");
  return length === undefined ? undefined : Number(length);
}

type Body = { readonly chunks: AsyncIterator<Buffer>; readonly rest: Buffer; readonly length: number | undefined };

async function* bodyOf(socket: Socket, { chunks, rest, length }: Body): AsyncGenerator<Uint8Array, void, undefined> {
  let received = 0;
  try {
    for (let chunk: Buffer | undefined = rest; chunk !== undefined; chunk = await nextOf(chunks)) {
      received += chunk.length;
      if (chunk.length > 0) yield chunk;
      if (length !== undefined && received >= length) return;
    }
    if (length !== undefined) throw cutOff();
  } finally {
    socket.destroy();
  }
}

async function nextOf(chunks: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
  const { value, done } = await chunks.next();
  return done === true ? undefined : value;
}

async function textIn(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MAX_TEXT_BYTES) throw new Error(`the answer has more than ${MAX_TEXT_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function silent(message: string): Error {
  return Object.assign(new Error(message), { code: "ETIMEDOUT" });
}

function cutOff(): Error {
  return Object.assign(new Error("the connection ended before the answer did"), { code: "ECONNRESET" });
}

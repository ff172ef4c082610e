/** HTTP over a plain socket, in version 1.0: one request, one answer, whose end is the connection's. (`node:http` takes 10 ms of each start.) */
import { connect, type Socket } from "node:net";

export type WireRequest = {
  readonly hostname: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Nothing is heard for so long: it is given up. Milliseconds; 0: never. */
  readonly silenceMs: number;
  readonly signal?: AbortSignal;
};

type Head = { readonly status: number; readonly headers: Readonly<Record<string, string>> };

export type WireAnswer = Head & { readonly body: string };

export type WireStream = Head & { readonly text: AsyncIterable<string> };

const HEAD_END = "\r\n\r\n";
const MAX_HEAD_BYTES = 64 * 1024;

/** The whole answer. Rejects when the connection ends before it is whole. */
export async function exchange(request: WireRequest): Promise<WireAnswer> {
  const { status, headers, text } = await openStream(request);
  let body = "";
  for await (const part of text) body += part;
  return { status, headers, body };
}

/** The answer as far as its body begins; the rest as it comes. */
export async function openStream(request: WireRequest): Promise<WireStream> {
  const socket = dial(request);
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  try {
    const { head, rest } = await readHead(chunks);
    return { ...head, text: bodyOf(socket, { chunks, rest, length: lengthOf(head) }) };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function dial(request: WireRequest): Socket {
  const { hostname, port, silenceMs, signal } = request;
  const socket = connect({ host: reachable(hostname), port, noDelay: true, ...(signal === undefined ? {} : { signal }) });
  if (silenceMs > 0)
    socket.setTimeout(silenceMs, () => socket.destroy(new Error(`no answer from ${hostname}:${port} within ${silenceMs / 1_000} s`)));
  socket.write(textOf(request));
  return socket;
}

/** An address to listen on is not always one to connect to. */
function reachable(hostname: string): string {
  return hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
}

function textOf({ hostname, port, method, path, headers, body }: WireRequest): string {
  const name = reachable(hostname);
  const all = {
    host: `${name.includes(":") ? `[${name}]` : name}:${port}`,
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
    if (end >= 0) return { head: parseHead(read.toString("latin1", 0, end)), rest: read.subarray(end + HEAD_END.length) };
    if (read.length > MAX_HEAD_BYTES) throw new Error("the answer is no HTTP");
    const { value, done } = await chunks.next();
    if (done === true) throw cutOff();
    read = Buffer.concat([read, value]);
  }
}

function parseHead(text: string): Head {
  const [first = "", ...lines] = text.split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1]);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  if (Number.isNaN(status) || headers["transfer-encoding"] !== undefined) throw new Error("the answer is no HTTP/1.0");
  return { status, headers };
}

/** undefined: the body goes on to the connection's end. */
function lengthOf({ headers }: Head): number | undefined {
  return headers["content-length"] === undefined ? undefined : Number(headers["content-length"]);
}

type Body = { readonly chunks: AsyncIterator<Buffer>; readonly rest: Buffer; readonly length: number | undefined };

async function* bodyOf(socket: Socket, { chunks, rest, length }: Body): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let seen = 0;
  let chunk: Buffer | undefined = rest;
  try {
    while (chunk !== undefined) {
      seen += chunk.length;
      const text = decoder.decode(chunk, { stream: true });
      if (text !== "") yield text;
      if (length !== undefined && seen >= length) return;
      const { value, done } = await chunks.next();
      chunk = done === true ? undefined : value;
    }
    if (length !== undefined) throw cutOff();
  } finally {
    socket.destroy();
  }
}

function cutOff(): Error {
  return Object.assign(new Error("the connection ended before the answer did"), { code: "ECONNRESET" });
}

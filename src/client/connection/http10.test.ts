import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createRaw } from "node:net";
import { type TestContext, test } from "node:test";
import { exchange } from "./http10.ts";

const GET = {
  method: "GET",
  path: "/x?y=1",
  headers: { authorization: "Bearer t" },
  hostname: "127.0.0.1",
  silenceMs: 30_000,
} as const;

async function http(context: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  context.after(() => void server.close());
  return portOf(server);
}

/** A server that sends just this to every client, and closes. */
async function raw(context: TestContext, text: string): Promise<number> {
  const server = createRaw((socket) => {
    socket.on("error", () => undefined).end(text);
  }).listen(0, "127.0.0.1");
  context.after(() => void server.close());
  return portOf(server);
}

async function portOf(server: ReturnType<typeof createRaw>): Promise<number> {
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

test("a request has method, path, headers and body; the answer its status, headers and text", async (context) => {
  const seen: IncomingMessage[] = [];
  const port = await http(context, (request, response: ServerResponse) => {
    seen.push(request);
    let body = "";
    request.on("data", (data) => {
      body += String(data);
    });
    request.on("end", () => response.writeHead(201, { "X-Name": "ü: value".slice(3) }).end(`got ${body} äöü€`));
  });
  const reply = await exchange({ ...GET, method: "POST", body: '{"text":"€"}', port });
  assert.equal(reply.status, 201);
  assert.equal(reply.headers.get("x-name"), "value");
  assert.equal(reply.headers.get("none"), null);
  assert.equal(await reply.text(), 'got {"text":"€"} äöü€');
  const [request] = seen;
  assert.deepEqual(
    { method: request?.method, url: request?.url, host: request?.headers.host, token: request?.headers.authorization },
    { method: "POST", url: "/x?y=1", host: `127.0.0.1:${port}`, token: "Bearer t" },
  );
});

test("an answer of many megabytes arrives complete, with or without a length", async (context) => {
  const text = "0123456789abcdef€".repeat(300_000);
  const port = await http(context, (request, response) => {
    if (request.url === "/long") return void response.end(text);
    for (let at = 0; at < text.length; at += 1_000_000) response.write(text.slice(at, at + 1_000_000));
    response.end();
  });
  for (const path of ["/long", "/parts"])
    assert.ok((await (await exchange({ ...GET, path, port })).text()) === text, path);
});

test("a stream is passed on as it arrives", async (context) => {
  let go: () => void = () => undefined;
  const port = await http(context, (_request, response) => {
    response.write("data: 1\n\n");
    go = () => void response.end("data: 2\n\n");
  });
  const { body } = await exchange({ ...GET, port });
  const parts: string[] = [];
  for await (const part of body as AsyncIterable<Uint8Array>) {
    parts.push(Buffer.from(part).toString());
    go();
  }
  assert.deepEqual(parts, ["data: 1\n\n", "data: 2\n\n"]);
});

test("an incomplete answer is an error, wherever it ends", async (context) => {
  const whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  for (const end of [0, 10, 40, whole.length - 1]) {
    const port = await raw(context, whole.slice(0, end));
    await assert.rejects(
      exchange({ ...GET, port }).then((reply) => reply.text()),
      { code: "ECONNRESET" },
    );
  }
  assert.equal(await (await exchange({ ...GET, port: await raw(context, whole) })).text(), "hello");
});

test("an answer in another protocol is an error", async (context) => {
  for (const text of ["SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"])
    await assert.rejects(exchange({ ...GET, port: await raw(context, text) }), /not HTTP/);
});

test("silence times out, and a signal aborts the request immediately", async (context) => {
  const port = await http(context, () => undefined);
  await assert.rejects(exchange({ ...GET, port, silenceMs: 50 }), /no answer from 127\.0\.0\.1:\d+ within 0\.05 s/);
  const stop = new AbortController();
  const asked = exchange({ ...GET, port, signal: stop.signal });
  stop.abort();
  await assert.rejects(asked, { name: "AbortError" });
});

test("requests that have ended leave nothing at their signal", async (context) => {
  const port = await http(context, (_request, response) => response.end("ok"));
  const { signal } = new AbortController();
  for (let count = 0; count < 3; count += 1) await (await exchange({ ...GET, port, signal })).text();
  await assert.rejects(exchange({ ...GET, port: 1, signal }));
  await assert.rejects(exchange({ ...GET, port, socket: "/nowhere.sock", signal }));
  assert.deepEqual(getEventListeners(signal, "abort"), []);
});

/** `"node": true` behind the load balancer: the program sees its clients' addresses. Without a procman: runs on each version of Node. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { localHeader, proxyHeader } from "../../src/core/balancer/proxy-protocol.ts";
import type { BackendSpec, Front } from "../../src/core/ipc/balancer-protocol.ts";
import { received, TestBalancer } from "../support/balancer-rig.ts";
import { testBoth } from "../support/both-tcp.ts";
import { certificateIn } from "../support/certificate.ts";
import { freePort } from "../support/free-ports.ts";
import { KeptConnection, PreloadedProgram } from "../support/preload-rig.ts";
import { eventually } from "../support/procman-process.ts";

const TOKEN = "0123456789abcdef";
/** Other systems have one address of their own. */
const CLIENT = process.platform === "linux" ? "127.0.0.7" : "127.0.0.1";
const FORGED = { address: "192.0.2.66", port: 666 };
const HERE = { address: "127.0.0.1", port: 80 };

/** Says what it sees: as a line of each connection, and to each client. */
const SERVER = `
const seen = ({ remoteAddress, remotePort, remoteFamily }) => [remoteAddress, remotePort, remoteFamily, "end"].join(" ");
const answer = (request, response) => response.end(seen(request.socket));
const server = CREATE;
server.on("connection", (socket) => console.log("connection " + seen(socket)));
server.on("upgrade", ({ socket: { remotePort } }, socket) => {
  socket.on("error", () => undefined);
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n" + remotePort + " " + seen(socket));
});
server.on("listening", () => console.log("port " + server.address().port));
server.on("tlsClientError", (error, socket) => console.log("tlsClientError " + seen(socket)));
server.listen(80);
process.on("SIGTERM", () => server.close(() => process.exit()));
`;
const HTTP = 'require("node:http").createServer(answer)';

const folder = mkdtempSync(join(tmpdir(), "procman-addresses-"));
test.after(() => rmSync(folder, { recursive: true, force: true }));
const { certificate, key } = certificateIn(folder, {});
const TLS = JSON.stringify({ cert: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") });

type Cluster = { readonly balancer: TestBalancer; readonly program: PreloadedProgram; readonly backend: BackendSpec };

/** A program with the module and a balancer in front of it, which knows its token. `task`: what the program knows. */
async function clusterOf(
  context: TestContext,
  create: string,
  front: Partial<Front> = {},
  task = `proxy=${TOKEN}${front.proxyProtocol === true ? " raw=net" : ""}`,
): Promise<Cluster> {
  const port = await freePort();
  const program = programOf(context, create, port, task);
  const balancer = await TestBalancer.start(context, front, 2);
  assert.equal(await program.port, port);
  const backend: BackendSpec = { id: "a", port, state: "up", proxyToken: TOKEN };
  await balancer.serve([backend]);
  await isServed(balancer);
  return { balancer, program, backend };
}

function programOf(context: TestContext, create: string, port: number, task = `proxy=${TOKEN}`): PreloadedProgram {
  return new PreloadedProgram(context, SERVER.replace("CREATE", create), {
    env: { PROCMAN_CLUSTER_PORT: String(port) },
    task,
  });
}

async function isServed(balancer: TestBalancer): Promise<void> {
  await eventually(() => (balancer.backend("a")?.accepting ? true : undefined));
}

/** What a program sees of this client. */
function seenOf({ localAddress, localPort, localFamily }: Socket): string {
  return `${localAddress} ${localPort} ${localFamily} end`;
}

/** A client of this address. */
async function clientAt(context: TestContext, port: number, localAddress = CLIENT): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  context.after(() => socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

for (const [name, create, isTls] of [
  ["http", HTTP, false],
  ["https", `require("node:https").createServer(${TLS}, answer)`, true],
  [
    "http2 that allows HTTP/1.1",
    `require("node:http2").createSecureServer({ ...${TLS}, allowHTTP1: true }, answer)`,
    true,
  ],
] as const)
  testBoth(
    `${name}: each request, upgrade and connection has the address of its client, also on a kept connection`,
    async (context) => {
      const { balancer, program } = await clusterOf(context as TestContext, create);
      for (let turn = 0; turn < 4; turn++) {
        const kept = await KeptConnection.open(context, balancer.port, isTls, CLIENT);
        const seen = seenOf(kept.socket);
        for (const path of ["/", "/again"]) assert.ok((await kept.ask(path)).includes(`\r\n\r\n${seen}`), seen);
        if (!isTls) assert.ok(program.lines.includes(`connection ${seen}`));
        kept.socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
        assert.match(await received(kept.socket), new RegExp(`\r\n\r\n${kept.socket.localPort} ${seen}$`));
      }
    },
  );

for (const [name, create, scheme] of [
  ["http2 without TLS", 'require("node:http2").createServer(answer)', "http"],
  ["http2", `require("node:http2").createSecureServer(${TLS}, answer)`, "https"],
] as const)
  test(`${name}: each stream has the address of its client`, async (context) => {
    const { balancer } = await clusterOf(context, create);
    const session = connectHttp2(`${scheme}://127.0.0.1:${balancer.port}`, {
      rejectUnauthorized: false,
      localAddress: CLIENT,
    } as object);
    context.after(() => session.destroy());
    for (let turn = 0; turn < 2; turn++) {
      const stream = session.request({ ":path": "/" }).setEncoding("utf8");
      let text = "";
      for await (const part of stream) text += part;
      assert.equal(text, seenOf(session.socket as Socket));
    }
  });

test("net: a server that speaks first does so at once, and one of TLS knows its client, also one whose handshake fails", async (context) => {
  const greeting = await clusterOf(context, 'require("node:net").createServer((socket) => socket.end(seen(socket)))');
  const client = await clientAt(context, greeting.balancer.port);
  assert.equal(await received(client), seenOf(client));
  const secure = await clusterOf(
    context,
    `require("node:tls").createServer(${TLS}, (socket) => socket.end(seen(socket)))`,
  );
  const at = { port: secure.balancer.port, host: "127.0.0.1", localAddress: CLIENT, rejectUnauthorized: false };
  const tls = connectTls(at);
  context.after(() => tls.destroy());
  const seen = once(tls, "secureConnect").then(() => seenOf(tls));
  assert.equal(await received(tls), await seen);
  const failing = await clientAt(context, secure.balancer.port);
  const known = seenOf(failing);
  failing.write("no TLS at all");
  await secure.program.line(new RegExp(`^tlsClientError ${known}$`));
});

test("a client with an IPv6 address", async (context) => {
  const { balancer } = await clusterOf(context, HTTP, { hostname: "::1" });
  const socket = connect({ port: balancer.port, host: "::1" });
  context.after(() => socket.destroy());
  await once(socket, "connect");
  socket.write("GET / HTTP/1.0\r\n\r\n");
  assert.ok((await received(socket)).endsWith(`\r\n\r\n::1 ${socket.localPort} IPv6 end`));
});

test("nobody can choose an address: a header of a client, of a local program, with another token or with none is not read", async (context) => {
  const { balancer, program } = await clusterOf(context, HTTP);
  const headers = [undefined, "fedcba9876543210", "0123456789abcdee"].map((token) => proxyHeader(FORGED, HERE, token));
  const request = Buffer.from("GET / HTTP/1.0\r\n\r\n");
  for (const [index, port] of [balancer.port, await program.port].entries())
    for (const header of index === 0 ? [...headers, proxyHeader(FORGED, HERE, TOKEN)] : headers) {
      const client = await clientAt(context, port);
      client.write(Buffer.concat([header, request]));
      assert.match(await received(client), /^HTTP\/1.1 400 /);
    }
  const local = await clientAt(context, await program.port);
  local.write(request);
  assert.ok((await received(local)).endsWith(seenOf(local)));
  assert.deepEqual(
    program.lines.filter((line) => line.includes(FORGED.address)),
    [],
  );
});

test("a header that comes byte by byte, together with a request or long before it", async (context) => {
  const port = await freePort();
  const program = programOf(context, HTTP, port);
  await program.port;
  for (const [source, seen] of [
    [{ address: "192.0.2.1", port: 4_660 }, "192.0.2.1 4660 IPv4 end"],
    [{ address: "2001:db8:0:0:0:0:0:1", port: 1 }, "2001:db8::1 1 IPv6 end"],
  ] as const) {
    const header = proxyHeader(source, HERE, TOKEN);
    const client = (await clientAt(context, port)).setNoDelay();
    for (const byte of header) {
      await new Promise<void>((resolve) => client.write(Uint8Array.of(byte), () => resolve()));
      await new Promise(setImmediate);
    }
    await program.line(new RegExp(`^connection ${seen}$`));
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.ok((await received(client)).endsWith(seen));
    client.write("GET / HTTP/1.0\r\n\r\n");
    assert.ok((await received(client)).endsWith(seen));
  }
});

test("a local program that says nothing gets a greeting after a while; a header that comes later ends the connection", async (context) => {
  const port = await freePort();
  const create =
    'require("node:net").createServer((socket) => socket.on("data", (data) => console.log("data " + data)).write(seen(socket)))';
  const program = programOf(context, create, port);
  await program.port;
  const silent = await Promise.all([clientAt(context, port), clientAt(context, port)]);
  const [first, second] = silent;
  for (const client of silent) assert.equal(await received(client), seenOf(client));
  first.write("hello");
  await program.line(/^data hello$/);
  const closed = once(second, "close");
  second.write(Buffer.concat([proxyHeader(FORGED, HERE, TOKEN), Buffer.from("secret")]));
  await closed;
  first.write("bye");
  await program.line(/^data bye$/);
  assert.deepEqual(
    program.lines.filter((line) => line.includes("secret")),
    [],
  );
});

for (const [name, create, ask, answer] of [
  ["http", HTTP, "GET / HTTP/1.0\r\n\r\n", /127.0.0.1 \d+ IPv4 end$/],
  [
    "an echo",
    'require("node:net").createServer((socket) => socket.on("error", () => undefined).pipe(socket))',
    "hello",
    /^hello$/,
  ],
] as const)
  testBoth(`a program without the module gets no header: ${name}`, async (context) => {
    const { balancer } = await clusterOf(context as TestContext, create, {}, "");
    const client = await clientAt(context as TestContext, balancer.port);
    client.write(ask);
    assert.match(await received(client), answer);
  });

test("a server that another one follows on the port of the instance", async (context) => {
  const port = await freePort();
  const source = `const answer = (request, response) => response.end([request.socket.remotePort, "end"].join(" "));
    const next = () => require("node:http").createServer(answer).listen(${port}, "127.0.0.1");
    const first = next().on("listening", () => console.log("port ${port}"));
    process.on("SIGUSR2", () => first.close(next).closeAllConnections());`;
  const program = new PreloadedProgram(context, source, {
    env: { PROCMAN_CLUSTER_PORT: String(port) },
    task: `proxy=${TOKEN}`,
  });
  await program.port;
  const balancer = await TestBalancer.start(context);
  await balancer.serve([{ id: "a", port, state: "up", proxyToken: TOKEN }]);
  await isServed(balancer);
  const first = await KeptConnection.open(context, balancer.port, false, CLIENT);
  assert.ok((await first.ask()).endsWith(`${first.socket.localPort} end`));
  program.process.kill("SIGUSR2");
  await first.ended();
  const later = await KeptConnection.open(context, balancer.port, false, CLIENT);
  assert.ok((await later.ask()).endsWith(`${later.socket.localPort} end`));
});

test("the processes of node:cluster get their clients without headers", async (context) => {
  const [port, exec] = [await freePort(), join(folder, "inner.cjs")];
  writeFileSync(
    exec,
    `require("node:http").createServer((request, response) => response.end(request.socket.remoteAddress)).listen(${port}, "127.0.0.1");`,
  );
  const source = `const cluster = require("node:cluster");
    cluster.setupPrimary({ exec: ${JSON.stringify(exec)}, execArgv: [] });
    cluster.fork().on("listening", () => console.log("port ${port}"));`;
  const program = new PreloadedProgram(context, source, {
    env: { PROCMAN_CLUSTER_PORT: String(port) },
    task: `proxy=${TOKEN}`,
  });
  await program.port;
  const balancer = await TestBalancer.start(context);
  await balancer.serve([{ id: "a", port, state: "up", proxyToken: TOKEN }]);
  await isServed(balancer);
  const client = await clientAt(context, balancer.port);
  client.write("GET / HTTP/1.0\r\n\r\n");
  assert.ok((await received(client)).endsWith("\r\n\r\n127.0.0.1"));
});

test("with proxyProtocol a server of HTTP reads the header, also when that is taken away, and a plain one gets it, as its program reads it", async (context) => {
  const http = await clusterOf(context, HTTP, { proxyProtocol: true });
  const kept = await KeptConnection.open(context, http.balancer.port, false, CLIENT);
  assert.ok((await kept.ask()).endsWith(seenOf(kept.socket)));
  await http.balancer.serve([http.backend], { proxyProtocol: false });
  const later = await KeptConnection.open(context, http.balancer.port, false, CLIENT);
  assert.ok((await later.ask()).endsWith(seenOf(later.socket)));
  const plain = await clusterOf(
    context,
    'require("node:net").createServer((socket) => socket.on("error", () => undefined).pipe(socket))',
    {
      proxyProtocol: true,
    },
  );
  const client = await clientAt(context, plain.balancer.port);
  assert.match(await received(client), /^\r\n\r\n\0\r\nQUIT\n/);
});

testBoth(
  "a successor of the balancer asks anew, and the clients that wait in the former one keep their addresses",
  async (context) => {
    const { balancer, program, backend } = await clusterOf(context as TestContext, HTTP);
    await balancer.serve([{ ...backend, state: "down" }]);
    const waiting = await clientAt(context as TestContext, balancer.port);
    waiting.write("GET / HTTP/1.0\r\n\r\n");
    await eventually(() => (balancer.report?.waiting === 1 ? true : undefined));
    assert.equal((await balancer.succeed()).t, "succeeded");
    assert.ok((await received(waiting)).endsWith(seenOf(waiting)));
    await balancer.serviceComes();
    await balancer.serve([backend]);
    await isServed(balancer);
    const kept = await KeptConnection.open(context, balancer.port, false, CLIENT);
    assert.ok((await kept.ask()).endsWith(seenOf(kept.socket)));
    assert.deepEqual(
      program.lines.filter((line) => line.startsWith("connection 127.0.0.1")),
      CLIENT === "127.0.0.1" ? program.lines.slice(1) : [],
    );
  },
);

test("a connection whose header was read gets its answer when the program is told to stop; silent ones don't keep it", async (context) => {
  const { balancer, program } = await clusterOf(context, HTTP);
  const kept = await KeptConnection.open(context, balancer.port, false, CLIENT);
  const silent = await clientAt(context, await program.port);
  await program.line(/^connection /);
  program.process.kill("SIGTERM");
  await program.refuses(context);
  assert.match(await kept.ask(), /^HTTP\/1.1 200 OK\r\n(?:.*\r\n)*?connection: close\r\n/i);
  silent.destroy();
  assert.equal(await program.ended, 0);
});

test("the question is not a connection of the program", async (context) => {
  const port = await freePort();
  const program = programOf(context, HTTP, port);
  await program.port;
  const client = await clientAt(context, port);
  client.write(localHeader(TOKEN));
  assert.equal(Buffer.from(await received(client), "latin1").toString("hex"), TOKEN);
  await once(client, "close");
  assert.deepEqual(program.lines, [`port ${port}`]);
});

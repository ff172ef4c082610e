/** A Node program that counts the connections of its server for procman, and is asked to end while it may just have got one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { monotonicMs } from "../../src/core/os/clock.ts";
import { readClients } from "../../src/core/service/spawn/clients-file.ts";
import { freePort } from "../support/free-ports.ts";
import { PreloadedProgram } from "../support/preload-rig.ts";
import { eventually } from "../support/procman-process.ts";

const LISTEN = 'server.listen(8080, () => console.log("port " + server.address().port));';
const HTTP = `const server = require("node:http").createServer((request, response) => response.end("end"))
  .on("upgrade", (request, socket) => { socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n"); socket.pipe(socket); });`;
const NET = 'const server = require("node:net").createServer((socket) => socket.pipe(socket));';

type Counting = { readonly program: PreloadedProgram; readonly count: () => ReturnType<typeof readClients> };

/** `flags`: how the file is opened to which it writes. */
async function counting(context: TestContext, source: string, idle?: number, flags = "wx"): Promise<Counting> {
  const folder = mkdtempSync(join(tmpdir(), "procman-count-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "clients");
  if (flags === "r") writeFileSync(file, "");
  const program = new PreloadedProgram(context, source, {
    task: "clients=6",
    clients: openSync(file, flags),
    env: { PROCMAN_CLUSTER_PORT: String(await freePort()) },
    ...(idle !== undefined && { idle }),
  });
  return { program, count: () => readClients(file) };
}

async function connected(context: TestContext, { program }: Counting): Promise<Socket> {
  const socket = connect(await program.port, "127.0.0.1").on("error", () => undefined);
  context.after(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Resolves with the count, once that many connections are open. */
function open(own: Counting, wanted: number) {
  return eventually(() => {
    const now = own.count();
    return typeof now === "object" && now.open === wanted ? now : undefined;
  });
}

test("it tells how many connections are open, since when it has clients, and when one came or went last", async (context) => {
  const own = await counting(context, HTTP + LISTEN);
  const start = monotonicMs();
  assert.equal((await open(own, 0)).first, undefined);
  const [one, other] = [await connected(context, own), await connected(context, own)];
  const { first = 0, last } = await open(own, 2);
  assert.ok(first >= Math.floor(start) && last >= first);
  one.destroy();
  other.destroy();
  const end = await open(own, 0);
  assert.ok(end.first === first && end.last >= last && end.last <= monotonicMs());
});

test("a program lives on and serves when nothing can be written, as on a full disk, and when it has closed the file", async (context) => {
  const answer = (own: Counting): Promise<string> =>
    own.program.port.then(async (port) => (await fetch(`http://127.0.0.1:${port}`)).text());
  const full = await counting(context, HTTP + LISTEN, undefined, "r");
  for (let turn = 0; turn < 3; turn++) assert.equal(await answer(full), "end");
  assert.equal(full.count(), "none");
  const folder = mkdtempSync(join(tmpdir(), "procman-count-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "own");
  const reopening = `const fs = require("fs"); fs.closeSync(6);
    if (fs.openSync(${JSON.stringify(file)}, "w") !== 6) throw new Error("another descriptor");`;
  const closed = await counting(context, reopening + HTTP + LISTEN);
  for (let turn = 0; turn < 3; turn++) assert.equal(await answer(closed), "end");
  assert.deepEqual([closed.count(), readFileSync(file, "utf8")], ["none", ""]);
});

test("a program that doesn't listen, and one whose workers accept, count nothing", async (context) => {
  const silent = await counting(context, 'console.log("port 1"); setInterval(() => undefined, 1_000);');
  await silent.program.port;
  assert.equal(silent.count(), "none");
  const folder = mkdtempSync(join(tmpdir(), "procman-count-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const worker = join(folder, "worker.js");
  writeFileSync(
    worker,
    'require("http").createServer((request, response) => response.end("end")).listen(process.env.PROCMAN_CLUSTER_PORT);',
  );
  const workers = await counting(
    context,
    `const cluster = require("node:cluster");
     cluster.setupPrimary({ exec: ${JSON.stringify(worker)}, execArgv: [] });
     const worker = cluster.fork().on("listening", () => console.log("port " + process.env.PROCMAN_CLUSTER_PORT));
     process.on("exit", () => worker.kill());`,
  );
  const client = await connected(context, workers);
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  assert.match(String((await once(client, "data"))[0]), /^HTTP\/1\.1 200 OK/);
  assert.equal(workers.count(), "none");
  workers.program.process.kill("SIGTERM");
  await workers.program.ended;
});

for (const [name, create, hello, greeting] of [
  ["upgraded", HTTP, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", /101 Switching/],
  ["plain net", NET, "hello", /^hello$/],
] as const)
  test(`a program without a handler ends by the signal when its ${name} connection has ended, also if it is asked twice`, async (context) => {
    const own = await counting(context, create + LISTEN);
    const client = await connected(context, own);
    client.write(hello);
    assert.match(String((await once(client, "data"))[0]), greeting);
    own.program.process.kill("SIGTERM");
    await own.program.refuses(context);
    own.program.process.kill("SIGTERM");
    client.write("still here");
    assert.equal(String((await once(client, "data"))[0]), "still here");
    client.end();
    assert.equal(await own.program.ended, "SIGTERM");
  });

for (const [name, create] of [
  ["http", HTTP],
  ["net", NET],
] as const)
  test(`${name}: a handler of the program is the only one that is left when it is called, and closes the server as always`, async (context) => {
    const handler = `process.once("SIGTERM", () => {
      console.log("told " + process.listenerCount("SIGTERM"));
      server.close((error) => console.log("closed " + error?.code));
    });`;
    const own = await counting(context, create + handler + LISTEN, 200);
    const client = await connected(context, own);
    await open(own, 1);
    own.program.process.kill("SIGTERM");
    assert.equal(await own.program.line(/^told (\d)$/), "0");
    client.end();
    assert.equal(await own.program.line(/^closed (\w+)$/), "undefined");
    assert.equal(await own.program.ended, 0);
  });

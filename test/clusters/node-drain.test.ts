/** `"node": true`: what the module that Node loads first does with kept connections. Without a procman: runs on each version of Node. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { certificateIn } from "../support/certificate.ts";
import { KeptConnection, PreloadedProgram } from "../support/preload-rig.ts";

/** Prints what happens. `/slow` waits for SIGUSR2, `/begun` sends its head at once. Once told to stop, it answers 503, as Fastify. */
const SERVER = `
let isStopping = false;
const answer = (request, response) => {
  if (request.url === "/slow") return void process.once("SIGUSR2", () => response.end("end"));
  if (request.url === "/begun") {
    response.write("head ");
    return void process.once("SIGUSR2", () => response.end("end"));
  }
  if (request.url === "/explicit") response.writeHead(200, request.httpVersionMajor === 1 ? { Connection: "keep-alive" } : {});
  else if (isStopping) response.statusCode = 503;
  response.end("end");
};
const server = CREATE;
server.keepAliveTimeout = 600_000;
server.on("upgrade", (request, socket) => {
  socket.on("data", (data) => socket.write(data)).on("error", () => undefined);
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\nend");
});
server.on("close", () => console.log("closed"));
server.on("listening", () => console.log("port " + server.address().port));
server.listen(0, "127.0.0.1");
const stop = () => {
  isStopping = true;
  console.log("told");
  server.close((error) => {
    console.log("close " + error?.code);
    process.exit();
  });
};
`;
const HTTP = SERVER.replace("CREATE", 'require("node:http").createServer(answer)');
const ON_SIGTERM = 'process.on("SIGTERM", stop);';

const folder = mkdtempSync(join(tmpdir(), "procman-drain-"));
test.after(() => rmSync(folder, { recursive: true, force: true }));
const { certificate, key } = certificateIn(folder, {});
const TLS = JSON.stringify({ cert: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") });

const IS_LAST = /^HTTP\/1.1 200 OK\r\n(?:.*\r\n)*?connection: close\r\n/i;
const IS_KEPT = /^HTTP\/1.1 200 OK\r\n(?:.*\r\n)*?connection: keep-alive\r\n/i;

async function opened(context: TestContext, program: PreloadedProgram, isTls = false): Promise<KeptConnection> {
  return KeptConnection.open(context, await program.port, isTls);
}

for (const [name, create, isTls] of [
  ["http", 'require("node:http").createServer(answer)', false],
  ["https", `require("node:https").createServer(${TLS}, answer)`, true],
  [
    "http2 that allows HTTP/1.1",
    `require("node:http2").createSecureServer({ ...${TLS}, allowHTTP1: true }, answer)`,
    true,
  ],
] as const)
  test(`${name}: kept connections get an answer and end with it before the program is told to stop, also those without a request and with one under way`, async (context) => {
    const program = new PreloadedProgram(context, SERVER.replace("CREATE", create) + ON_SIGTERM);
    const [used, fresh] = [await opened(context, program, isTls), await opened(context, program, isTls)];
    assert.match(await used.ask(), IS_KEPT);
    const slow = await opened(context, program, isTls);
    assert.match(await slow.ask(), IS_KEPT);
    const answer = slow.ask("/slow");
    program.process.kill("SIGTERM");
    await program.refuses(context);
    assert.match(await used.ask(), IS_LAST);
    await used.ended();
    assert.deepEqual(program.lines.slice(1), []);
    assert.match(await fresh.ask("/explicit"), IS_LAST);
    await fresh.ended();
    assert.deepEqual(program.lines.slice(1), []);
    program.process.kill("SIGUSR2");
    assert.match(await answer, IS_LAST);
    assert.equal(await program.ended, 0);
    assert.deepEqual(program.lines.slice(1), ["told", "closed", "close undefined"]);
  });

test("a connection on which nothing is asked ends after a while, and the program with it", async (context) => {
  const program = new PreloadedProgram(context, HTTP + ON_SIGTERM, { idle: 300 });
  const kept = await opened(context, program);
  assert.match(await kept.ask(), IS_KEPT);
  program.process.kill("SIGTERM");
  assert.equal(await program.ended, 0);
  await kept.ended();
});

test("a server that the program closes by itself keeps its connections, too, and no event comes twice", async (context) => {
  const program = new PreloadedProgram(
    context,
    `${HTTP}process.on("SIGHUP", stop); setTimeout(() => undefined, 600_000);`,
  );
  const kept = await opened(context, program);
  assert.match(await kept.ask("/explicit"), IS_KEPT);
  program.process.kill("SIGHUP");
  await program.line(/^told$/);
  await program.refuses(context);
  assert.match(await kept.ask("/explicit"), IS_LAST);
  assert.equal(await program.ended, 0);
  assert.deepEqual(program.lines.slice(1), ["told", "closed", "close undefined"]);
});

test("what the program ends itself is ended: closeIdleConnections, closeAllConnections, a second signal", async (context) => {
  for (const method of ["closeIdleConnections", "closeAllConnections"]) {
    const program = new PreloadedProgram(
      context,
      `${HTTP}process.on("SIGHUP", () => { stop(); server.${method}(); });`,
    );
    const kept = await opened(context, program);
    assert.match(await kept.ask(), IS_KEPT);
    program.process.kill("SIGHUP");
    await kept.ended();
    assert.equal(await program.ended, 0);
  }
  const program = new PreloadedProgram(context, `${HTTP}process.on("SIGTERM", () => process.exit(7));`);
  const kept = await opened(context, program);
  assert.match(await kept.ask(), IS_KEPT);
  program.process.kill("SIGTERM");
  await program.refuses(context);
  program.process.kill("SIGTERM");
  assert.equal(await program.ended, 7);
});

test("a WebSocket, and an answer that has begun, don't delay the signal", async (context) => {
  const program = new PreloadedProgram(context, `${HTTP}process.on("SIGTERM", () => console.log("told"));`);
  const [begun, upgraded] = [await opened(context, program), await opened(context, program)];
  const answer = begun.ask("/begun");
  await once(begun.socket, "data");
  upgraded.socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
  assert.match(await upgraded.answer(), /^HTTP\/1.1 101/);
  program.process.kill("SIGTERM");
  await program.line(/^told$/);
  upgraded.socket.write("still here");
  assert.deepEqual(await once(upgraded.socket, "data"), ["still here"]);
  program.process.kill("SIGUSR2");
  assert.match(await answer, IS_KEPT);
});

test("a program without a handler ends by the signal at once, one without a server gets it at once", async (context) => {
  const program = new PreloadedProgram(context, HTTP);
  const kept = await opened(context, program);
  assert.match(await kept.ask(), IS_KEPT);
  program.process.kill("SIGTERM");
  assert.equal(await program.ended, "SIGTERM");
  const plain = new PreloadedProgram(
    context,
    'process.on("SIGTERM", () => process.exit(3)); setInterval(() => 0, 1e6); console.log("up");',
  );
  await plain.line(/^up$/);
  plain.process.kill("SIGTERM");
  assert.equal(await plain.ended, 3);
});

for (const [name, create, scheme] of [
  ["http2", 'require("node:http2").createServer(answer)', "http"],
  ["http2 with TLS", `require("node:http2").createSecureServer(${TLS}, answer)`, "https"],
] as const)
  test(`${name}: GOAWAY ends the connection; streams under way are answered, later ones refused, so that a client may repeat them`, async (context) => {
    const program = new PreloadedProgram(context, SERVER.replace("CREATE", create) + ON_SIGTERM);
    const session = connectHttp2(`${scheme}://127.0.0.1:${await program.port}`, { rejectUnauthorized: false });
    context.after(() => session.destroy());
    const outcomes = new Map<string, number>();
    const count = (outcome: string): number =>
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1).get(outcome) ?? 0;
    const ask = async (path: string): Promise<void> => {
      const stream = session.request({ ":path": path });
      await once(stream, "response").then(
        ([headers]) => count(String(headers[":status"])) === 200 && program.process.kill("SIGTERM"),
        () => count(`refused ${stream.rstCode}`),
      );
      if (!stream.resume().closed) await once(stream, "close").catch(() => undefined);
    };
    const slow = ask("/begun");
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!session.closed) await ask("/explicit");
      }),
    );
    program.process.kill("SIGUSR2");
    await slow;
    if (!session.destroyed) await once(session, "close");
    assert.equal(await program.ended, 0);
    assert.ok((outcomes.get("200") ?? 0) >= 200);
    outcomes.delete("200");
    outcomes.delete("refused 7");
    assert.deepEqual([...outcomes], []);
  });

/** Connections without a valid token: each turn of the event loop belongs to one request of one of them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { type ApiRig, startApi } from "../../../test/support/control-rig.ts";

const OPTIONS = "OPTIONS /processes HTTP/1.1\r\nHost: localhost\r\n\r\n";

async function connection(context: TestContext, api: ApiRig): Promise<Socket> {
  const socket = connect(api.port, "127.0.0.1");
  context.after(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Turns of the event loop. */
function turns(): { readonly now: () => number; readonly stop: () => void } {
  let count = 0;
  let timer = setImmediate(function next() {
    count += 1;
    timer = setImmediate(next);
  });
  return { now: () => count, stop: () => clearImmediate(timer) };
}

test("of requests that come together each is handled in its own turn, on all connections together", async (context) => {
  const api = await startApi(context);
  const handled: number[] = [];
  const clock = turns();
  context.after(() => clock.stop());
  api.api.local.on("request", () => handled.push(clock.now()));
  const sockets = await Promise.all([1, 2].map(() => connection(context, api)));
  for (const socket of sockets) socket.write(OPTIONS.repeat(500));
  await Promise.all(sockets.map((socket) => once(socket.resume(), "close")));
  assert.equal(handled.length, 200, "each has 100 requests, then it is closed");
  assert.equal(new Set(handled).size, 200);
});

test("a connection with a valid token is read as it comes: 300 requests", async (context) => {
  const api = await startApi(context);
  const socket = await connection(context, api);
  let answers = 0;
  socket.setEncoding("latin1").on("data", (text: string) => {
    answers += text.split("HTTP/1.1 200").length - 1;
  });
  const request = `GET /processes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.token()}\r\n\r\n`;
  socket.write(request.repeat(300));
  while (answers < 300) await once(socket, "data");
});

test("a request whose headers and body come in pieces is read to its end", async (context) => {
  const api = await startApi(context);
  const socket = await connection(context, api);
  const { code } = await api.client().dashboardCode();
  const body = JSON.stringify({ code });
  const head = `POST /dashboard/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  for (const character of `${head}${body}${OPTIONS}`) {
    socket.write(character);
    await new Promise(setImmediate);
  }
  let answer = "";
  while (!/HTTP\/1\.1 204/.test(answer)) answer += String((await once(socket, "data"))[0]);
  assert.match(answer, /^HTTP\/1\.1 200 OK[\s\S]*"token":/);
});

test("connections of one address can't close those of another", async (context) => {
  const api = await startApi(context, { crowded: 20 });
  const other = connect({ port: api.port, host: "127.0.0.1", localAddress: "127.0.0.2" });
  context.after(() => void other.destroy());
  await once(other, "connect");
  for (let count = 0; count < 60; count += 1) await connection(context, api);
  other.write(OPTIONS);
  assert.match(String((await once(other, "data"))[0]), /^HTTP\/1\.1 204/);
});

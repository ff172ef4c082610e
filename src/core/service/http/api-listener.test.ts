/** The socket of the API before the API is loaded. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { holderOfPort } from "../../os/port-owner.ts";
import { ApiListener } from "./api-listener.ts";

test("early connections wait, and are answered by the API; then the port is free again", async () => {
  let knocks = 0;
  const doorway = new ApiListener(() => knocks++);
  const port = await doorway.open("127.0.0.1", undefined, undefined);
  const early = [1, 2].map(async () => (await fetch(`http://127.0.0.1:${port}/`)).text());
  while (knocks < 2) await new Promise((resolve) => setTimeout(resolve, 2));
  const http = createHttpServer((_request, response) => void response.end("here"));
  await doorway.handOver(http);
  assert.deepEqual(await Promise.all(early), ["here", "here"]);
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "here");
  doorway.close();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
  const next = new ApiListener(() => undefined);
  assert.equal(await next.open("127.0.0.1", port, undefined), port);
  next.close();
  assert.equal(holderOfPort(port), undefined);
});

test("a port that is taken: its holder is named; a previous port that is taken is replaced by any other", async (context) => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  context.after(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const doorway = new ApiListener(() => undefined);
  await assert.rejects(
    doorway.open("127.0.0.1", port, undefined),
    new RegExp(`EADDRINUSE.*${port}, by node \\(pid ${process.pid}\\)$`),
  );
  const found = await doorway.open("127.0.0.1", undefined, port);
  assert.ok(found >= 24_000 && found < 32_768, `${found} could be given to a client`);
  doorway.close();
});

test("a port that others need is not chosen", async () => {
  const all = Array.from({ length: 8_768 }, (_, index) => 24_000 + index);
  for (const reserved of [new Set(all), new Set(all.filter((port) => port % 2 === 1))]) {
    const doorway = new ApiListener(() => undefined, reserved);
    assert.ok(!reserved.has(await doorway.open("127.0.0.1", undefined, undefined)));
    doorway.close();
  }
});

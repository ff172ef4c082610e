/** The handles below `net`: what the balancer relies on. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { connectRequest, type Handle, isToItself, newSocket } from "./sockets.ts";

function connected(socket: Handle, port: number): Promise<number> {
  return new Promise((resolve) => {
    const request = connectRequest();
    request.oncomplete = resolve;
    assert.equal(socket.connect(request, "127.0.0.1", port), 0);
  });
}

test("a socket that is connected to itself is told from one that somebody has accepted", async () => {
  const server = createServer((client) => client.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  const other = newSocket();
  assert.equal(await connected(other, port), 0);
  assert.equal(isToItself(other, port), false);
  other.close();
  server.close();
  await once(server, "close");
  const own = newSocket();
  assert.equal(own.bind("127.0.0.1", port), 0);
  assert.equal(await connected(own, port), 0);
  assert.equal(isToItself(own, port), true);
  own.close();
});

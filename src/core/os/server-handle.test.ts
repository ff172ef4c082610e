/** The undocumented handle of Node that shared sockets need. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { test } from "node:test";
import { handleOf, isListeningHandle } from "./server-handle.ts";

test("a listening server has a handle that can be sent to another process", async (context) => {
  const server = createServer().listen(0, "127.0.0.1");
  context.after(() => void server.close());
  await once(server, "listening");
  const handle = handleOf(server);
  assert.ok(handle.fd > 2 && isListeningHandle(handle));
  assert.equal(handle.setBlocking(true), 0);
});

test("for a Node without such a handle the error names its version and the remedy", () => {
  for (const _handle of [undefined, null, {}, { fd: -1, setBlocking: () => 0 }, { fd: 3 }])
    assert.throws(
      () => handleOf({ _handle } as unknown as Server),
      /Node v\d+.* doesn't pass listening sockets .*; use another version/,
    );
  for (const handle of [undefined, null, {}, { fd: -1, close: () => undefined }, { fd: 3 }])
    assert.ok(!isListeningHandle(handle));
});

/** Clients on sockets from which nobody accepts. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import type { ToKeeper } from "../../ipc/keeper-protocol.ts";
import type { ListeningHandle } from "../../os/server-handle.ts";
import { QueueWatch } from "./queue-watch.ts";

const SOCKET = { hostname: "127.0.0.1", port: 80 };
const ADDRESS = "127.0.0.1 80";

function rig(isSupported = true) {
  const asked: ToKeeper[] = [];
  let call = (): void => undefined;
  let calls = 0;
  const called = new Promise<void>((resolve) => {
    call = resolve;
  });
  const link = { send: (message: ToKeeper): void => void asked.push(message) };
  const watch = new QueueWatch(link, () => {
    calls += 1;
    call();
  });
  watch.isSupported = isSupported;
  return { watch, asked, called, calls: () => calls };
}

/** A listening socket that another process has opened, as the keeper sends it. */
async function opened(): Promise<{ readonly handle: ListeningHandle; readonly port: number }> {
  const source = `const server = require("net").createServer().listen(0, "127.0.0.1", () => {
    process.send({ port: server.address().port }, server._handle);
    process.exit();
  });`;
  const opener = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [{ port }, handle] = (await once(opener, "message")) as [{ port: number }, ListeningHandle];
  return { handle, port };
}

/** Whether the port is open. The kernel resets a connection that was made while the socket was being closed. */
function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const client = connect(port, "127.0.0.1", () => client.resume());
    client.on("error", ({ code }: NodeJS.ErrnoException) => resolve(code !== "ECONNREFUSED"));
  });
}

test("the watch reports a waiting client once, also one that came before the watch, and leaves it in the queue", async () => {
  const { handle, port } = await opened();
  const early = connect(port, "127.0.0.1");
  await once(early, "connect");
  const { watch, asked, called, calls } = rig();
  assert.equal(watch.hasClient(SOCKET), false);
  assert.equal(watch.hasClient(SOCKET), false);
  assert.deepEqual(asked, [{ t: "copy", listening: SOCKET }]);
  watch.take(ADDRESS, handle);
  await called;
  assert.deepEqual([watch.hasClient(SOCKET), calls()], [true, 1]);
  early.destroy();
});

test("the watch reports a client when it comes", async () => {
  const { handle, port } = await opened();
  const { watch, called, calls } = rig();
  watch.hasClient(SOCKET);
  watch.take(ADDRESS, handle);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(calls(), 0);
  const client = connect(port, "127.0.0.1");
  await called;
  assert.equal(watch.hasClient(SOCKET), true);
  client.destroy();
});

test("a watch that is no longer wanted closes its socket, also one that arrives later", async () => {
  const { watch, calls } = rig();
  const [one, other] = [await opened(), await opened()];
  watch.hasClient(SOCKET);
  watch.take(ADDRESS, one.handle);
  watch.retain([SOCKET]);
  watch.retain([]);
  watch.take(ADDRESS, other.handle);
  for (const { port } of [one, other]) while (await isOpen(port)) assert.equal(calls(), 0);
  assert.equal(calls(), 0);
});

test("a socket that can't be opened, and a keeper that sends none, count as a client: the start says what is wrong", () => {
  const { watch, calls } = rig();
  watch.hasClient(SOCKET);
  watch.take(ADDRESS, undefined);
  assert.deepEqual([watch.hasClient(SOCKET), calls()], [true, 1]);
  const old = rig(false);
  assert.deepEqual([old.watch.hasClient(SOCKET), old.asked], [true, []]);
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import type { InheritedSocket } from "../os/inherited-sockets.ts";
import { handleOf } from "../os/server-handle.ts";
import { ComponentProcess, Watchdog } from "./channel.ts";

/** Sends back each array as it came. */
const ECHO = 'process.on("message", (messages) => process.send([messages]))';

/** A process that echoes, and the arrays that it was sent. */
function echo(context: TestContext): {
  readonly child: ComponentProcess<string, readonly string[]>;
  readonly next: () => Promise<unknown>;
} {
  const child = new ComponentProcess<string, readonly string[]>([process.execPath, "-e", ECHO], process.env);
  context.after(() => child.kill());
  const [received, waiting]: [unknown[], ((messages: unknown) => void)[]] = [[], []];
  child.listen({
    messages: ([messages]) => (waiting.length > 0 ? waiting.shift()?.(messages) : received.push(messages)),
    exit: ({ code, signal }) => assert.equal(signal, "SIGKILL", `exit code ${code}`),
  });
  return {
    child,
    next: () =>
      received.length > 0 ? Promise.resolve(received.shift()) : new Promise((resolve) => waiting.push(resolve)),
  };
}

test("deferred messages are sent together with the next message, in order", async (context) => {
  const { child, next } = echo(context);
  child.send("born", "deferred");
  child.send("urgent");
  child.send("born too", "deferred");
  assert.deepEqual(await next(), ["born", "urgent", "born too"]);
});

test("deferred messages are sent by themselves after a few milliseconds", async (context) => {
  const { child, next } = echo(context);
  child.send("one", "deferred");
  child.send("other", "deferred");
  assert.deepEqual(await next(), ["one", "other"]);
  child.send("last", "deferred");
  assert.deepEqual(await next(), ["last"]);
});

test("an urgent message is sent at once; further ones of the same moment follow as one array", async (context) => {
  const { child, next } = echo(context);
  const all = Array.from({ length: 100 }, (_, index) => String(index));
  for (const each of all) child.send(each, "now");
  const first = await next();
  assert.deepEqual(first, ["0"]);
  const [received, arrays]: [unknown[], unknown[]] = [[first].flat(), []];
  while (received.length < all.length) arrays.push(received.push(...([await next()].flat() as unknown[])));
  assert.deepEqual(received, all);
  assert.ok(arrays.length < 20, String(arrays));
});

test("a wait for messages to be in the channel ends when the process is killed, also behind a socket that it has not received", async (context) => {
  const server = createServer().listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const { child, next } = echo(context);
  child.send("up");
  await next();
  process.kill(child.pid ?? 0, "SIGSTOP");
  const socket = handleOf(server) as unknown as InheritedSocket;
  await child.shareSocket({ t: "keep", address: "127.0.0.1:1" }, socket);
  const second = child.shareSocket({ t: "keep", address: "127.0.0.1:2" }, socket);
  child.send("behind them");
  const flushed = child.flush();
  child.kill();
  await Promise.all([second, flushed]);
  assert.equal(child.isRunning, false);
});

test("a service that answers none of three pings hangs, and its successor gets the same time", () => {
  const watchdog = new Watchdog();
  assert.deepEqual(
    [1, 2, 3].map(() => watchdog.count()),
    [undefined, undefined, undefined],
  );
  assert.equal(watchdog.count(), 30_000);
  assert.deepEqual(
    [1, 2].map(() => watchdog.count()),
    [undefined, undefined],
  );
});

test("a service that answers one of three pings does not hang", () => {
  const watchdog = new Watchdog();
  for (let ping = 1; ping <= 20; ping++) {
    assert.equal(watchdog.count(), undefined);
    if (ping % 3 === 0) watchdog.answered();
  }
});

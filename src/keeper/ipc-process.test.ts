import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { IpcProcess } from "./ipc-process.ts";

/** Sends back each array as it came. */
const ECHO = 'process.on("message", (messages) => process.send([messages]))';

/** A process that echoes, and the arrays that it was sent. */
function echo(context: TestContext): { readonly companion: IpcProcess<string, readonly string[]>; readonly next: () => Promise<unknown> } {
  const companion = new IpcProcess<string, readonly string[]>([process.execPath, "-e", ECHO], process.env);
  context.after(() => companion.kill());
  const [heard, waiting]: [unknown[], ((messages: unknown) => void)[]] = [[], []];
  companion.events = {
    messages: ([messages]) => (waiting.length > 0 ? waiting.shift()?.(messages) : heard.push(messages)),
    exit: ({ code, signal }) => assert.equal(signal, "SIGKILL", `exit code ${code}`),
  };
  return {
    companion,
    next: () => (heard.length > 0 ? Promise.resolve(heard.shift()) : new Promise((resolve) => waiting.push(resolve))),
  };
}

test("deferred messages are sent together with the next message, in order", async (context) => {
  const { companion, next } = echo(context);
  companion.send("born", "deferred");
  companion.send("urgent");
  companion.send("born too", "deferred");
  assert.deepEqual(await next(), ["born", "urgent", "born too"]);
});

test("deferred messages are sent by themselves after a few milliseconds", async (context) => {
  const { companion, next } = echo(context);
  companion.send("one", "deferred");
  companion.send("other", "deferred");
  assert.deepEqual(await next(), ["one", "other"]);
  companion.send("last", "deferred");
  assert.deepEqual(await next(), ["last"]);
});

test("an urgent message is sent at once; further ones of the same moment follow as one array", async (context) => {
  const { companion, next } = echo(context);
  const all = Array.from({ length: 100 }, (_, index) => String(index));
  for (const each of all) companion.send(each, "now");
  const first = await next();
  assert.deepEqual(first, ["0"]);
  const [heard, arrays]: [unknown[], unknown[]] = [[first].flat(), []];
  while (heard.length < all.length) arrays.push(heard.push(...([await next()].flat() as unknown[])));
  assert.deepEqual(heard, all);
  assert.ok(arrays.length < 20, String(arrays));
});

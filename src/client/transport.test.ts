/** Requests by `fetch`. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { ProcmanError } from "../core/base/errors.ts";
import { Client } from "./client.ts";
import { fetchSend } from "./transport.ts";

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test("without an answer, requests and streams reject with a code, the address and the reason", async () => {
  const url = `http://127.0.0.1:${await closedPort()}`;
  const client = new Client(fetchSend({ url, token: "x" }));
  const stream = client.events(undefined, new AbortController().signal)[Symbol.asyncIterator]();
  for (const attempt of [client.processes(), stream.next()])
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof ProcmanError && error.cause instanceof TypeError);
      assert.equal(error.code, "service-down");
      assert.ok(
        error.message.startsWith(`Cannot reach procman at ${url}: `) && error.message.includes("ECONNREFUSED"),
        error.message,
      );
      return true;
    });
});

test("a request that a service leaves to its successor is sent again", async () => {
  const answers = [new Response("{}", { status: 503, headers: { "retry-after": "0" } }), Response.json([])];
  const fetch = (): Promise<Response> => Promise.resolve(answers.shift() as Response);
  assert.deepEqual(await new Client(fetchSend({ url: "http://127.0.0.1:1", token: "x", fetch })).processes(), []);
});

test("an aborted request rejects with the signal's reason", async () => {
  const fetch: typeof globalThis.fetch = (_url, init) => Promise.reject(init?.signal?.reason as Error);
  const client = new Client(fetchSend({ url: "http://127.0.0.1:1", token: "x", fetch }));
  const signal = AbortSignal.abort(new RangeError("mine"));
  await assert.rejects(client.act("web", "stop", { signal }), RangeError);
});

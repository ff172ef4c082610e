/** Streams that reconnect. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../core/base/errors.ts";
import { Client } from "./client.ts";
import type { Reply, Request } from "./transport.ts";

function reply(status: number, ...pieces: readonly string[]): Reply {
  const body = (async function* (): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      if (piece === "break") throw new TypeError("the connection is gone");
      yield new TextEncoder().encode(piece);
    }
  })();
  return { status, headers: { get: () => null }, text: async () => pieces.join(""), body };
}

const event = (id: string): string => `id: ${id}\nevent: log\ndata: {"id":"${id}"}\n\n`;

/** Answers in order; a request beyond the script fails. */
function scripted(...script: readonly (Reply | Error)[]): { readonly client: Client; readonly asked: Request[] } {
  const asked: Request[] = [];
  const client = new Client(async (request) => {
    const next = script[asked.push(request) - 1] ?? new TypeError("no answer");
    if (next instanceof Error) throw next;
    return next;
  });
  return { client, asked };
}

test("a broken stream continues after the last event, also if there is no answer for a while", async () => {
  const busy = JSON.stringify({ code: "too-many-streams", detail: "Cannot open another stream" });
  const { client, asked } = scripted(
    reply(200, "retry: 1\n\n", event("1"), event("2"), 'id: 3\ndata: {"id', "break"),
    new TypeError("no answer"),
    reply(503, busy),
    reply(200, event("3")),
    reply(200, event("4")),
  );
  const stop = new AbortController();
  const ids: string[] = [];
  for await (const { id } of client.events("0", stop.signal)) {
    ids.push(id);
    if (id === "4") stop.abort();
  }
  assert.deepEqual(ids, ["1", "2", "3", "4"]);
  assert.deepEqual(
    asked.map(({ path, headers }) => [path, headers["last-event-id"]]),
    // An id takes effect once its event is complete.
    [undefined, "2", "2", "2", "3"].map((id) => ["/events?after=0", id]),
  );
});

test("a client that was too slow for a moment continues after its last event", async () => {
  const lost = JSON.stringify({ code: "events-lost", detail: "Cannot send all events" });
  const { client, asked } = scripted(
    reply(200, "retry: 1\n\n", event("1"), `event: problem\ndata: ${lost}\n\n`),
    reply(200, event("2")),
  );
  const ids: string[] = [];
  for await (const { id } of client.events(undefined, new AbortController().signal)) {
    ids.push(id);
    if (id === "2") break;
  }
  assert.deepEqual(ids, ["1", "2"]);
  assert.equal(asked[1]?.headers["last-event-id"], "1");
});

test("errors that a retry can't resolve are thrown: at first all errors, later those of procman itself", async () => {
  const next = (client: Client): Promise<unknown> =>
    client.events(undefined, new AbortController().signal)[Symbol.asyncIterator]().next();
  await assert.rejects(next(scripted().client), /no answer/);
  const refused = JSON.stringify({ code: "unauthorized", detail: "Cannot answer: no" });
  await assert.rejects(
    next(scripted(reply(401, refused)).client),
    (error) => error instanceof ProcmanError && error.code === "unauthorized",
  );
  await assert.rejects(next(scripted(reply(502, "<html>")).client), /502: the server is not procman/);
  const ended = scripted(reply(200, `event: problem\ndata: ${refused}\n\n`));
  await assert.rejects(next(ended.client), (error) => error instanceof ProcmanError && error.code === "unauthorized");
});

test("a consumer that stops early ends the request", async () => {
  const { client, asked } = scripted(reply(200, event("1"), event("2")));
  for await (const { id } of client.events(undefined, new AbortController().signal)) {
    assert.equal(id, "1");
    break;
  }
  assert.equal(asked.length, 1);
});

test("an observer is told of each connection and each loss of the stream of events, none of other streams", async () => {
  const seen: string[] = [];
  const script = [reply(200, "retry: 1\n\n", event("1"), "break"), new TypeError("no answer"), reply(200, event("2"))];
  const send = async (): Promise<Reply> => {
    const next = script.shift();
    if (!(next instanceof Error) && next !== undefined) return next;
    throw next ?? new TypeError("no answer");
  };
  const client = new Client(send, {
    opened: () => seen.push("opened"),
    lost: (ms) => seen.push(`lost, again in ${ms} ms`),
  });
  const stop = new AbortController();
  for await (const { id } of client.events(undefined, stop.signal)) if (id === "2") stop.abort();
  assert.deepEqual(seen, ["opened", "lost, again in 200 ms", "lost, again in 400 ms", "opened"]);
  script.push(reply(200, event("3"), "break"));
  await assert.rejects(async () => {
    for await (const _ of client.follow({}, AbortSignal.abort())) assert.fail("nothing is read");
    throw new Error("over");
  }, /over/);
  assert.equal(seen.length, 4);
});

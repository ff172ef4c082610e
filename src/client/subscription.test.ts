/** Streams that break: issue 4, "Build" 8. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../base/errors.ts";
import { Client } from "./client.ts";
import type { Reply, Request } from "./send.ts";

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

/** What is asked for, in turn; what a script has not is asked for in vain. */
function scripted(...script: readonly (Reply | Error)[]): { readonly client: Client; readonly asked: Request[] } {
  const asked: Request[] = [];
  const client = new Client(async (request) => {
    const next = script[asked.push(request) - 1] ?? new TypeError("nobody answers");
    if (next instanceof Error) throw next;
    return next;
  });
  return { client, asked };
}

test("a stream that breaks comes again after the last event, also when nobody answers for a while", async () => {
  const busy = JSON.stringify({ code: "too-many-streams", detail: "Cannot open another stream" });
  const { client, asked } = scripted(
    reply(200, "retry: 1\n\n", event("1"), event("2"), 'id: 3\ndata: {"id', "break"),
    new TypeError("nobody answers"),
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
    // An id counts once its event has come.
    [undefined, "2", "2", "2", "3"].map((id) => ["/events?after=0", id]),
  );
});

test("who was too slow for a moment goes on after the last that came", async () => {
  const lost = JSON.stringify({ code: "events-lost", detail: "Cannot send all events" });
  const { client, asked } = scripted(reply(200, "retry: 1\n\n", event("1"), `event: problem\ndata: ${lost}\n\n`), reply(200, event("2")));
  const ids: string[] = [];
  for await (const { id } of client.events(undefined, new AbortController().signal)) {
    ids.push(id);
    if (id === "2") break;
  }
  assert.deepEqual(ids, ["1", "2"]);
  assert.equal(asked[1]?.headers["last-event-id"], "1");
});

test("what trying again can't mend is thrown: at the first attempt all of it, later what procman itself says", async () => {
  const next = (client: Client): Promise<unknown> => client.events(undefined, new AbortController().signal)[Symbol.asyncIterator]().next();
  await assert.rejects(next(scripted().client), /nobody answers/);
  const refused = JSON.stringify({ code: "unauthorized", detail: "Cannot answer: no" });
  await assert.rejects(
    next(scripted(reply(401, refused)).client),
    (error) => error instanceof ProcmanError && error.code === "unauthorized",
  );
  await assert.rejects(next(scripted(reply(502, "<html>")).client), /502: what answers there is no procman/);
  const ended = scripted(reply(200, `event: problem\ndata: ${refused}\n\n`));
  await assert.rejects(next(ended.client), (error) => error instanceof ProcmanError && error.code === "unauthorized");
});

test("an interest that ends in the middle ends the request", async () => {
  const { client, asked } = scripted(reply(200, event("1"), event("2")));
  for await (const { id } of client.events(undefined, new AbortController().signal)) {
    assert.equal(id, "1");
    break;
  }
  assert.equal(asked.length, 1);
});

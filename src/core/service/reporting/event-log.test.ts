/** The events of a service and their followers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../../base/errors.ts";
import type { EventRecord } from "../../contract/event-record.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { EventLog } from "./event-log.ts";

const state = { name: "test" } as StateRecord;
const publish = (events: EventLog, text: string): void =>
  events.publish({ type: "process.scheduled", process: "web", text });
const told = (event: EventRecord): string => (event.type === "process.scheduled" ? event.text : event.type);

async function take(events: AsyncIterable<EventRecord>, count: number): Promise<EventRecord[]> {
  const taken: EventRecord[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

test("a follower gets new events, in order, with growing ids", async () => {
  const events = new EventLog(assert.fail);
  publish(events, "before");
  const followed = events.follow(undefined, new AbortController().signal, () => state);
  for (const text of ["one", "two", "three"]) publish(events, text);
  const taken = await take(followed, 3);
  assert.deepEqual(taken.map(told), ["one", "two", "three"]);
  const ids = taken.map(({ id }) => Number(id));
  assert.deepEqual(
    ids,
    [...ids].sort((one, other) => one - other),
  );
  assert.equal(new Set(ids).size, 3);
});

test("a follower that was away for a moment gets the missed events, and nothing twice", async () => {
  const events = new EventLog(assert.fail);
  const first = events.follow(undefined, new AbortController().signal, () => state);
  publish(events, "one");
  const [seen] = await take(first, 1);
  publish(events, "two");
  const again = events.follow(seen?.id, new AbortController().signal, () => state);
  publish(events, "three");
  assert.deepEqual((await take(again, 2)).map(told), ["two", "three"]);
});

test("after a restart of the service, or too long an absence, the state of everything comes first", async () => {
  const former = new EventLog(assert.fail);
  const watched = former.follow(undefined, new AbortController().signal, () => state);
  publish(former, "one");
  const [last] = await take(watched, 1);
  await new Promise((resolve) => setTimeout(resolve, 2));
  const events = new EventLog(assert.fail);
  publish(events, "new");
  for (const after of [last?.id, "0", "nonsense", "99999999999999999"]) {
    const taken = await take(
      events.follow(after, new AbortController().signal, () => state),
      2,
    );
    assert.deepEqual(taken.map(told), ["service.state", "new"], after);
    assert.ok(Number(taken[0]?.id) < Number(taken[1]?.id));
  }
  const id = (
    await take(
      events.follow("0", new AbortController().signal, () => state),
      2,
    )
  )[1]?.id;
  for (let number = 0; number < 1_500; number++) publish(events, String(number));
  const late = await take(
    events.follow(id, new AbortController().signal, () => state),
    1_001,
  );
  assert.deepEqual(late.map(told).slice(0, 2), ["service.state", "500"], "what is still known follows");
});

test("a slow reader gets the queued events, then an error; others are not affected", async () => {
  const events = new EventLog(assert.fail);
  const slow = events.follow(undefined, new AbortController().signal, () => state);
  for (let number = 0; number < 5_000; number++) publish(events, String(number));
  const taken: EventRecord[] = [];
  await assert.rejects(
    async () => {
      for await (const event of slow) taken.push(event);
    },
    (error) => error instanceof ProcmanError && error.code === "events-lost",
  );
  assert.deepEqual([taken.length, told(taken[999] as EventRecord)], [1_000, "999"]);
  assert.match(taken.at(-1)?.id ?? "", /^\d+$/);
});

test("a follower ends with its signal", async () => {
  const events = new EventLog(assert.fail);
  const end = new AbortController();
  const followed = take(
    events.follow(undefined, end.signal, () => state),
    10,
  );
  publish(events, "one");
  setImmediate(() => end.abort());
  assert.ok((await followed).length <= 1);
  assert.deepEqual(
    await take(
      events.follow(undefined, AbortSignal.abort(), () => state),
      1,
    ),
    [],
  );
});

test("a listener that throws is reported, and neither the sender nor other listeners notice", () => {
  const problems: string[] = [];
  const events = new EventLog((problem) => problems.push(problem));
  const received: string[] = [];
  events.listen(() => {
    throw new Error("broken");
  });
  const stop = events.listen((event) => received.push(told(event)));
  publish(events, "one");
  stop();
  publish(events, "two");
  assert.deepEqual(received, ["one"]);
  assert.deepEqual(problems, Array(2).fill("a listener to events has failed: broken"));
});

test("telemetry is published but not kept, and kept events are bounded by their real size", async () => {
  const events = new EventLog(assert.fail);
  publish(events, "first");
  const live = events.follow(undefined, new AbortController().signal, () => state);
  const memory = { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 };
  const report = { process: "web", memory, cwd: "/", sent: "2026-01-01", metrics: { queue: 1 } };
  events.publish({ type: "process.telemetry", report });
  publish(events, "second");
  const [telemetry] = await take(live, 1);
  assert.equal(telemetry?.type, "process.telemetry");
  const after = String(Number(telemetry?.id) - 1);
  const [second] = await take(
    events.follow(after, new AbortController().signal, () => state),
    1,
  );
  assert.equal(second === undefined ? "" : told(second), "second");
  for (let count = 0; count < 100; count++) publish(events, "x".repeat(100_000));
  const kept = await take(
    events.follow("0", new AbortController().signal, () => state),
    42,
  );
  assert.deepEqual(
    [told(kept[0] as EventRecord), kept.filter(({ type }) => type === "process.scheduled").length],
    ["service.state", 41],
  );
  const more = events.follow("0", new AbortController().signal, () => state)[Symbol.asyncIterator]();
  for (let count = 0; count < 42; count++) await more.next();
  publish(events, "end");
  const end = (await more.next()).value as EventRecord;
  assert.equal(told(end), "end", "no further event was kept");
});

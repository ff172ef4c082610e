/** What a reader of events gets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventRecord, EventType } from "../../contract/event-record.ts";
import type { LogItem, LogQuery } from "../../contract/records.ts";
import { eventStream, type StreamRequest } from "./event-stream.ts";

const TIME = "2026-01-01T00:00:00.000Z";

const happened = (id: string, type: "process.watch" | "process.scheduled" = "process.watch"): EventRecord =>
  type === "process.watch"
    ? { id, time: TIME, type, process: "web", file: "a.js" }
    : { id, time: TIME, type, process: "web", text: "is started" };

const line = (text: string, cursor: string): LogItem => ({
  type: "entry",
  cursor,
  entry: { time: TIME, process: "web", severity: "info", category: "stdout", text },
});

/** Streams that yield these and then wait until they are ended. */
function sources(events: readonly EventRecord[], items: readonly LogItem[]) {
  const asked: { after?: string | undefined; query?: LogQuery } = {};
  let open = 0;
  async function* given<T>(all: readonly T[], signal: AbortSignal): AsyncGenerator<T> {
    open++;
    try {
      yield* all;
      await new Promise((resolve) => (signal.aborted ? resolve(undefined) : signal.addEventListener("abort", resolve)));
    } finally {
      open--;
    }
  }
  return {
    asked,
    isOver: () => open === 0,
    events: {
      follow: (after: string | undefined, signal: AbortSignal) => {
        asked.after = after;
        return given(events, signal);
      },
    },
    logAccess: {
      follow: (query: LogQuery, signal: AbortSignal) => {
        asked.query = query;
        return given(items, signal);
      },
    },
  };
}

async function first(
  count: number,
  from: ReturnType<typeof sources>,
  asked: Partial<StreamRequest>,
): Promise<readonly EventRecord[]> {
  const got: EventRecord[] = [];
  const all: StreamRequest = { after: undefined, types: undefined, ...asked };
  for await (const event of eventStream(from, all, new AbortController().signal)) if (got.push(event) === count) break;
  return got;
}

const shortly = (event: EventRecord): string => `${event.id} ${event.type === "log" ? event.entry.text : event.type}`;

test("without types: everything but the log, which is not read", async () => {
  const from = sources([happened("5"), happened("6", "process.scheduled")], [line("hello", "c1")]);
  assert.deepEqual((await first(2, from, { after: "4" })).map(shortly), ["5 process.watch", "6 process.scheduled"]);
  assert.deepEqual(from.asked, { after: "4" });
  assert.equal((await first(2, from, { types: [] })).length, 2, "no types are all");
});

test("with types: these alone, with their own ids", async () => {
  const from = sources([happened("5"), happened("6", "process.scheduled"), happened("7")], []);
  const types: readonly EventType[] = ["process.watch"];
  assert.deepEqual((await first(2, from, { types })).map(shortly), ["5 process.watch", "7 process.watch"]);
});

test("log lines come among the events; each id has the positions in both", async () => {
  const from = sources(
    [happened("5000000"), happened("6000000", "process.scheduled")],
    [line("one", "c1"), line("two", "c2")],
  );
  const types: readonly EventType[] = ["log", "process.watch"];
  const got = await first(3, from, { after: "4000000", types });
  let [event, cursor] = ["4000000", ""];
  for (const each of got) {
    if (each.type === "log") cursor = each.entry.text === "one" ? "_c1" : "_c2";
    else event = "5000000";
    assert.equal(each.id, `${event}${cursor}`);
  }
  assert.deepEqual(got.map(({ type }) => type).toSorted(), ["log", "log", "process.watch"]);
  assert.deepEqual(
    from.asked,
    { after: "4000000", query: { from: 4_000 } },
    "an id without a cursor is a time in microseconds",
  );
  await first(1, from, { after: "5000000_c1", types });
  assert.deepEqual(from.asked, { after: "5000000", query: { cursor: "c1" } });
});

test("without an id, lines come from now on; a gap is reported as a line of procman's own", async () => {
  const from = sources([], [{ type: "gap", bytes: 77, cursor: "c9" }]);
  const before = Date.now();
  const [gap] = await first(1, from, { types: ["log"] });
  assert.ok(from.asked.after === undefined && (from.asked.query?.from ?? 0) >= before);
  assert.ok(gap?.type === "log" && gap.id.endsWith("_c9"));
  assert.deepEqual([gap.entry.severity, gap.entry.category], ["warn", "service"]);
  assert.match(gap.entry.text, /^77 bytes are missing here/);
  await first(1, from, { after: "nonsense", types: ["log"] });
  assert.ok((from.asked.query?.from ?? 0) >= before);
});

test("a reader that stops ends both streams; an error of either is thrown", async () => {
  const from = sources([happened("5")], [line("one", "c1")]);
  await first(1, from, { types: ["log", "process.watch"] });
  while (!from.isOver()) await new Promise(setImmediate);
  const broken = { ...from, logAccess: { follow: () => failing() } };
  await assert.rejects(first(2, broken, { types: ["log"] }), /the disk is gone/);
});

async function* failing(): AsyncGenerator<LogItem> {
  yield line("one", "c1");
  throw new Error("the disk is gone");
}

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { stateDir, TestStore, texts, WEB } from "../../../test/support/store-rig.ts";
import type { LogItem, LogQuery } from "../contract/records.ts";
import { SegmentCompressor } from "./compressor.ts";
import { followLogs } from "./follow.ts";
import { retire } from "./maintenance.ts";
import { RecordHeader } from "./record.ts";
import { segmentsIn } from "./segment-files.ts";

/** A follower whose items are taken one by one. It ends with the test. */
function following(context: TestContext, dir: string, query: LogQuery = {}) {
  const abort = new AbortController();
  const items = followLogs(dir, query, abort.signal)[Symbol.asyncIterator]();
  context.after(async () => {
    abort.abort();
    await items.return?.(undefined);
  });
  const next = async (): Promise<LogItem> => (await items.next()).value as LogItem;
  const text = async (): Promise<string> => {
    const item = await next();
    return item.type === "entry" ? item.entry.text : `gap of ${item.bytes}`;
  };
  return { next, text, abort, items };
}

test("a follower gets the last entries, oldest first, then new ones, also from an empty store", async (context) => {
  const dir = stateDir(context);
  const early = following(context, dir);
  const first = early.text();
  const writing = new TestStore(dir);
  writing.lines(WEB, "one", "two", "three");
  assert.equal(await first, "one");
  const late = following(context, dir, { limit: 2 });
  assert.deepEqual([await late.text(), await late.text()], ["two", "three"]);
  const next = late.text();
  writing.lines({ ...WEB, process: "other" }, "four");
  assert.equal(await next, "four");
  assert.deepEqual([await early.text(), await early.text(), await early.text()], ["two", "three", "four"]);
  writing.store.end();
});

test("the last entries are found by the filter, across segments of any length", async (context) => {
  const dir = stateDir(context);
  for (const turn of [0, 1, 2]) {
    const writing = new TestStore(dir);
    for (const line of [0, 1]) {
      writing.lines(WEB, `${turn} ${line} ${"x".repeat(600_000)}`);
      writing.lines({ ...WEB, process: "other" }, `other ${turn} ${line}`);
    }
    writing.store.end();
  }
  const web = following(context, dir, { processes: ["web"], limit: 3 });
  for (const text of ["1 1", "2 0", "2 1"]) assert.equal((await web.text()).slice(0, 3), text);
  const other = following(context, dir, { search: "OTHER 0" });
  assert.deepEqual([await other.text(), await other.text()], ["other 0 0", "other 0 1"]);
});

test("a follower ends when it is aborted, also while it waits", async (context) => {
  const { items, abort } = following(context, stateDir(context));
  const end = items.next();
  abort.abort();
  assert.equal((await end).done, true);
});

test("options that a stream can't fulfil are refused", async (context) => {
  const dir = stateDir(context);
  await assert.rejects(
    following(context, dir, { to: 1 }).next(),
    /Cannot follow the log up to a time: .*leave out "to"/,
  );
  await assert.rejects(following(context, dir, { order: "desc" }).next(), /Cannot follow the log newest first/);
});

test("each item's cursor continues after it, for old and new entries", async (context) => {
  const dir = stateDir(context);
  for (const turn of [0, 1]) {
    const writing = new TestStore(dir);
    writing.lines(WEB, `${turn} a`, `${turn} b`);
    if (turn === 0) writing.store.end();
    else context.after(() => writing.store.end());
    await writing.settled();
  }
  const all = ["0 a", "0 b", "1 a", "1 b"];
  const { next } = following(context, dir);
  for (const [index, text] of all.entries()) {
    const item = await next();
    assert.ok(item.type === "entry" && item.entry.text === text);
    const again = following(context, dir, { cursor: item.cursor });
    for (const later of all.slice(index + 1)) assert.equal(await again.text(), later);
  }
});

test("during hand-overs and compressions under a flood, followers that stop and continue anywhere get no gap and no repeat", async (context) => {
  const dir = stateDir(context);
  const last = 60_000;
  const flood = async (): Promise<void> => {
    let writing = new TestStore(dir);
    for (let number = 0; number < last; number += 100) {
      writing.lines(WEB, ...Array.from({ length: 100 }, (_, offset) => String(number + offset)));
      await writing.settled();
      if (number % 7_000 !== 0) continue;
      writing.store.end();
      void new SegmentCompressor(() => false).run(writing.folder);
      writing = new TestStore(dir);
    }
    writing.lines(WEB, "end");
    await writing.settled();
    writing.store.end();
  };
  const flooded = flood();
  let cursor: string | undefined;
  let expected = 0;
  for (let isOver = false; !isOver; ) {
    const abort = new AbortController();
    const until = expected + 9_999;
    for await (const item of followLogs(dir, cursor === undefined ? { from: 0 } : { cursor }, abort.signal)) {
      assert.ok(item.type === "entry");
      cursor = item.cursor;
      isOver = item.entry.text === "end";
      if (isOver || expected > until) break;
      assert.equal(item.entry.text, String(expected));
      expected += 1;
      if (expected > until) break;
    }
  }
  assert.equal(expected, last);
  await flooded;
});

test("with two loggers at the same time, a follower gets all entries of both, each in order", async (context) => {
  const dir = stateDir(context);
  const [orphan, own] = [new TestStore(dir), new TestStore(dir)];
  const seen: string[] = [];
  const { next } = following(context, dir, { from: 0 });
  let cursor = "";
  for (let number = 0; number < 20; number += 1) {
    for (const [name, writing] of [
      ["orphan", orphan],
      ["own", own],
    ] as const) {
      writing.lines({ ...WEB, process: name }, String(number));
      await writing.settled();
      const item = await next();
      assert.ok(item.type === "entry");
      seen.push(`${item.entry.process} ${item.entry.text}`);
      cursor = item.cursor;
    }
  }
  assert.deepEqual(
    seen.filter((each) => each.startsWith("own")).map((each) => each.slice(4)),
    Array.from({ length: 20 }, (_, number) => String(number)),
  );
  assert.equal(new Set(seen).size, 40);
  orphan.lines(WEB, "one more");
  orphan.store.end();
  const { text } = following(context, dir, { cursor });
  assert.equal(await text(), "one more");
  own.store.end();
});

test("a follower so slow that the next entries were deleted gets the size of the gap", async (context) => {
  const dir = stateDir(context);
  for (const name of ["a", "b", "c", "d"]) {
    const { store } = new TestStore(dir);
    store.addMessage({ category: "service", severity: "info", at: Date.now(), text: name.repeat(1000) });
    store.end();
  }
  const { next, text } = following(context, dir, { from: 0 });
  const first = await next();
  assert.ok(first.type === "entry" && first.entry.text.startsWith("a"));
  const { folder } = new TestStore(dir);
  retire(folder, { hours: 1, bytes: 2_000 }, Date.now());
  assert.equal(segmentsIn(folder).length, 1);
  for (let gaps = 0; gaps < 2; gaps += 1) {
    const item = await next();
    assert.ok(item.type === "gap" && item.bytes > 1000);
  }
  assert.equal(await text(), "d".repeat(1000));
  const after = following(context, dir, { cursor: first.cursor });
  assert.equal(await after.text(), "d".repeat(1000));
});

test("the store is emptied up to procman's own entries, while lines are written; a follower misses nothing, and pages have what came after", async (context) => {
  const dir = stateDir(context);
  const { store, ...writing } = new TestStore(dir);
  const say = (text: string): void =>
    store.addMessage({ category: "lifecycle", severity: "info", at: Date.now(), text });
  say("started");
  store.add(new RecordHeader(WEB, false), Buffer.from("old 1\n"));
  const { text } = following(context, dir, { from: 0 });
  assert.deepEqual([await text(), await text()], ["started", "old 1"]);
  for (let round = 1; round <= 3; round += 1) {
    store.add(new RecordHeader(WEB, false), Buffer.from(`before ${round}\n`));
    assert.equal(store.empty(), true);
    store.add(new RecordHeader(WEB, false), Buffer.from(`after ${round}\n`));
    say(`said ${round}`);
    assert.deepEqual(
      [await text(), await text(), await text()],
      [`before ${round}`, `after ${round}`, `said ${round}`],
    );
  }
  assert.deepEqual(await texts(dir), ["started", "said 1", "said 2", "after 3", "said 3"]);
  store.end();
  assert.deepEqual(writing.reports, []);
});

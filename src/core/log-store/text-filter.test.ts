/** Queries by fields and regular expressions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allPages, stateDir, TestStore, texts, WEB } from "../../../test/support/store-rig.ts";
import { ProcmanError } from "../base/errors.ts";
import type { LogQuery } from "../contract/records.ts";
import type { LogView } from "./filter.ts";
import { followLogs } from "./follow.ts";
import { readLogs } from "./log-pages.ts";
import { RecordHeader } from "./record.ts";
import { SegmentReader } from "./segment-reader.ts";

const LINES = [
  '{"level":30,"req":{"id":7,"url":"/a"},"status":200,"msg":"GET /a took 5 ms"}',
  '{"level":50,"req":{"id":8,"url":"/b"},"status":503,"msg":"GET /b took 900 ms"}',
  'text "status":503 took 900 ms',
  '{"status":503',
  '{"level":40,"status":404,"msg":"POST /c took 12 ms"}',
];

test("where and regex select lines, together with search and severity; all must hold", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, ...LINES);
  writing.store.addMessage({
    ...WEB,
    category: "log",
    severity: "info",
    at: Date.now(),
    text: '{"status":500,\n"a":1}',
  });
  writing.store.end();
  const found = async (query: LogQuery): Promise<readonly number[]> =>
    (await texts(dir, { order: "asc", ...query })).map((text) => LINES.indexOf(text));
  assert.deepEqual(await found({ where: ["status>=500"] }), [1, -1]);
  assert.deepEqual(await found({ where: ["req.id=7"] }), [0]);
  assert.deepEqual(await found({ where: ["status>=400", "status<500"] }), [4]);
  assert.deepEqual(await found({ where: ["status>=400", "req.url=/b"] }), [1]);
  assert.deepEqual(await found({ where: ["status>0"], severity: "warn" }), [1, 4]);
  assert.deepEqual(await found({ where: ["status>0"], search: "GET" }), [0, 1]);
  assert.deepEqual(await found({ regex: ["took \\d{3,} ms"] }), [1, 2]);
  assert.deepEqual(await found({ regex: ["took \\d{3,} ms", "^text"] }), [2]);
  assert.deepEqual(await found({ regex: ["(?i)get /[ab] "], where: ["status=200"] }), [0]);
  assert.deepEqual(await found({ regex: ["^\\{.*\\}$"], categories: ["stdout"] }), [0, 1, 4]);
  assert.deepEqual(await found({ regex: ['status.*"a"'] }), [], ". is no newline");
  assert.deepEqual(await found({ regex: ['(?s)status.*"a"'] }), [-1]);
  assert.deepEqual(await found({ where: ["status=999"] }), []);
  assert.deepEqual(await found({ regex: ["(a+)+$"] }), []);
});

test("pages of a filter by fields are complete, and a follower goes on with it", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  const line = (number: number): string => `{"n":${number},"even":${number % 2 === 0}}`;
  writing.lines(WEB, ...Array.from({ length: 5_000 }, (_, number) => line(number)));
  await writing.settled();
  const expected = Array.from({ length: 2_500 }, (_, number) => line(number * 2));
  for (const limit of [100, 1_999, 2_500]) {
    const shown = async (order: "asc" | "desc"): Promise<readonly string[]> =>
      (await allPages(dir, { where: ["even=true"], limit, order })).map(({ text }) => text);
    assert.deepEqual(await shown("asc"), expected);
    assert.deepEqual(await shown("desc"), expected.toReversed());
  }
  const stop = new AbortController();
  const items = followLogs(dir, { where: ["even=true"], regex: ["n"], limit: 1 }, stop.signal);
  const next = async (): Promise<string> => {
    const { value } = await items.next();
    return value?.type === "entry" ? value.entry.text : "";
  };
  assert.equal(await next(), line(4_998));
  writing.lines(WEB, line(5_001), line(5_002));
  assert.equal(await next(), line(5_002));
  stop.abort();
  writing.store.end();
});

test("blocks that lack the value, the name of the field, or a text of the expression aren't searched line by line", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  for (let number = 0; number < 20; number += 1)
    writing.lines(WEB, `{"n":${number},"id":"${number === 7 ? "wanted" : "other"}","x":"${"x".repeat(600_000)}"}`);
  writing.store.end();
  const parse = context.mock.method(JSON, "parse").mock;
  const read = context.mock.method(SegmentReader.prototype, "read").mock;
  for (const query of [{ where: ["id=wanted"] }, { where: ["id>=w"] }, { regex: ["id.*wanted"] }]) {
    parse.resetCalls();
    assert.deepEqual((await allPages(dir, query)).length, 1);
    const lines = parse.calls.filter(({ arguments: [text] }) => String(text).startsWith('{"n"'));
    assert.ok(lines.length <= 1, `${lines.length} lines were parsed`);
  }
  assert.ok(read.callCount() > 0);
});

test("a reader finds nothing by what a view hides", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.store.addMessage({ ...WEB, category: "lifecycle", severity: "info", at: Date.now(), text: '{"for":"db"}' });
  writing.store.end();
  const view: LogView = {
    allows: () => true,
    shown: (entry) => ({ ...entry, text: entry.text.replace("db", "?") }),
  };
  for (const query of [{ where: ["for=db"] }, { regex: ["db"] }])
    assert.deepEqual(await readLogs(dir, { view, ...query }), { entries: [] });
  for (const query of [{ where: ["for!=x"] }, { regex: ["for"] }])
    assert.equal((await readLogs(dir, { view, ...query })).entries[0]?.text, '{"for":"?"}');
});

test("long, deep, broken and binary lines are searched like others", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  const deep = `{"status":500,"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
  const long = `{"a":"${"x".repeat(900_000)}","status":500}`;
  writing.lines(WEB, deep, long, `{"status":500,"a":${"[".repeat(10_000)}`, '{"status":{"status":500}}');
  writing.store.add(
    new RecordHeader(WEB, false),
    Buffer.from([...Buffer.from('{"status":500,"m":"'), 0xff, 0xc3, ...Buffer.from('"}\n')]),
  );
  writing.store.end();
  const found = await texts(dir, { where: ["status=500"], order: "asc" });
  assert.deepEqual(
    found.map((text) => text.length),
    [deep.length, long.length, '{"status":500,"m":"??"}'.length],
  );
});

test("a wrong condition or expression is refused, by pages and by followers", async (context) => {
  const dir = stateDir(context);
  const isRefused = (error: unknown): boolean => error instanceof ProcmanError && error.code === "input-invalid";
  for (const query of [{ where: ["status"] }, { regex: ["("] }, { regex: ["ok", "(?=a)"] }]) {
    await assert.rejects(readLogs(dir, query), isRefused);
    await assert.rejects(followLogs(dir, query, new AbortController().signal).next(), isRefused);
  }
});

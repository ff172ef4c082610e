import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { allPages, stateDir, TestStore, texts, WEB } from "../../../test/support/store-rig.ts";
import { ProcmanError } from "../base/errors.ts";
import type { LogItem } from "../contract/records.ts";
import type { LogView } from "./filter.ts";
import { followLogs } from "./follow.ts";
import { LastLines, lastLines, readLogs } from "./log-pages.ts";
import { RecordHeader } from "./record.ts";
import { indexFile, logsFolder, segmentFile, segmentsIn } from "./segment-files.ts";
import { SegmentReader } from "./segment-reader.ts";

test("a page has the newest entries first by default, with all their fields", async (context) => {
  const dir = stateDir(context);
  const { store, ...writing } = new TestStore(dir);
  const at = Date.UTC(2100, 10, 21, 10);
  store.addMessage({
    process: "web-2",
    instance: 2,
    run: 7,
    category: "log",
    severity: "debug",
    at,
    text: "two\nlines",
  });
  store.addMessage({ category: "service", severity: "warn", at: at + 1, text: "own" });
  store.end();
  assert.deepEqual(await readLogs(dir, {}), {
    entries: [
      { time: "2100-11-21T10:00:00.001Z", severity: "warn", category: "service", text: "own" },
      {
        time: "2100-11-21T10:00:00.000Z",
        process: "web-2",
        instance: 2,
        run: 7,
        severity: "debug",
        category: "log",
        text: "two\nlines",
      },
    ],
  });
  assert.deepEqual(await texts(dir, { order: "asc" }), ["two\nlines", "own"]);
  assert.deepEqual(writing.reports, []);
});

test("without a store there are no entries", async (context) => {
  assert.deepEqual(await readLogs(stateDir(context), {}), { entries: [] });
});

test("filters: process, cluster, minimum severity, category, time", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  const { store } = writing;
  writing.lines(WEB, "web out");
  writing.lines({ ...WEB, category: "stderr", severity: "error" }, "web err");
  writing.lines({ ...WEB, process: "pool-1", instance: 1 }, "pool 1");
  writing.lines({ ...WEB, process: "pool-2", instance: 2 }, "pool 2");
  writing.lines({ ...WEB, process: "pool-9" }, "no instance");
  const later = Date.UTC(2100, 0, 1);
  store.addMessage({ category: "service", severity: "warn", at: later, text: "later" });
  store.end();
  const found = (query: object): Promise<readonly string[]> => texts(dir, { order: "asc", ...query });
  assert.deepEqual(await found({ processes: ["web"] }), ["web out", "web err"]);
  assert.deepEqual(await found({ processes: ["pool"] }), ["pool 1", "pool 2"]);
  assert.deepEqual(await found({ processes: ["pool-2", "none"] }), ["pool 2"]);
  assert.deepEqual(await found({ severity: "warn" }), ["web err", "later"]);
  assert.deepEqual(await found({ severity: "error", processes: ["pool", "web"] }), ["web err"]);
  assert.deepEqual(await found({ categories: ["service", "stderr"] }), ["web err", "later"]);
  assert.deepEqual(await found({ from: later, to: later + 1 }), ["later"]);
  assert.deepEqual(await found({ from: later + 1, to: later + 1_000 }), []);
});

test("a view leaves out entries, and shows and searches texts as its reader sees them; a page tells nothing of what is hidden", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, "out of db");
  writing.lines({ ...WEB, process: "db" }, "secret");
  for (const text of ["waits for db", "started", "waits for db"])
    writing.store.addMessage({ ...WEB, category: "lifecycle", at: Date.now(), text });
  writing.store.addMessage({ category: "service", severity: "warn", at: Date.now(), text: "own" });
  writing.store.end();
  const view: LogView = {
    allows: (id) => id === "web",
    shown: (entry) => (entry.category === "lifecycle" ? { ...entry, text: entry.text.replace("db", "?") } : entry),
  };
  const found = async (query: object): Promise<readonly string[]> =>
    (await readLogs(dir, { order: "asc", view, ...query })).entries.map(({ text }) => text);
  assert.deepEqual(await found({}), ["out of db", "waits for ?", "started", "waits for ?"]);
  assert.deepEqual(await found({ search: "DB" }), ["out of db"], "not by what it doesn't see");
  assert.deepEqual(await found({ search: "WAITS" }), ["waits for ?", "waits for ?"]);
  assert.deepEqual(await found({ processes: ["db"] }), []);
  for (const search of ["for db", "secret", "own", "nothing"])
    assert.deepEqual(await readLogs(dir, { view, search, limit: 1 }), { entries: [] }, "and no next page");
  const stop = new AbortController();
  const last = await followLogs(dir, { view, search: "db", limit: 1 }, stop.signal).next();
  stop.abort();
  assert.equal((last.value as LogItem & { readonly type: "entry" }).entry.text, "out of db");
});

test("isNamed selects processes and clusters beside the ids", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, "web");
  writing.lines({ ...WEB, process: "pool-1", instance: 1 }, "pool 1");
  writing.lines({ ...WEB, process: "db" }, "db");
  writing.store.end();
  const found = (query: object): Promise<readonly string[]> => texts(dir, { order: "asc", ...query });
  assert.deepEqual(await found({ isNamed: (id: string) => id === "pool" }), ["pool 1"]);
  assert.deepEqual(await found({ processes: ["db"], isNamed: (id: string) => id === "pool" }), ["pool 1", "db"]);
  assert.deepEqual(await found({ processes: [], isNamed: () => false }), []);
});

test("search finds a substring in any case, also in other alphabets, and never across two lines", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, "Zwei ÄPFEL", "äpfel und", "Birnen", "", "ПРИВЕТ", "İstanbul", "a😀b");
  writing.store.addMessage({ ...WEB, category: "log", at: Date.now(), text: "one\nTwo" });
  writing.store.end();
  const found = (search: string): Promise<readonly string[]> => texts(dir, { order: "asc", search });
  assert.deepEqual(await found("äpfel"), ["Zwei ÄPFEL", "äpfel und"]);
  assert.deepEqual(await found("ÄP"), ["Zwei ÄPFEL", "äpfel und"]);
  assert.deepEqual(await found("привет"), ["ПРИВЕТ"]);
  assert.deepEqual(await found("İST"), ["İstanbul"]);
  assert.deepEqual(await found("😀B"), ["a😀b"]);
  assert.deepEqual(await found("und\nBirnen"), []);
  assert.deepEqual(await found("one\ntwo"), ["one\nTwo"]);
  assert.deepEqual(await found("web"), [], "what procman knows of a line is not part of its text");
});

test("pages of any size together are complete, also while lines are added at the end", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  const all = Array.from({ length: 5_000 }, (_, number) => `line ${number}`);
  writing.lines(WEB, ...all);
  await writing.settled();
  for (const limit of [1700, 2000, 2500, 5000]) {
    const desc = await allPages(dir, { limit });
    assert.deepEqual(desc.map(({ text }) => text).reverse(), all);
    assert.deepEqual(
      (await allPages(dir, { limit, order: "asc" })).map(({ text }) => text),
      all,
    );
  }
  const first = await readLogs(dir, { limit: 4_999 });
  writing.lines(WEB, "later");
  await writing.settled();
  assert.deepEqual(
    (await readLogs(dir, { cursor: first.next ?? "" })).entries.map(({ text }) => text),
    ["line 0"],
  );
  assert.equal((await readLogs(dir, { limit: 5_001 })).next, undefined, "a full page that is the last one");
  writing.store.end();
});

test("a page has at most 4 MiB of text and a line, whatever its limit; its cursor continues", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  const all = Array.from({ length: 40 }, (_, number) => `${number} ${"x".repeat(300_000)}`);
  for (const line of all) writing.lines(WEB, line);
  writing.store.end();
  for (const order of ["asc", "desc"] as const) {
    const { entries, next } = await readLogs(dir, { limit: 10_000, order });
    assert.deepEqual([entries.length, next !== undefined], [14, true]);
    const whole = await allPages(dir, { limit: 10_000, order });
    assert.deepEqual(
      whole.map(({ text }) => text),
      order === "asc" ? all : all.toReversed(),
    );
  }
});

test("the last lines of a run are cut to the wanted length between characters", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, "ä".repeat(1_000), "€".repeat(10), "short");
  writing.store.end();
  const last = await lastLines(dir, { process: "web", run: 1, count: 3, characters: 10 });
  assert.deepEqual(
    last.map(({ text }) => text),
    ["ä".repeat(10), "€".repeat(10), "short"],
  );
});

test("an invalid cursor is refused", async (context) => {
  for (const cursor of ["", "x", "1-2_", "../..", "1-2-3", "-"])
    await assert.rejects(
      readLogs(stateDir(context), { cursor }),
      (error) => error instanceof ProcmanError && error.code === "usage",
    );
});

test("the last lines before a time are only those of the run, oldest first", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, "of run 1");
  for (let number = 0; number < 100; number += 1) {
    writing.lines(
      { ...WEB, run: 2, ...(number % 2 ? { category: "stderr", severity: "error" } : {}) },
      `line ${number}`,
    );
    writing.lines({ ...WEB, process: "other", run: 2 }, "other");
  }
  writing.store.addMessage({ ...WEB, run: 2, category: "lifecycle", at: Date.now(), text: "ended" });
  await writing.settled();
  const before = Date.now() + 1;
  const last = await lastLines(dir, { process: "web", run: 2, count: 3, before });
  assert.deepEqual(
    last.map(({ text }) => text),
    ["line 97", "line 98", "line 99"],
  );
  assert.deepEqual(await lastLines(dir, { process: "web", run: 2, count: 3, before: 1 }), []);
  assert.deepEqual(
    (await lastLines(dir, { process: "web", run: 1, count: 50 })).map(({ text }) => text),
    ["of run 1"],
  );
  writing.store.end();
});

test("a damaged index or time hides no line that can be read, and no query fails", async (context) => {
  const folder = stateDir(context);
  const { store, folder: logs, ...rig } = new TestStore(folder);
  const header = new RecordHeader(WEB, false);
  for (const line of ["one\n", "two\n", "three\n"]) store.add(header, Buffer.from(line));
  store.end();
  assert.deepEqual(rig.reports, []);
  const { number } = segmentsIn(logs)[0] ?? assert.fail();
  const index = indexFile(logs, number);
  const sound = readFileSync(index, "utf8");
  for (const [from, to] of [
    [/"ids":.*\]\]/, '"ids":[null]'],
    [/"bytes":/, '"bytes":-'],
    [/"at":0/, '"at":-1'],
    [/"from":\d+/, '"from":null'],
    [/.*\n/, "null\n"],
  ] as const) {
    writeFileSync(index, sound.replace(from, to));
    assert.deepEqual(await texts(folder), ["one", "two", "three"], to);
  }
  writeFileSync(index, sound);
  const file = segmentFile(logs, { number, stage: "log" });
  const bytes = readFileSync(file);
  bytes.writeDoubleLE(Number.NaN, bytes.indexOf("two") - "web".length - 24);
  writeFileSync(file, bytes);
  assert.deepEqual(await texts(folder), ["one", "three"]);
});

test("the last lines of many runs are read in one go: each segment is opened once", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  for (let run = 1; run <= 100; run += 1)
    writing.lines({ ...WEB, run }, ...Array.from({ length: 5 }, (_, index) => `${run}: ${index}`));
  await writing.settled();
  writing.store.end();
  const opened = context.mock.method(SegmentReader, "open").mock;
  const reader = new LastLines(dir);
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, index) => reader.of({ process: "web", run: index + 1, count: 2 })),
  );
  assert.deepEqual(
    all.map((lines) => lines.map(({ text }) => text)),
    all.map((_, index) => [`${index + 1}: 3`, `${index + 1}: 4`]),
  );
  assert.equal(opened.callCount(), segmentsIn(logsFolder(dir)).length);
  assert.deepEqual(await reader.of({ process: "web", run: 101, count: 2 }), []);
});

/** Applied configurations on disk: real files, as damage and kills leave them. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ProcmanError } from "../base/errors.ts";
import { machineMark } from "../os/host-jitter.ts";
import { historyDetail, historyDiff } from "./history-reader.ts";
import { HistoryStore, hashOf, type NewEntry } from "./history-store.ts";
import { activeIn, entryNamed, shownHistory } from "./shown-history.ts";

function stateFolder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "procman-history-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const entry = (more: Partial<NewEntry> = {}): NewEntry => ({
  time: new Date(Date.UTC(2026, 5, 1)).toISOString(),
  result: "applied",
  why: "asked by cli",
  version: "1.0.0",
  host: "web1",
  ...more,
});

const textsOf = (text: string, ...included: readonly string[]) => [
  { file: "/srv/procman.jsonc", text },
  ...included.map((each, index) => ({ file: `/srv/conf.d/${index}.jsonc`, text: each })),
];

const numbers = (store: HistoryStore): readonly number[] => store.list().map(({ number }) => number);

test("entries are numbered in order, newest first, and equal texts are kept once, readable for the user alone", (context) => {
  const state = stateFolder(context);
  const store = new HistoryStore(state);
  assert.equal(store.add(entry(), textsOf("one", "same")), 1);
  assert.equal(store.add(entry(), textsOf("two", "same")), 2);
  assert.deepEqual(numbers(store), [2, 1]);
  assert.deepEqual(readdirSync(join(state, "history/texts")).sort(), ["one", "two", "same"].map(hashOf).sort());
  assert.equal(statSync(join(state, "history")).mode & 0o777, 0o700);
  for (const name of ["1.json", `texts/${hashOf("one")}`])
    assert.equal(statSync(join(state, "history", name)).mode & 0o777, 0o600, name);
});

test("of several problems the first stays, and none of an entry that is applied in the end", (context) => {
  const store = new HistoryStore(stateFolder(context));
  for (const text of ["one", "two"]) store.add(entry({ result: "running" }), textsOf(text));
  for (const number of [1, 2]) store.settle(number, { result: "running", problem: "it exited with code 3" });
  store.settle(1, { result: "rolled-back", problem: "it ended soon after its start" });
  store.settle(2, { result: "applied" });
  assert.deepEqual(
    store.list().map((each) => "entry" in each && [each.entry.result, each.entry.problem]),
    [
      ["applied", undefined],
      ["rolled-back", "it exited with code 3"],
    ],
  );
});

test("what becomes of an entry replaces what was known, and its number is never used again", (context) => {
  const store = new HistoryStore(stateFolder(context));
  for (const text of ["one", "two"]) store.add(entry({ result: "running" }), textsOf(text));
  store.settle(2, { result: "running", problem: "it exited" });
  store.settle(2, { result: "rolled-back" });
  store.settle(99, { result: "applied" });
  const [newest] = shownHistory(store);
  assert.deepEqual([newest?.result, newest?.problem], ["rolled-back", "it exited"]);
  store.add(entry(), textsOf("three"));
  assert.deepEqual(numbers(store), [3, 2, 1]);
});

test("the oldest entries go above a number or a size; the newest one is always kept; texts go with the last entry that has them", (context) => {
  const state = stateFolder(context);
  const store = new HistoryStore(state);
  for (let number = 1; number <= 6; number += 1) store.add(entry(), textsOf(`text ${number}`, "same"));
  store.prune(4);
  assert.deepEqual(numbers(store), [6, 5, 4, 3]);
  const kept = ["text 6", "text 5", "text 4", "text 3", "same"].map(hashOf);
  assert.deepEqual(readdirSync(join(state, "history/texts")).sort(), kept.sort());
  store.add(entry(), textsOf("x".repeat(5_000)));
  store.prune(100, 1_000);
  assert.deepEqual(numbers(store), [7]);
  assert.deepEqual(readdirSync(join(state, "history/texts")), [hashOf("x".repeat(5_000))]);
  // A store that has not written them knows their sizes, too.
  new HistoryStore(state).add(entry(), textsOf("y".repeat(900)));
  new HistoryStore(state).prune(100, 2_000);
  assert.deepEqual(numbers(store), [8]);
});

test("what a kill has left is no entry, and is removed", (context) => {
  const state = stateFolder(context);
  const store = new HistoryStore(state);
  store.add(entry(), textsOf("one"));
  const ended = 4_194_304 + 7;
  for (const name of [`2.json.${ended}-abc.tmp`, `texts/${hashOf("two")}.${ended}-abc.tmp`, `texts/${hashOf("two")}`])
    writeFileSync(join(state, "history", name), '{"format":"1"');
  assert.deepEqual(numbers(store), [1]);
  store.prune(100, 1);
  assert.deepEqual(readdirSync(join(state, "history")).sort(), ["1.json", "texts"]);
  assert.deepEqual(readdirSync(join(state, "history/texts")), [hashOf("one")]);
});

test("an entry that was cut off at any byte is damaged, keeps its number, and the others are read", (context) => {
  const state = stateFolder(context);
  const store = new HistoryStore(state);
  for (const text of ["one", "two", "three"]) store.add(entry(), textsOf(text));
  const path = join(state, "history/3.json");
  const size = readFileSync(path, "utf8").trimEnd().length;
  for (let length = size - 1; length >= 0; length -= 1) {
    truncateSync(path, length);
    const [newest, ...others] = shownHistory(store);
    assert.deepEqual(
      [newest?.number, newest?.result, newest?.problem],
      [3, "damaged", "its file has no valid content"],
    );
    assert.equal(others.length, 2);
  }
  assert.equal(activeIn(store)?.number, 2);
  assert.throws(() => entryNamed("3", store), {
    code: "history-damaged",
    message: /entry 3 of the history: its file has no/,
  });
  assert.equal(store.add(entry(), textsOf("four")), 4);
  store.prune();
  assert.deepEqual(numbers(store), [4, 3, 2, 1]);
});

test("a text that has changed on disk, or is gone, is said with its file; the same text is kept anew", async (context) => {
  const state = stateFolder(context);
  const store = new HistoryStore(state);
  store.add(entry(), textsOf("one", "other"));
  const path = join(state, "history/texts", hashOf("one"));
  writeFileSync(path, "two");
  const [main, included] = historyDetail("1", store).files;
  assert.deepEqual([main?.problem, included?.text], ["its content has changed since it was kept", "other"]);
  rmSync(path);
  assert.equal(historyDetail("1", store).files[0]?.problem, `its text, ${path}, is gone`);
  await assert.rejects(historyDiff(store, "1", "1"), {
    code: "history-damaged",
    message: `Cannot read /srv/procman.jsonc of entry 1 of the history: its text, ${path}, is gone`,
  });
  store.add(entry(), textsOf("one"));
  assert.equal(historyDetail("1", store).files[0]?.text, "one");
  writeFileSync(path, "");
  store.add(entry(), textsOf("one"));
  assert.equal(readFileSync(path, "utf8"), "one");
});

test("active is the last that was applied, previous the last one before it that differs", (context) => {
  const store = new HistoryStore(stateFolder(context));
  const found = (name: string): number => entryNamed(name, store).number;
  assert.throws(() => found("active"), { code: "history-unknown", message: /it is empty$/ });
  store.add(entry(), textsOf("one"));
  assert.throws(() => found("previous"), { code: "history-unknown", message: /it has only 1$/ });
  store.add(entry(), textsOf("two"));
  store.add(entry({ result: "rolled-back" }), textsOf("three"));
  store.add(entry(), textsOf("two"));
  assert.deepEqual(["active", "previous", "3"].map(found), [4, 1, 3]);
  store.add(entry({ profile: "production" }), textsOf("two"));
  assert.deepEqual(["active", "previous"].map(found), [5, 4]);
  assert.throws(() => found("17"), {
    code: "history-unknown",
    message: "Cannot find entry 17 in the history: it has 1 to 5",
  });
  for (const name of ["0", "-1", "1.5", "latest", "../1"])
    assert.throws(
      () => found(name),
      (error) => error instanceof ProcmanError && error.code === "history-unknown",
    );
});

test("an entry of another machine is marked, where machines have an id", (context) => {
  const store = new HistoryStore(stateFolder(context));
  store.add(entry({ machine: "another" }), textsOf("one"));
  store.add(entry(), textsOf("one"));
  const own = machineMark();
  if (own !== undefined) store.add(entry({ machine: own }), textsOf("one"));
  assert.deepEqual(
    shownHistory(store).map(({ number, isForeign }) => [number, isForeign]),
    [...(own === undefined ? [] : [[3, undefined]]), [2, undefined], [1, own === undefined ? undefined : true]],
  );
});

test("a folder that can't be read is an empty history", (context) => {
  const store = new HistoryStore(join(stateFolder(context), "nosuch"));
  assert.deepEqual([store.numbers, store.list(), existsSync("nosuch")], [[], [], false]);
});

import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { allPages, stateDir, TestStore, texts, WEB } from "../../../test/support/store-rig.ts";
import { followLogs } from "./follow.ts";
import { retire } from "./maintenance.ts";
import { RecordHeader } from "./record.ts";
import { logsFolder } from "./segment-files.ts";

test("output pushes procman's own entries out of the store neither at once nor in time; they stay in order", async (context) => {
  const dir = stateDir(context);
  const noisy = "x".repeat(4_000);
  for (let segment = 0; segment < 6; segment++) {
    const { store, ...writing } = new TestStore(dir);
    for (const category of ["api", "lifecycle", "service"] as const)
      store.addMessage({ category, severity: "info", at: Date.now(), text: `${category} ${segment}` });
    store.add(new RecordHeader(WEB, false), Buffer.from(`${noisy}\n`));
    store.addMessage({ category: "log", severity: "info", at: Date.now(), text: `log ${segment}` });
    store.end();
    assert.deepEqual(writing.reports, []);
  }
  const folder = logsFolder(dir);
  retire(folder, { hours: 1, bytes: 12_000 }, Date.now());
  const all = await texts(dir);
  assert.equal(all.filter((text) => text === noisy).length, 2);
  const own = (number: number): readonly string[] => [`api ${number}`, `lifecycle ${number}`, `service ${number}`];
  const whole = (number: number): readonly string[] => [...own(number), noisy, `log ${number}`];
  const kept = all.filter((text) => text.startsWith("api ")).map((text) => Number(text.slice(4)));
  assert.ok(kept.length > 3, `entries of ${kept.length} segments`);
  assert.deepEqual(all, [...kept.slice(0, -2).flatMap(own), ...kept.slice(-2).flatMap(whole)]);
  assert.deepEqual((await allPages(dir, { limit: 2 })).map(({ text }) => text).reverse(), all);
  assert.deepEqual(
    (await allPages(dir, { limit: 2, order: "asc" })).map(({ text }) => text),
    all,
  );
  const used = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  assert.ok(used <= 12_000, `${used} bytes`);
  retire(folder, { hours: 1, bytes: 12_000 }, Date.now() + 3_700_000);
  assert.deepEqual(readdirSync(folder), []);
});

test("a follower that was overtaken by the limit gets the number of missed bytes, then procman's own entries", async (context) => {
  const dir = stateDir(context);
  const write = (text: string): void => {
    const { store } = new TestStore(dir);
    store.add(new RecordHeader(WEB, false), Buffer.from(`${text.repeat(4_000)}\n`));
    store.addMessage({ category: "lifecycle", severity: "info", at: Date.now(), text: `after ${text}` });
    store.end();
  };
  for (const text of ["a", "b", "c", "d"]) write(text);
  const stop = new AbortController();
  const items: string[] = [];
  for await (const item of followLogs(dir, { from: 0 }, stop.signal)) {
    items.push(item.type === "gap" ? "gap" : item.entry.text.slice(0, 7));
    if (items.length === 1) retire(logsFolder(dir), { hours: 1, bytes: 5_000 }, Date.now());
    if (items.at(-1) === "after d") stop.abort();
  }
  assert.deepEqual(
    items.filter((text) => text.startsWith("after")),
    ["after a", "after b", "after c", "after d"],
  );
  assert.ok(!items.includes("bbbbbbb"));
});

test("own entries that can't be read are reported once, and nobody knows what is stored", (context) => {
  const dir = stateDir(context);
  const { store, folder, reports } = new TestStore(dir);
  mkdirSync(join(folder, "1.own"), { recursive: true });
  for (const _ of [1, 2]) assert.equal(store.storedSince(0), undefined);
  assert.deepEqual(reports, ["EISDIR"]);
  rmdirSync(join(folder, "1.own"));
  assert.equal(store.storedSince(0)?.take({ text: "x" }), false);
  store.end();
});

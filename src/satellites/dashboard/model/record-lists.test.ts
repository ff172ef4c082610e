/** Lists of processes in the dashboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { processRecord as record } from "../../../../test/support/process-record.ts";
import { actionsFor, wordsFor } from "./action-words.ts";
import { dependentsOf, reasonIn, statusText, toneOf, withRecord } from "./record-lists.ts";

const pair = record("pair", { type: "cluster", instances: [record("pair-1"), record("pair-2")] });

test("an event replaces the record of its process, also of an instance; the cluster's is then asked for", () => {
  const records = [record("web"), pair];
  const web = withRecord(records, new Map([["web", record("web", { status: "stopped" })]]));
  assert.deepEqual([web.records[0]?.status, web.records[1] === pair, web.isComplete], ["stopped", true, true]);
  const instance = withRecord(records, new Map([["pair-2", record("pair-2", { status: "backoff" })]]));
  assert.deepEqual([instance.records[1]?.instances?.[1]?.status, instance.isComplete], ["backoff", false]);
});

test("an event of an unknown process means that the list is not complete", () => {
  assert.equal(withRecord([record("web")], new Map([["new", record("new")]])).isComplete, false);
});

test("only what runs, is ready and healthy is good; a mixed cluster is as bad as its worst instance", () => {
  assert.equal(toneOf(record("a")), "good");
  assert.equal(toneOf(record("a", { ready: false })), "busy");
  assert.equal(toneOf(record("a", { healthy: false })), "bad");
  assert.equal(
    toneOf({ ...pair, status: "mixed", instances: [record("pair-1"), record("pair-2", { status: "errored" })] }),
    "bad",
  );
  assert.equal(statusText(record("a", { blocked: true, ready: false })), "running, not ready, blocked");
});

test("actions are those that make sense now; what interrupts says whom it hits", () => {
  assert.deepEqual(actionsFor(record("a")), ["stop", "restart", "signal", "block", "disable"]);
  assert.deepEqual(actionsFor(record("a", { status: "stopped", blocked: true, disabled: true })), [
    "unblock",
    "enable",
  ]);
  assert.deepEqual(actionsFor(pair), ["stop", "restart", "hard-restart", "scale", "signal", "block", "disable"]);
  const api = record("api", { dependsOn: [{ process: "a", condition: "ready" }] });
  assert.deepEqual(dependentsOf(new Set(["a"]), [api]), [api]);
  const stop = wordsFor("stop", record("a"), [api]);
  assert.ok(stop.interrupts && stop.effects.some((effect) => effect.includes("depends on it: api")));
  assert.equal(wordsFor("start", record("a"), [api]).interrupts, false);
  const front = record("group:front", { type: "group", instances: [record("a"), record("b")] });
  assert.deepEqual(actionsFor(front), ["stop", "restart", "signal"]);
  const both = wordsFor("stop", front, [api, record("b", { dependsOn: [{ process: "a", condition: "ready" }] })]);
  assert.equal(both.question, "Stop: group front?");
  assert.deepEqual(both.effects, [
    "The group has 2 processes; 2 runs will be stopped.",
    "This process depends on them: api.",
  ]);
  assert.match(wordsFor("restart", pair, []).effects.join(" "), /2 instances will be restarted one after another/);
});

test("the reason of what sleeps says for how long, and what wakes it", () => {
  const [since, now] = ["2026-11-27T14:03:10Z", Date.parse("2026-11-27T14:08:10Z")];
  const sleeping = { cause: { sleep: { since } }, reason: `sleeps since ${since}; a connection to :3000 wakes it` };
  assert.equal(reasonIn(sleeping, now), "for 5 min; a connection to :3000 wakes it");
  assert.equal(reasonIn({ ...sleeping, reason: `sleeps since ${since}` }, now), "for 5 min");
  assert.equal(reasonIn({ reason: "was stopped" }, now), "was stopped");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { HostSummary } from "../../../core/contract/host-links.ts";
import type { RolloutRecord } from "../../../core/contract/rollout-record.ts";
import { shownRollouts } from "./shown-rollouts.ts";

const NOW = Date.parse("2026-11-28T10:00:00Z");
const LINKS = ["a", "b", "c"].map((host) => ({ host, url: `http://${host}/enter` }));
const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

function recordOf(host: string, more: Partial<RolloutRecord> = {}): RolloutRecord {
  return {
    id: "20261128-095900-8f3a",
    host,
    hosts: ["a", "b", "c"],
    action: { kind: "deploy", order: { folder: "/srv/build" } },
    batch: 1,
    maxFailed: 0,
    onFailure: "stop",
    by: "ann@laptop",
    phase: "waiting",
    since: ago(60),
    time: ago(60),
    consumer: "cli",
    next: 1,
    ...more,
  };
}

function shown(...summaries: readonly HostSummary[]) {
  return shownRollouts(LINKS, new Map(summaries.map((each) => [each.host, each])), NOW);
}

const of = (host: string, more: Partial<RolloutRecord> = {}): HostSummary => ({ host, rollout: recordOf(host, more) });

test("a rollout that is under way says how far each host is, also one that doesn't answer", () => {
  const [rollout] = shown(
    of("a", { phase: "done" }),
    of("b", { phase: "running", line: "watching it for 30 s", said: ago(12) }),
    { host: "c", problem: "Cannot reach c: refused\nmore" },
  );
  assert.equal(rollout?.what, "deploy /srv/build on 3 hosts");
  assert.equal(rollout.by, "ann@laptop (cli)");
  assert.deepEqual([rollout.text, rollout.progress, rollout.isOver], ["under way", "1 of 3 done, 1 at a time", false]);
  assert.deepEqual(
    rollout.parts.map(({ host, text, detail, link }) => [host, text, detail, link?.url]),
    [
      ["a", "done", undefined, "http://a/enter"],
      ["b", "deploying", "watching it for 30 s (12 s)", "http://b/enter"],
      ["c", "unreachable", "Cannot reach c: refused", "http://c/enter"],
    ],
  );
});

test("the first line of a failure is shown, and that nothing else begins", () => {
  const [rollout] = shown(of("a", { phase: "failed", problem: "the gate: web\n  last lines" }), of("b"), of("c"));
  assert.equal(rollout?.text, "stopped");
  assert.deepEqual(
    rollout.parts.map(({ text, detail }) => [text, detail]),
    [
      ["failed", "the gate: web"],
      ["waiting", undefined],
      ["waiting", undefined],
    ],
  );
  const [back] = shown(of("a", { phase: "failed" }), of("b", { phase: "back-running", back: true }));
  assert.equal(back?.text, "going back");
});

test("the last one is shown for a day, and none beside one that is under way", () => {
  const ended = (id: string, seconds: number) => ({
    id,
    ended: ago(seconds),
    time: ago(seconds + 60),
    phase: "done" as const,
  });
  assert.deepEqual(shown(of("a", ended("old", 86_401))), []);
  const last = shown(of("a", ended("one", 7_200)), of("b", ended("two", 3_600)));
  assert.deepEqual(
    last.map(({ id, isOver }) => [id, isOver]),
    [["two", true]],
  );
  const ongoing = shown(of("a", ended("one", 60)), of("b"));
  assert.deepEqual(
    ongoing.map(({ isOver }) => isOver),
    [false],
  );
});

test("of a rollout that is over, hosts that weren't reached have not begun", () => {
  const over = { ended: ago(30), aborted: true as const };
  const [rollout] = shown(of("a", { ...over, phase: "failed", problem: "x" }), of("b", over), of("c", over));
  assert.deepEqual(
    rollout?.parts.map(({ text }) => text),
    ["failed", "not begun", "not begun"],
  );
  assert.equal(rollout?.text, "over, with failures");
  const [partly] = shown(of("a", { ...over, phase: "done" }), { host: "b" });
  assert.deepEqual(
    partly?.parts.map(({ text }) => text),
    ["done", "takes no part in it", "…"],
  );
});

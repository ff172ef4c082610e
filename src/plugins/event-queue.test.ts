import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventRecord } from "../contract/event-record.ts";
import { EventQueue, MOST_WAITING } from "./event-queue.ts";

const event = (number: number, type: "process.scheduled" | "process.watch" = "process.scheduled"): EventRecord =>
  ({ id: String(number), time: "", type, process: "web", text: "", file: "" }) as EventRecord;

test("only what is wanted waits, in order, and goes in parts", () => {
  const backlog = new EventQueue();
  backlog.offer(event(0));
  assert.ok(backlog.isEmpty);
  backlog.want(["process.scheduled"]);
  for (let number = 1; number <= 150; number += 1) backlog.offer(event(number));
  backlog.offer(event(151, "process.watch"));
  const parts = [backlog.take(), backlog.take()];
  assert.deepEqual(
    parts.map(({ length }) => length),
    [100, 50],
  );
  assert.deepEqual(
    parts.flat().map((each) => (each.type === "gap" ? "gap" : each.id)),
    Array.from({ length: 150 }, (_, index) => String(index + 1)),
  );
  assert.ok(backlog.isEmpty);
});

test("a slow plugin gets a mark of how much it has missed, never a longer queue", () => {
  const backlog = new EventQueue();
  backlog.want(["process.scheduled", "gap"]);
  for (let number = 1; number <= MOST_WAITING + 7; number += 1) backlog.offer(event(number));
  backlog.lose(2);
  const [first, second] = backlog.take();
  assert.deepEqual(first, { type: "gap", lost: 9 });
  assert.equal(second?.type === "gap" ? "" : second?.id, "8");
  assert.equal(backlog.lostInAll, 9);
  let rest = 99;
  while (!backlog.isEmpty) rest += backlog.take().length;
  assert.equal(rest, MOST_WAITING - 1);
});

test("a plugin that doesn't ask for gaps gets none", () => {
  const backlog = new EventQueue();
  backlog.want(["process.watch"]);
  backlog.lose(3);
  assert.deepEqual(backlog.take(), []);
  assert.ok(backlog.isEmpty);
});

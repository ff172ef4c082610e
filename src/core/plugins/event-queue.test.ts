import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventRecord } from "../contract/event-record.ts";
import { CAPACITY, EventQueue } from "./event-queue.ts";

const event = (number: number, type: "process.scheduled" | "process.watch" = "process.scheduled"): EventRecord =>
  ({ id: String(number), time: "", type, process: "web", text: "", file: "" }) as EventRecord;

test("only subscribed types are queued; they are taken in order and in batches", () => {
  const queue = new EventQueue();
  queue.open();
  queue.offer(event(0));
  assert.ok(queue.isEmpty);
  queue.subscribe(["process.scheduled"]);
  for (let number = 1; number <= 150; number += 1) queue.offer(event(number));
  queue.offer(event(151, "process.watch"));
  const parts = [queue.take(), queue.take()];
  assert.deepEqual(
    parts.map(({ length }) => length),
    [100, 50],
  );
  assert.deepEqual(
    parts.flat().map((each) => (each.type === "gap" ? "gap" : each.id)),
    Array.from({ length: 150 }, (_, index) => String(index + 1)),
  );
  assert.ok(queue.isEmpty);
});

test("the queue of a slow plugin is bounded, and a gap event says how many events it has missed", () => {
  const queue = new EventQueue();
  queue.subscribe(["process.scheduled", "gap"]);
  for (let number = 1; number <= CAPACITY + 7; number += 1) queue.offer(event(number));
  queue.lose(2);
  const [first, second] = queue.take();
  assert.deepEqual(first, { type: "gap", lost: 9 });
  assert.equal(second?.type === "gap" ? "" : second?.id, "8");
  assert.equal(queue.lostTotal, 9);
  let rest = 99;
  while (!queue.isEmpty) rest += queue.take().length;
  assert.equal(rest, CAPACITY - 1);
});

test("a plugin that doesn't listen to gaps gets none", () => {
  const queue = new EventQueue();
  queue.subscribe(["process.watch"]);
  queue.lose(3);
  assert.deepEqual(queue.take(), []);
  assert.ok(queue.isEmpty);
});

test("events from before the plugin is up are kept for it, of the types that it listens to by then", () => {
  const queue = new EventQueue();
  queue.offer(event(1));
  queue.offer(event(2, "process.watch"));
  queue.subscribe(["process.scheduled"]);
  queue.offer(event(3));
  queue.open();
  assert.deepEqual(
    queue.take().map((each) => (each.type === "gap" ? "gap" : each.id)),
    ["1", "3"],
  );
  queue.offer(event(4, "process.watch"));
  assert.ok(queue.isEmpty);
});

/** The time at which deferred work is done. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { DeferredQueue } from "./deferred-queue.ts";

test("deferred work is done after 3 ms; during many starts when these are over, or after 25 ms at most", (context) => {
  let now = 0;
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  context.mock.method(process, "hrtime", () => [0, now * 1e6]);
  const pass = (ms: number): void => {
    for (let step = 0; step < ms; step += 1) {
      now += 1;
      mock.timers.tick(1);
    }
  };
  const queue = new DeferredQueue();
  const done: string[] = [];
  queue.add(() => done.push("at once"));
  queue.add(() => done.push("cancelled"))();
  pass(3);
  assert.deepEqual(done.splice(0), ["at once"]);
  queue.isRush = true;
  queue.add(() => done.push("long"));
  pass(24);
  assert.equal(done.length, 0);
  queue.add(() => done.push("short"));
  pass(6);
  assert.deepEqual(done.splice(0), ["long"]);
  queue.isRush = false;
  pass(3);
  assert.deepEqual(done.splice(0), ["short"]);
});

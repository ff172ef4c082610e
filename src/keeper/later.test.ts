/** When what nobody waits for is done. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { later, rush } from "./later.ts";

test("a moment later; in a rush of starts when that is over, or 25 ms later at most", (context) => {
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
  const done: string[] = [];
  later(() => done.push("at once"));
  later(() => done.push("taken back"))();
  pass(3);
  assert.deepEqual(done.splice(0), ["at once"]);
  rush(true);
  later(() => done.push("long"));
  pass(24);
  assert.equal(done.length, 0);
  later(() => done.push("short"));
  pass(6);
  assert.deepEqual(done.splice(0), ["long"]);
  rush(false);
  pass(3);
  assert.deepEqual(done.splice(0), ["short"]);
});

/** Clients on a shared socket from which no instance accepts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { STRANDED_AFTER_MS, StrandedClients } from "./stranded-clients.ts";

const SOCKET = { hostname: "127.0.0.1", port: 3_000 };

test("clients that wait for ten seconds without a break are turned away, again after ten more, and the first time is told", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let [now, queued, isIdle] = [0, 0, true];
  context.mock.method(performance, "now", () => now);
  const turned: boolean[] = [];
  const clients = new StrandedClients({
    idle: () => (isIdle ? [SOCKET] : []),
    queued: () => queued,
    turnAway: (_, isFirst) => turned.push(isFirst),
  });
  const pass = (ms: number): void => {
    for (let left = ms; left > 0; left -= 500) {
      now += 500;
      context.mock.timers.tick(500);
    }
  };
  clients.check();
  pass(STRANDED_AFTER_MS * 2);
  queued = 1;
  pass(STRANDED_AFTER_MS / 2);
  queued = 0;
  pass(2_000);
  queued = 3;
  pass(STRANDED_AFTER_MS);
  assert.deepEqual(turned, []);
  pass(1_000);
  assert.deepEqual(turned, [true]);
  pass(STRANDED_AFTER_MS + 1_000);
  assert.deepEqual(turned, [true, false]);
  isIdle = false;
  pass(STRANDED_AFTER_MS * 2);
  isIdle = true;
  clients.check();
  pass(STRANDED_AFTER_MS + 1_000);
  assert.deepEqual(turned, [true, false, true]);
  clients.stop();
  pass(STRANDED_AFTER_MS * 2);
  assert.equal(turned.length, 3);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Watchdog } from "./watchdog.ts";

function counted(): { readonly pulse: Watchdog; readonly counts: { looks: number; pings: number; hangs: number } } {
  const counts = { looks: 0, pings: 0, hangs: 0 };
  const pulse = new Watchdog({
    checkStateDir: () => {
      counts.looks += 1;
    },
    ping: () => {
      counts.pings += 1;
    },
    onHang: (silentMs) => {
      assert.equal(silentMs, 30_000);
      counts.hangs += 1;
    },
  });
  return { pulse, counts };
}

test("each check looks at the state folder, every tenth pings the service", () => {
  const { pulse, counts } = counted();
  for (let beat = 1; beat <= 25; beat++) pulse.check();
  assert.deepEqual(counts, { looks: 25, pings: 2, hangs: 0 });
});

test("a service that answers none of three pings hangs, and its successor gets the same time", () => {
  const { pulse, counts } = counted();
  for (let beat = 1; beat <= 39; beat++) pulse.check();
  assert.equal(counts.hangs, 0);
  pulse.check();
  assert.equal(counts.hangs, 1);
  for (let beat = 1; beat <= 20; beat++) pulse.check();
  assert.equal(counts.hangs, 1);
});

test("a service that answers one of three pings does not hang", () => {
  const { pulse, counts } = counted();
  for (let beat = 1; beat <= 200; beat++) {
    pulse.check();
    if (beat % 30 === 0) pulse.answered();
  }
  assert.equal(counts.hangs, 0);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { stateDir, TestStore } from "../../../test/support/store-rig.ts";
import { retire } from "./maintenance.ts";
import { logsFolder, segmentsIn } from "./segment-files.ts";
import { SteadyClock } from "./steady-clock.ts";

const HOUR = 3_600_000;
const MINUTE = 60_000;

test("2.4 log store: a clock that jumps ahead deletes no young segment until it has been right for an hour", (context) => {
  const dir = stateDir(context);
  const { store } = new TestStore(dir);
  store.addMessage({ category: "service", severity: "info", at: Date.now(), text: "young" });
  store.end();
  const folder = logsFolder(dir);
  const [clock, start, settings] = [new SteadyClock(), Date.now(), { hours: 24, bytes: 1e9 }];
  /** The store is maintained each minute. */
  const pass = (from: number, to: number, jump: number): number => {
    for (let ms = from; ms <= to; ms += MINUTE)
      retire(folder, clock.believed(settings, start + jump + ms, 1_000 + ms), start + jump + ms);
    return segmentsIn(folder).length;
  };
  assert.equal(pass(0, 2 * HOUR, 0), 1);
  assert.equal(pass(2 * HOUR, 2.5 * HOUR, 48 * HOUR), 1, "ahead for half an hour");
  assert.equal(pass(2.5 * HOUR, 4 * HOUR, 0), 1, "set right again");
  assert.equal(pass(4 * HOUR, 4.9 * HOUR, 48 * HOUR), 1);
  assert.equal(pass(4.9 * HOUR, 5.1 * HOUR, 48 * HOUR), 0, "it stays so");
});

test("2.4 log store: a short retention and none at all are not delayed by an hour", () => {
  const clock = new SteadyClock();
  assert.equal(clock.believed({ hours: 0, bytes: 1 }, 1e12, 5).hours, 0);
  assert.equal(clock.believed({ hours: 0.5, bytes: 1 }, 1e12 + HOUR / 2, 5 + HOUR / 2).hours, 0.5);
});

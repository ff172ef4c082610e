/** How the overview is shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsFor, storedOptions, storeOptions, type ViewOptions } from "./view-options.ts";

/** As in the style sheet. */
const WIDTHS = { pid: 72, port: 64, up: 68, restarts: 80, cpu: 78, memory: 86, next: 92 } as const;
const [ACTIONS, CURVES] = [124, 140];

test("at each width the state has at least 220 pixels; the next run and the curves go first", () => {
  for (let width = 859; width <= 1_638; width += 1)
    for (const pid of [false, true])
      for (const port of [false, true]) {
        const { keys, hasCurves, nameWidth } = columnsFor(width, { pid, port });
        const fixed = keys.reduce((sum, key) => sum + WIDTHS[key], ACTIONS + nameWidth + (hasCurves ? CURVES : 0));
        assert.ok(width - fixed >= 220, `${width}: ${width - fixed}`);
        assert.ok(hasCurves || !keys.includes("next"), `${width}: the next run without curves`);
        assert.equal(keys.includes("pid"), pid);
        assert.equal(keys.includes("port"), port);
        assert.ok(keys.includes("cpu") && keys.includes("memory"), `${width}`);
      }
});

test("choices are kept, and what isn't a choice counts as none", () => {
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
  const defaults = storedOptions(storage);
  assert.deepEqual(defaults, { isCompact: false, isGrouped: true, pid: false, port: false });
  const chosen: ViewOptions = { isCompact: true, isGrouped: false, pid: true, port: false };
  storeOptions(storage, chosen);
  assert.deepEqual(storedOptions(storage), chosen);
  for (const key of kept.keys()) kept.set(key, '{"pid":1}');
  assert.deepEqual(storedOptions(storage), defaults);
});

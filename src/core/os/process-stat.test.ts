import assert from "node:assert/strict";
import { test } from "node:test";
import { isDying } from "./process-stat.ts";

test("a process that got SIGKILL is dying: while the signal is pending, and while it exits", () => {
  const isDyingWith = (pending: string, flags: number): boolean =>
    isDying(7, (path) =>
      path.endsWith("/status")
        ? `Name:\tnode\nSigPnd:\t${pending}\nShdPnd:\t0000000000000000\n`
        : `7 (node (a) 1 2) S 1 7 7 0 -1 ${flags} 0 0 0`,
    );
  const [none, kill] = ["0000000000000000", "0000000000000100"];
  assert.deepEqual(
    [isDyingWith(none, 0x400000), isDyingWith("0000000000004000", 0x400000), isDying(process.pid), isDying(0)],
    [false, false, false, false],
  );
  assert.deepEqual(
    [isDyingWith(kill, 0x400000), isDyingWith(none, 0x400004), isDyingWith(none, 0x400400)],
    [true, true, true],
  );
});

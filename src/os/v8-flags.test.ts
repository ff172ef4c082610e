/** Flags that are changed while a process runs, and code that was compiled without them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { hasOtherFlags, withFlagsOfStart } from "./v8-flags.ts";

const MODULE = JSON.stringify(new URL("./v8-flags.ts", import.meta.url).href);

/** Of another process, as V8's flags are for all of one. */
function told(script: string): unknown {
  const args = ["--import", "tsx", "--input-type=module", "-e", script];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

test("what V8 begins with is known: compiled code of the start is taken with its flags, and with no others", () => {
  const script = `
import { Script } from "node:vm";
import { hasOtherFlags, holdYoungGeneration, optimiseLate, withFlagsOfStart } from ${MODULE};
let last = 10;
// Of the source V8 compares the length alone; the same one again would be met in its memory.
const next = () => String(last++);
const cachedData = new Script(next()).createCachedData();
const isTaken = () => !new Script(next(), { cachedData }).cachedDataRejected;
const seen = () => [hasOtherFlags(), isTaken(), withFlagsOfStart(isTaken)];
const all = [seen()];
for (const change of [holdYoungGeneration, optimiseLate]) { change(); all.push(seen(), [isTaken()]); }
console.log(JSON.stringify(all));`;
  assert.deepEqual(told(script), [[false, true, true], [true, false, true], [false], [true, false, true], [false]]);
});

test("without a change there is nothing to take back", () => {
  assert.equal(hasOtherFlags(), false);
  assert.equal(
    withFlagsOfStart(() => "done"),
    "done",
  );
});

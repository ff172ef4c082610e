/** A reporter of node:test: how long the tests of each file took, as JSON. Milliseconds; tests that run side by side count each. */
import { relative } from "node:path";
import { ROOT } from "./run-command.mjs";

export default async function* fileTimes(events) {
  const times = {};
  for await (const { type, data } of events) {
    if ((type !== "test:pass" && type !== "test:fail") || data.nesting > 0 || data.file === undefined) continue;
    const file = relative(ROOT, data.file);
    times[file] = (times[file] ?? 0) + data.details.duration_ms;
  }
  yield JSON.stringify(times);
}

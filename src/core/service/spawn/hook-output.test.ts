import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { passLines } from "./hook-output.ts";

test("lines of a hook are passed whole and in order, in batches that wait for the keeper", async (context) => {
  // Its pauses keep no process alive.
  const alive = setInterval(() => undefined, 1_000);
  context.after(() => clearInterval(alive));
  const stream = new PassThrough();
  const lines: string[] = [];
  const batches: number[] = [];
  const output = passLines(
    stream,
    (text) => lines.push(text),
    async () => void batches.push(lines.length),
  );
  const written = Array.from({ length: 1_000 }, (_, index) => `line ${index} \u00e4`);
  stream.write(`\n${written.join("\n").slice(0, 700)}`);
  stream.end(`${written.join("\n").slice(700)}\nlast`);
  await once(stream, "close");
  await output.passed();
  output.end();
  assert.deepEqual(lines, [...written, "last"]);
  assert.ok(batches.every((count, index) => count - (batches[index - 1] ?? 0) <= 100));
});

test("a hook that prints without end is not read faster than its lines are passed; at its end the rest is counted", async (context) => {
  // Its pauses keep no process alive.
  const alive = setInterval(() => undefined, 1_000);
  context.after(() => clearInterval(alive));
  const stream = new PassThrough();
  const lines: string[] = [];
  let commits = 0;
  const output = passLines(
    stream,
    (text) => lines.push(text),
    async () => {
      commits += 1;
    },
  );
  const isTaken = stream.write("y\n".repeat(10_000)) && stream.write("y\n".repeat(10_000));
  assert.equal(isTaken, false, "the writer has to wait");
  while (commits < 3) await new Promise(setImmediate);
  assert.ok(lines.length <= 400, `${lines.length} lines`);
  output.end();
  const [last = ""] = lines.slice(-1);
  assert.match(last, /^\d+ lines are missing: they were printed faster than they can be logged$/);
  assert.equal(lines.length - 1 + Number.parseInt(last, 10), 10_000);
});

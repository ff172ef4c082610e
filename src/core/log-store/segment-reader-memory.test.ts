import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { stateDir, TestStore, WEB } from "../../../test/support/store-rig.ts";
import { SegmentCompressor } from "./compressor.ts";
import { release } from "./segment-reader.ts";

const PROGRAM = join(import.meta.dirname, "../../../test/programs/measure-query-memory.ts");
const MEGABYTE = 1e6;

test("released buffers are freed immediately, except those in Node's shared pool", () => {
  const large = Buffer.allocUnsafeSlow(100_000);
  release(large);
  assert.equal(large.length, 0);
  const small = Buffer.from("in the pool");
  release(small);
  assert.equal(small.toString(), "in the pool");
});

test("speed: a search through 130 MB of log takes less than 30 MB of memory, compressed or not", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  for (let number = 0; number < 2_000; number += 1) {
    writing.lines(
      WEB,
      ...Array.from({ length: 650 }, (_, each) => `line ${number} ${Math.random()} ${each}`.padEnd(99, ".")),
    );
    if (number % 50 === 0) await writing.settled();
    if (number !== 1_000) continue;
    writing.store.end();
    await new SegmentCompressor(() => false).run(writing.folder);
  }
  context.after(() => writing.store.end());
  await writing.settled();
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", PROGRAM, dir]);
  assert.ok(Number(stdout) > 0 && Number(stdout) < 30 * MEGABYTE, `${Number(stdout) / MEGABYTE} MB`);
});

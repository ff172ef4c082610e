/** The FIFOs of runs, made by the real `mkfifo`. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type FifoPair, FifoPool, openForRun } from "./fifo-pool.ts";

function made(context: TestContext): {
  readonly fifos: FifoPool;
  readonly folder: string;
  readonly takeAll: () => readonly FifoPair[];
} {
  const home = mkdtempSync(join(tmpdir(), "procman-fifos-"));
  const folder = join(home, "run/fifos");
  const fifos = new FifoPool(folder);
  const taken: FifoPair[] = [];
  const takeAll = (): readonly FifoPair[] => {
    const now: FifoPair[] = [];
    for (let pair = fifos.take(); pair !== undefined; pair = fifos.take()) now.push(pair);
    taken.push(...now);
    return now;
  };
  context.after(() => {
    for (const pair of taken) fifos.giveBack(pair);
    fifos.remove();
    rmSync(home, { recursive: true });
  });
  return { fifos, folder, takeAll };
}

test("no FIFO is made twice, spare ones are made, and other users can't open them", async (context) => {
  const { fifos, folder, takeAll } = made(context);
  await fifos.fill(100);
  const first = takeAll();
  assert.equal(first.length, 104, "four to spare");
  await fifos.fill(1);
  const numbers = [...first, ...takeAll()].map(({ number }) => number);
  assert.deepEqual(
    numbers.toSorted((one, other) => one - other),
    Array.from({ length: 105 }, (_, index) => index + 1),
  );
  const files = readdirSync(folder).map((name) => statSync(join(folder, name)));
  assert.equal(files.length, 210);
  assert.ok(files.every((each) => each.isFIFO() && (each.mode & 0o777) === 0o600));
});

test("a single FIFO pair is made at once; files that a killed keeper left are replaced", async (context) => {
  const { fifos, folder, takeAll } = made(context);
  writeFileSync(join(folder, "2.out"), "");
  await fifos.fill(3);
  assert.equal(takeAll().length, 7);
  assert.ok(statSync(join(folder, "2.out")).isFIFO());
});

test("without the program mkfifo, the message names the program and where it is from", async (context) => {
  const { fifos } = made(context);
  const { PATH } = process.env;
  context.after(() => Object.assign(process.env, { PATH }));
  process.env.PATH = "/nonexistent";
  await assert.rejects(fifos.fill(1), /the program "mkfifo" is not in PATH; install coreutils/);
});

test("a folder that takes no FIFO: one or many are rejected, and it is used again once it exists", async (context) => {
  const { fifos, folder, takeAll } = made(context);
  rmSync(folder, { recursive: true });
  for (const count of [1, 3, 100]) await assert.rejects(fifos.fill(count), /ENOENT/);
  assert.deepEqual(takeAll(), []);
  fifos.recreate();
  await fifos.fill(1);
  assert.equal(takeAll().length, 1);
});

test("of an earlier keeper's files, those of its free pairs are removed; those that a run writes to, or that are read, stay", async (context) => {
  const { fifos, folder, takeAll } = made(context);
  await fifos.fill(8);
  const [first, second] = takeAll();
  assert.ok(first !== undefined && second !== undefined);
  const next = new FifoPool(folder);
  const adopted = next.adopt(first.number, undefined);
  assert.ok(adopted !== undefined);
  const ends = openForRun(second);
  const run = spawn("sleep", ["1000"], { stdio: ["ignore", ...ends] });
  context.after(() => run.kill());
  for (const end of ends) closeSync(end);
  writeFileSync(join(folder, "3.other"), "");
  next.removeOthers([adopted], [run.pid ?? 0]);
  const kept = [first, second].flatMap(({ number }) => [`${number}.out`, `${number}.err`]);
  assert.deepEqual(readdirSync(folder).sort(), [...kept, "3.other"].sort());
  next.giveBack(adopted);
});

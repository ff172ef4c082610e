/** The FIFOs of runs, made by the real `mkfifo`. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Fifos, type Pair } from "./fifos.ts";

function made(context: TestContext): { readonly fifos: Fifos; readonly folder: string; readonly takeAll: () => readonly Pair[] } {
  const home = mkdtempSync(join(tmpdir(), "procman-fifos-"));
  const folder = join(home, "fifos");
  const fifos = new Fifos(folder);
  const taken: Pair[] = [];
  const takeAll = (): readonly Pair[] => {
    const now: Pair[] = [];
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

test("of many pairs the first are there while the rest is made; none is made twice, and nobody else may open them", async (context) => {
  const { fifos, folder, takeAll } = made(context);
  await fifos.fill(100);
  const first = takeAll();
  assert.equal(first.length, 16);
  await fifos.fill(84);
  const numbers = [...first, ...takeAll()].map(({ number }) => number);
  assert.deepEqual(
    numbers.toSorted((one, other) => one - other),
    Array.from({ length: 104 }, (_, index) => index + 1),
    "four to spare",
  );
  const files = readdirSync(folder).map((name) => statSync(join(folder, name)));
  assert.equal(files.length, 208);
  assert.ok(files.every((each) => each.isFIFO() && (each.mode & 0o777) === 0o600));
});

test("few are made at once; what a keeper that was killed has begun is made anew", async (context) => {
  const { fifos, folder, takeAll } = made(context);
  writeFileSync(join(folder, "2.out"), "");
  await fifos.fill(3);
  assert.equal(takeAll().length, 7);
  assert.ok(statSync(join(folder, "2.out")).isFIFO());
});

test("a folder that takes none: told for one as for many, and used again once it is there", async (context) => {
  const { fifos, folder, takeAll } = made(context);
  rmSync(folder, { recursive: true });
  for (const count of [1, 3, 100]) await assert.rejects(fifos.fill(count), /ENOENT/);
  assert.deepEqual(takeAll(), []);
  fifos.renew();
  await fifos.fill(1);
  assert.equal(takeAll().length, 1);
});

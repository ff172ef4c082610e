/** A run gets its FIFOs once the logger holds them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ToLogger } from "../ipc/logger-protocol.ts";
import { HoldRequests } from "./captures.ts";
import { FifoPool } from "./fifo-pool.ts";

type Hold = Extract<ToLogger, { readonly t: "hold" }>;

const pair = { out: "1.out", err: "1.err" };

function asking() {
  const sent: Hold[] = [];
  return { sent, holds: new HoldRequests((message) => sent.push(message as Hold)) };
}

test("new FIFOs can be taken once the logger holds them", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-holds-"));
  const { sent, holds } = asking();
  const fifos = new FifoPool(join(folder, "fifos"), (pairs) => holds.ask(pairs));
  context.after(() => {
    fifos.remove();
    rmSync(folder, { recursive: true });
  });
  const made = fifos.fill(1);
  while (sent[0] === undefined) await new Promise(setImmediate);
  assert.equal(fifos.take(), undefined);
  holds.answered(sent[0].receipt ?? 0);
  await made;
  const taken = fifos.take();
  assert.deepEqual(sent[0].paths, [taken?.out, taken?.err]);
  if (taken !== undefined) fifos.giveBack(taken);
});

test("a logger that is replaced while the folder has no rights gets the keeper's own paths to the free FIFOs", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-holds-"));
  const fifos = new FifoPool(join(folder, "fifos"));
  context.after(() => {
    fifos.remove();
    rmSync(folder, { recursive: true });
  });
  await fifos.fill(1);
  const { sent, holds } = asking();
  void holds.ask(fifos.free);
  const [{ paths, fallbacks = [] }] = sent as [Hold];
  assert.equal(paths.length, 2);
  assert.deepEqual(
    fallbacks.map((path) => statSync(path).ino),
    paths.map((path) => statSync(path).ino),
  );
  assert.ok(
    process.platform !== "linux" || fallbacks.every((path) => path.startsWith(`/proc/${process.pid}/fd/`)),
    `${fallbacks}`,
  );
});

test("a logger that doesn't answer delays one request, and none more until it answers", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { sent, holds } = asking();
  const first = holds.ask([pair]);
  context.mock.timers.tick(1_000);
  await first;
  await holds.ask([pair]);
  holds.answered(1);
  let isDone = false;
  const third = holds.ask([pair]).then(() => {
    isDone = true;
  });
  await new Promise(setImmediate);
  assert.equal(isDone, false);
  holds.answered(3);
  await third;
  assert.deepEqual(
    sent.map(({ receipt }) => receipt),
    [1, 2, 3],
  );
});

/** Lines are typed into a program while procman's parts are killed at random moments: what was accepted arrives, once and in order. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type FaultRig, folderFor, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";
import { SeededRandom } from "../support/seeded-random.ts";

const SEED = Number(process.env.PROCMAN_FAULT_SEED ?? 37);
const KILLS = 8;
/** Between two kills. Milliseconds. */
const PAUSE_MS = [100, 600] as const;

type Sent = { readonly accepted: readonly number[]; readonly unknown: ReadonlySet<number> };

/** Sends numbered lines until `isOver`, some of them padded, several in a request. Without an answer nobody knows whether they were taken. */
async function sendLines({ procman }: FaultRig, random: SeededRandom, isOver: () => boolean): Promise<Sent> {
  const [accepted, unknown]: [number[], Set<number>] = [[], new Set()];
  for (let next = 1; !isOver(); ) {
    const numbers = Array.from({ length: Math.ceil(random.between(0, 20)) }, () => next++);
    const lines = numbers.map((number) => `${number} ${"x".repeat(random.between(0, 200))}\n`);
    const answer = await procman.api.ask("POST", "/processes/sink/input", { text: lines.join("") });
    const taken = answer?.status === 200 ? lines.join("").length : (answer?.body.taken as number | undefined);
    if (answer === undefined) {
      for (const number of numbers) unknown.add(number);
      await sleep(5);
    }
    // What was refused is not sent again: its numbers must never arrive.
    for (let index = 0, end = 0; index < numbers.length; index++) {
      end += lines[index]?.length ?? 0;
      if (end <= (taken ?? 0)) accepted.push(numbers[index] ?? 0);
    }
  }
  return { accepted, unknown };
}

async function killAtRandom(rig: FaultRig, random: SeededRandom): Promise<void> {
  for (let count = 0; count < KILLS; count++) {
    await sleep(random.between(...PAUSE_MS));
    rig.killPart(random.weighted({ service: 5, keeper: 3, logger: 1, everything: 1 }));
    await answers(rig);
  }
}

/** What was killed together with the part that would have replaced it has to be started. */
async function answers({ procman }: FaultRig): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    if ((await procman.answered(5_000)) !== undefined) return;
    procman.start();
  }
  assert.fail("procman does not answer");
}

/** The numbers that the program has read; each line must be whole. */
function arrivedIn(folder: string): readonly number[] {
  const file = join(folder, "got");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [""];
  assert.equal(lines.pop(), "");
  return lines.map((line) => Number(/^(\d+) x*$/.exec(line)?.[1] ?? assert.fail(`a torn line: ${line}`)));
}

test(`lines that were accepted while parts of procman are killed arrive once and in order, at a program that always reads (seed ${SEED})`, async (context) => {
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [
    { id: "sink", cmd: "exec cat >> got", stdin: true, autostart: true, restart: "never" },
  ]);
  const { pid } = await rig.until("sink", ({ status }) => status === "running");
  let isOver = false;
  const random = new SeededRandom(SEED);
  const sending = sendLines(rig, new SeededRandom(SEED + 1), () => isOver);
  await killAtRandom(rig, random).finally(() => {
    isOver = true;
  });
  const { accepted, unknown } = await sending;
  const last = accepted.at(-1) ?? assert.fail("nothing was accepted");
  const arrived = await eventually(() => {
    const found = arrivedIn(folder);
    return found.includes(last) ? found : undefined;
  });
  assert.deepEqual(
    arrived.filter((number) => !unknown.has(number)),
    accepted,
  );
  assert.equal(new Set(arrived).size, arrived.length, "none arrives twice");
  assert.equal((await rig.until("sink", ({ status }) => status === "running")).pid, pid, "its input never ended");
  assert.deepEqual(await rig.verdict(), []);
});

test("lines that wait in the pipe of a program that doesn't read are there after each part of procman was killed, and after an upgrade", async (context) => {
  const folder = folderFor(context);
  const waits = "until [ -e go ]; do sleep 0.05; done; exec cat >> got";
  const rig = await startRig(context, folder, [
    { id: "sink", cmd: waits, stdin: true, autostart: true, restart: "never" },
  ]);
  await rig.until("sink", ({ status }) => status === "running");
  const line = `1 ${"x".repeat(97)}\n`;
  const full = await rig.procman.api.ask("POST", "/processes/sink/input", { text: line.repeat(1_000) });
  assert.equal(full?.status, 409);
  const { code, taken } = full?.body as { readonly code: string; readonly taken: number };
  assert.deepEqual([code, taken % line.length, taken > 60_000], ["input-full", 0, true]);
  for (const part of ["service", "keeper", "logger", "everything"] as const) {
    rig.killPart(part);
    if (part === "everything") rig.procman.start();
    await answers(rig);
  }
  assert.equal(await rig.procman.upgrade(), 0);
  const again = await rig.procman.api.ask("POST", "/processes/sink/input", { text: line });
  assert.deepEqual([again?.status, again?.body.taken], [409, 0]);
  writeFileSync(join(folder, "go"), "");
  await eventually(() => arrivedIn(folder).length >= taken / line.length || undefined);
  assert.equal(arrivedIn(folder).length, taken / line.length);
  assert.deepEqual(await rig.verdict(), []);
});

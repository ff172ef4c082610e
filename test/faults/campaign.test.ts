/**
 * A campaign with a new seed each time; with fixed seeds in `test/long`.
 * `PROCMAN_FAULT_SEED` repeats a seed; `PROCMAN_FAULT_MINUTES` continues with new seeds for that time.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resultOf, testCampaign } from "./campaign/campaign-test.ts";

const { PROCMAN_FAULT_SEED, PROCMAN_FAULT_MINUTES } = process.env;

const random = (): number => Math.floor(Math.random() * 1e9);

testCampaign(Number(PROCMAN_FAULT_SEED ?? random()));

if (PROCMAN_FAULT_MINUTES !== undefined)
  test("for the requested time: one random seed after another", async (context) => {
    for (const end = performance.now() + Number(PROCMAN_FAULT_MINUTES) * 60_000; performance.now() < end; )
      assert.deepEqual((await resultOf(context, random())).findings, []);
  });

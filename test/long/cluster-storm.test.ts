/** A cluster under load and kills for a minute (`PROCMAN_STORM_SECONDS` sets another time); a short version is test/load/storm.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLIENTS, storm } from "../support/storm.ts";

const SECONDS = Number(process.env.PROCMAN_STORM_SECONDS ?? 60);

test(`${CLIENTS} clients under full load for ${SECONDS} s: only connections of killed instances fail, whatever is restarted or killed`, async (context) => {
  const account = await storm(context, SECONDS);
  console.error(JSON.stringify(account));
  assert.ok(account.requests > SECONDS * 20, `${account.requests} requests`);
  assert.ok(account.kills >= Math.floor(SECONDS / 3) - 2, `${account.kills} kills`);
  if (SECONDS >= 60) assert.equal(account.rollingRestarts, 10);
});

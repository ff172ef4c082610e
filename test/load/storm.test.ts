/** A cluster under load and kills for some seconds; the long version is test/long/cluster-storm.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLIENTS, storm } from "../support/storm.ts";

test(`${CLIENTS} clients, rolling restarts, and kills of instances and of the daemon: only requests of killed instances fail`, async (context) => {
  const { requests, kills, rollingRestarts } = await storm(context, 8);
  assert.ok(
    requests > 160 && kills >= 1 && rollingRestarts >= 2,
    `${requests} requests, ${kills} kills, ${rollingRestarts} rolling restarts`,
  );
});

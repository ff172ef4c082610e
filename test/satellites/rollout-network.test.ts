/** `procman deploy --host @web --haproxy`: rollouts over three machines with a network between them, behind HAProxy. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HostRig } from "../support/host-rig.ts";

test("three hosts roll under load: no request fails; a release that is bad on the second host goes back on both", async (context) => {
  const rig = await HostRig.withRelease(context);
  if (rig === undefined) return;
  const load = rig.load(context);
  const good = await rig.run(...rig.rolling("2"));
  assert.equal(good.code, 0, good.err);
  assert.deepEqual(rig.versions, ["2", "2", "2"]);
  const planned = await rig.run(...rig.rolling("3"), "--dry-run");
  assert.equal(planned.code, 0, planned.err);
  assert.deepEqual(rig.uploads, [[], [], []], "neither a rollout nor a plan leaves an upload");
  writeFileSync(join(rig.place("web2"), "refuse"), "");
  const bad = await rig.run(...rig.rolling("3"));
  assert.equal(bad.code, 1);
  assert.match(bad.err, /web2: .*\n.*taken back: web1/s);
  assert.deepEqual(rig.versions, ["2", "2", "2"]);
  assert.deepEqual(await rig.notUp(), []);
  await load.stop();
  assert.deepEqual(load.failures, []);
  context.diagnostic([...load.answers].map(([version, count]) => `${count} of ${version}`).join(", "));
});

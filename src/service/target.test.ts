/** What counts as done for whoever waits for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlRig } from "../../test/control-rig.ts";
import { reached } from "./target.ts";

test("a job that has done its work before anybody looks was started; one that has failed was not", async () => {
  const { supervisor, spawner } = controlRig();
  const job = supervisor.find("job");
  for (const code of [0, 3]) {
    if (job.isIdle) job.start();
    spawner.up("job");
    spawner.exit("job", code);
    spawner.swept("job");
    const done = reached(supervisor, { action: "restart", processes: [job], reason: () => "failed" }, { waitSeconds: 20 });
    if (code === 0) await done;
    else await assert.rejects(done, { code: "process-failed", message: 'Cannot restart "job": it failed' });
  }
});

/** What `?wait` waits for, and the errors that it ends with. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controlRig } from "../../../../test/support/control-rig.ts";
import { servingContext } from "../../../../test/support/service-fakes.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { awaitAction } from "./action-wait.ts";

/** Their status text is `reason`. */
const contextOf = (supervisor: Supervisor, reason: (id: string) => string) => ({
  ...servingContext(
    supervisor,
    supervisor.processes.map(({ id }) => ({ id })),
  ),
  records: { of: ({ id }: Pick<Process, "id">) => ({ reason: reason(id) }) as ProcessRecord },
});

test("a job that has finished before the first check counts as started; a failed one doesn't", async () => {
  const { supervisor, spawner } = controlRig();
  const job = supervisor.find("job");
  for (const code of [0, 3]) {
    if (job.isIdle) job.start();
    spawner.up("job");
    spawner.exit("job", code);
    spawner.swept("job");
    const context = contextOf(supervisor, () => "failed");
    const done = awaitAction(context, { action: "restart", processes: [job] })({ waitSeconds: 20 });
    if (code === 0) await done;
    else await assert.rejects(done, { code: "process-failed", message: 'Cannot restart "job": it failed' });
  }
});

test("a wait for several processes names each that has failed, also when the time is over", async () => {
  const { supervisor, spawner } = controlRig();
  const processes = ["web", "job", "pair-1"].map((id) => supervisor.find(id));
  for (const process of processes) process.restart();
  for (const id of ["web", "job"]) {
    spawner.exit(id, 0);
    spawner.swept(id);
    spawner.up(id);
    spawner.exit(id, 3);
    spawner.swept(id);
  }
  const context = contextOf(supervisor, (id) => `${id} failed`);
  const done = awaitAction(context, { action: "restart", processes })({ waitSeconds: 0.05 });
  const message =
    /^Cannot restart "web": it web failed\nCannot restart "job": it job failed\nCannot wait for the restart of "pair-1": timed out/;
  await assert.rejects(done, { code: "process-failed", message, processes: ["web", "job", "pair-1"] });
});

test("a process that a reload removes during the wait for its start is not a failure, unless nothing else is waited for", async () => {
  const { supervisor, spawner } = controlRig();
  const pair = ["pair-1", "pair-2"].map((id) => supervisor.find(id));
  for (const process of pair) process.restart();
  // As in the service: the status text of a process that is gone can't be made.
  const context = contextOf(supervisor, (id) => supervisor.find(id).id);
  const waits = [pair, pair.slice(1)].map((processes) =>
    awaitAction(context, { action: "restart", processes })({ waitSeconds: 20 }),
  );
  const failed = assert.rejects(waits[1] as Promise<void>, {
    code: "process-failed",
    message: 'Cannot restart "pair-2": it was removed from the configuration meanwhile',
  });
  supervisor.apply(supervisor.processes.map(({ definition }) => definition).filter(({ id }) => id !== "pair-2"));
  for (const { id } of pair) {
    spawner.exit(id, 0);
    spawner.swept(id);
  }
  assert.equal(supervisor.statesOf("pair-2").length, 0, "it is gone");
  spawner.up("pair-1");
  await Promise.all([waits[0], failed]);
});

/** What was asked for outlives kills of the service: stop, start by hand, block, scale and the profile, twice in a row. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../../test/support/procman-process.ts";
import { exited, folder, run, spawned, startService } from "../../../../test/support/service-rig.ts";
import type { Scale } from "../../config/instance-overrides.ts";
import type { Config } from "../../config/spec.ts";
import { resolveConfiguration } from "../../config/validate.ts";
import type { Action } from "../../contract/control.ts";

const CALLER = { consumer: "test", scopes: ["admin"] } as never;
const one = (id: string, more: object = {}): object => ({
  id,
  cmd: "sleep 1000",
  autostart: true,
  restart: "always",
  ...more,
});
const FILE = {
  processes: [
    one("web", { cluster: { instances: 2 } }),
    one("stopped"),
    one("byhand", { autostart: false }),
    one("blocked"),
    one("held"),
    one("extra", { autostart: false }),
  ],
  profiles: { more: { processes: [{ id: "extra", autostart: true }] } },
};
const RUNNING = ["web-1", "web-2", "web-3", "byhand", "blocked", "extra"];

test("stop, start by hand, block, scale and the profile outlive two kills of the service in a row, with nothing done twice", async (context) => {
  const stateDir = folder();
  const source = (scale?: Scale): Config => {
    const options = { file: join(stateDir, "procman.json"), parallelism: 2, profile: "more", ...(scale && { scale }) };
    return { ...resolveConfiguration(JSON.stringify(FILE), options), stateDir };
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const first = startService(context, source(), {}, { source });
  const act = (id: string, action: Action): unknown =>
    first.service.actions.act([first.service.supervisor.find(id)], { id, action, caller: CALLER });
  first.tell(...["web-1", "web-2", "stopped", "blocked", "held", "extra"].map((id) => spawned(id)));
  await turn();
  assert.ok(first.channel.requests("spawn").includes("spawn extra 1"), "the profile starts it");
  act("stopped", "stop");
  first.tell(exited("stopped"));
  act("byhand", "start");
  act("blocked", "block");
  act("held", "block");
  first.tell(exited("held"));
  first.service.scaler.scale("web", { instances: 3 }, CALLER);
  first.tell(spawned("byhand"), spawned("web-3"));
  await eventually(() => ["stopped", "held"].every((id) => first.service.supervisor.find(id).isIdle) || undefined);
  let rig = first;
  let notes: Readonly<Record<string, string>> = {};
  for (const kill of [1, 2]) {
    notes = { ...notes, ...rig.channel.notes };
    await rig.service.retire();
    const kept = Object.fromEntries(Object.entries(notes).filter(([, note]) => note !== ""));
    rig = startService(context, source(), { running: RUNNING.map((slot) => run(slot)), notes: kept }, { source });
    await turn();
    const { processes } = rig.service.supervisor;
    assert.deepEqual(rig.channel.requests("spawn", "signal"), [], `kill ${kill}`);
    assert.deepEqual(
      processes.filter(({ isIdle }) => !isIdle).map(({ id }) => id),
      RUNNING,
    );
    assert.deepEqual(
      processes.filter(({ isIdle }) => isIdle).map(({ id }) => id),
      ["stopped", "held"],
    );
    assert.deepEqual(
      processes.filter(({ isBlocked }) => isBlocked).map(({ id }) => id),
      ["blocked", "held"],
    );
    assert.equal(rig.service.config.profile, "more");
  }
  rig.service.supervisor.find("held").unblock();
  await turn();
  assert.deepEqual(
    rig.channel.requests("spawn"),
    ["spawn held 2"],
    "the block gives back the restart that it has prevented",
  );
});

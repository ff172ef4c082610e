import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeLog } from "../../../../test/support/service-fakes.ts";
import { LifecycleLines } from "./lifecycle-lines.ts";

test("once the run has ended and its hook afterStop runs, no line says that it is still stopping", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const log = new FakeLog();
  const lines = new LifecycleLines(log);
  const late = { severity: "info", text: "stopping", late: { ms: 1_000, text: "still stopping" } };
  const move = (from: object, to: object, line?: object): void =>
    lines.onTransition({
      transition: { slot: "web", from: { run: 1, ...from }, to: { run: 1, ...to } },
      line,
    } as never);
  const [running, asked] = [{ status: "running" }, { status: "stopping", phase: "terminate" }];
  move(running, asked, late);
  move(asked, { status: "stopping", phase: "after-stop" });
  context.mock.timers.tick(2_000);
  assert.deepEqual(log.lines, []);
  move(running, asked, late);
  context.mock.timers.tick(1_000);
  assert.deepEqual(log.lines, ["web: still stopping"]);
});

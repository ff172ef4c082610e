import assert from "node:assert/strict";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock, test } from "node:test";
import { FakeLog, specsOf } from "../../../../test/support/service-fakes.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ReadyProbe } from "../../contract/probe-spec.ts";
import type { SlotState } from "../../supervisor/states.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { ProcessBus } from "../process-bus.ts";
import { notifyFile } from "./probing.ts";
import { ReadyFiles } from "./ready-files.ts";

test("a file behind a ready descriptor stays small for as long as its run writes to it, and is never empty again", (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const stateDir = mkdtempSync(join(tmpdir(), "procman-ready-"));
  context.after(() => {
    mock.timers.reset();
    rmSync(stateDir, { recursive: true });
  });
  mkdirSync(join(stateDir, "run"));
  const log = new FakeLog();
  const bus = new ProcessBus((problem) => assert.fail(problem));
  const state = (run: number, more: object): SlotState => ({ run, restarts: 0, ...more }) as SlotState;
  const spec = (ready?: ReadyProbe) => ({ id: "web", ready }) as ProcessSpec;
  const publish = (of: ProcessSpec, to: SlotState): void =>
    bus.transitions.publish({ id: "web", spec: of, transition: { slot: "web", from: to, to } } as never);
  const specs = specsOf([], { stateDir });
  const files = new ReadyFiles({ bus, log, specs, supervisor: { find: () => assert.fail() } as unknown as Supervisor });
  const path = notifyFile(stateDir, "web");
  const fd = openSync(path, "ax", 0o600);
  context.after(() => closeSync(fd));
  const size = (): number => statSync(path).size;
  publish(spec({ kind: "fd", fd: 5 }), state(1, { status: "running", pid: 2, since: 0, ready: false }));
  writeSync(fd, Buffer.alloc(65_536));
  mock.timers.tick(1_000);
  assert.equal(size(), 65_536, "at the limit");
  for (const ms of [1_000, 500, 250]) {
    writeSync(fd, Buffer.alloc(100_000));
    mock.timers.tick(ms);
    assert.equal(size(), 1, "the more often it grows, the sooner it is looked at again");
  }
  assert.deepEqual(log.lines, [
    "web: writes more than 64 KiB to descriptor 5: only its first write counts, the rest is discarded",
  ]);
  publish(spec({ kind: "fd", fd: 5 }), state(1, { status: "backoff", until: 0 }));
  writeSync(fd, Buffer.alloc(100_000));
  mock.timers.tick(10_000);
  assert.equal(size(), 100_001, "the run is over");
  publish(spec(), state(2, { status: "running", pid: 3, since: 0, ready: true }));
  mock.timers.tick(10_000);
  assert.equal(size(), 100_001, "a run without such a descriptor");
  publish(spec({ kind: "message" }), state(3, { status: "running", pid: 4, since: 0, ready: true }));
  mock.timers.tick(1_000);
  assert.equal(size(), 1);
  files.retire();
});

/** A process that says it is busy is not put to sleep, whichever service hears it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TelemetryReport } from "../../contract/records.ts";
import { ProcessBus } from "../process-bus.ts";
import { NoteStore } from "../recovery/notes.ts";
import { ReportedBusy } from "./reported-busy.ts";

function rig(stored: Record<string, string> = {}, run = 3) {
  const kept: Record<string, string> = { ...stored };
  const notes = new NoteStore({
    remember: (name, note) => (kept[name] = typeof note === "string" ? note : JSON.stringify(note)),
  });
  notes.load(stored, "session");
  const bus = new ProcessBus(assert.fail);
  const services = {
    bus,
    notes,
    specs: { find: (id: string) => (id === "web" ? { idle: {} } : {}) },
    supervisor: { statesOf: () => [{ status: "running", run }] },
  };
  const busy = new ReportedBusy(services as unknown as ConstructorParameters<typeof ReportedBusy>[0]);
  busy.resume();
  const report = (process: string, metrics?: Record<string, number>): void =>
    bus.reports.publish({ process, ...(metrics && { metrics }) } as TelemetryReport);
  return { busy, bus, kept, report };
}

test("what a run has reported last counts, also for the next service before it hears it", () => {
  const { busy, kept, report } = rig();
  report("web", { busy: 1 });
  assert.ok(busy.has("web"));
  assert.ok(rig(kept).busy.has("web"));
  assert.ok(!rig(kept, 4).busy.has("web"), "a later run has not said so");
  report("web", { queue: 7 });
  assert.ok(!busy.has("web"));
  assert.equal(kept[":busy"], "");
});

test("what doesn't sleep, and what was removed, is not noted", () => {
  const { busy, bus, kept, report } = rig();
  report("other", { busy: 1 });
  assert.deepEqual(kept, {});
  report("web", { busy: 1 });
  bus.removed.publish("web");
  assert.deepEqual([busy.has("web"), kept[":busy"]], [false, ""]);
});

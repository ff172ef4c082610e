import assert from "node:assert/strict";
import { test } from "node:test";
import type { SlotState } from "../../supervisor/states.ts";
import { PortHandovers } from "./port-handovers.ts";

/** Processes with one slot each, and starts in the order in which they begin. */
function rig(...ids: readonly string[]) {
  const states = new Map(ids.map((id) => [id, { status: "running", run: 1 }]));
  const watchers = new Set<() => void>();
  const handovers = new PortHandovers(
    (id) => [states.get(id) ?? { status: "idle", run: 0 }] as unknown as readonly SlotState[],
    (call) => {
      watchers.add(call);
      return () => watchers.delete(call);
    },
  );
  const started: string[] = [];
  return {
    handovers,
    started,
    watchers,
    /** The state changes, and the supervisor asks for the start of its next run, if there is one. */
    become: (id: string, status: string, run: number): void => {
      states.set(id, { status, run });
      if (status === "starting" && !handovers.defers(id, () => started.push(id))) started.push(id);
      for (const call of watchers) call();
    },
  };
}

test("a run that takes the port of another process is started when that one's run has ended, with what it has left", () => {
  const { handovers, started, watchers, become } = rig("api", "web");
  handovers.begin([{ port: 8080, giver: "api", taker: "web" }]);
  become("api", "stopping", 1);
  become("web", "starting", 2);
  assert.deepEqual(started, []);
  become("api", "idle", 1);
  assert.deepEqual(started, ["web"]);
  become("web", "starting", 3);
  assert.deepEqual(started, ["web", "web"], "later runs wait for nothing");
  assert.equal(watchers.size, 0);
});

test("two processes swap their ports: each is started when the other one's run has ended", () => {
  const { handovers, started, become } = rig("api", "web");
  handovers.begin([
    { port: 8080, giver: "api", taker: "web" },
    { port: 8081, giver: "web", taker: "api" },
  ]);
  become("api", "stopping", 1);
  become("web", "stopping", 1);
  become("api", "starting", 2);
  assert.deepEqual(started, []);
  become("web", "starting", 2);
  assert.deepEqual(started.toSorted(), ["api", "web"]);
});

test("a start waits for nothing if the run with the port has ended before, or was of no port that moves", () => {
  const { handovers, started, become } = rig("api", "web", "mail");
  handovers.begin([{ port: 8080, giver: "api", taker: "web" }]);
  become("mail", "starting", 2);
  become("api", "idle", 1);
  become("web", "starting", 2);
  assert.deepEqual(started, ["mail", "web"]);
});

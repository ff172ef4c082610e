/** Instances that stand by get no new clients, but for those that nothing else serves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { BackendSpec } from "../../ipc/balancer-protocol.ts";
import { NoteStore } from "../recovery/notes.ts";
import { Standby } from "./standby.ts";

/** Run numbers by instance, all of them running. */
const runs: Record<string, number> = { "web-1": 4, "web-2": 5, "web-3": 1 };

function standby(stored: Record<string, string> = {}) {
  const kept: Record<string, string> = { ...stored };
  const notes = new NoteStore({
    remember: (name, note) => (kept[name] = typeof note === "string" ? note : JSON.stringify(note)),
  });
  notes.load(stored, "session");
  const supervisor = { statesOf: (id: string) => [{ status: "running", run: runs[id] }] };
  const made = new Standby(
    { notes, supervisor } as unknown as ConstructorParameters<typeof Standby>[0],
    () => undefined,
  );
  made.resume();
  return { made, kept };
}

const backend = (id: string, state: BackendSpec["state"] = "up"): BackendSpec => ({ id, port: 1, state });
const states = (backends: readonly BackendSpec[]): readonly string[] => backends.map(({ state }) => state);

test("new clients come to the others; while none of these is up, to what stands by", () => {
  const { made } = standby();
  made.begin({ web: 2 });
  made.rest(["web-1", "web-2"]);
  const old = [backend("web-1"), backend("web-2")];
  assert.deepEqual(states(made.serving([...old, backend("web-3")])), ["draining", "draining", "up"]);
  assert.deepEqual(states(made.serving([...old, backend("web-3", "down")])), ["up", "up", "down"]);
});

test("only the present run stands by, also for the next service", () => {
  const { made, kept } = standby();
  made.begin({ web: 2 });
  made.rest(["web-1", "web-2"]);
  const { made: next, kept: left } = standby(kept);
  assert.deepEqual([next.sizes, next.has("web-1"), next.has("web-3")], [{ web: 2 }, true, false]);
  runs["web-1"] = 6;
  assert.deepEqual([next.has("web-1"), next.has("web-2")], [false, true]);
  next.end();
  assert.deepEqual([next.has("web-2"), next.sizes, left[":standby"]], [false, {}, ""]);
});

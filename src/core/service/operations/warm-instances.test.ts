/** A deployment with `warm` finds out beforehand whether there is room for as many instances again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReleasesSpec } from "../../config/spec.ts";
import { resolveConfiguration } from "../../config/validate.ts";
import type { Process } from "../../supervisor/process.ts";
import { Operations } from "./operations.ts";
import { type WarmContext, WarmInstances } from "./warm-instances.ts";

const WARM: Pick<ReleasesSpec, "warm"> = { warm: true };

/** A cluster behind the balancer, one that shares a socket, and a single process; each instance uses 100 MB. */
function warmOf({ freeMemory = 1e9, stopped = "" } = {}) {
  const config = resolveConfiguration(
    JSON.stringify({
      processes: [
        { id: "web", cmd: "true", cluster: { instances: 2, startPort: 5001, commonPort: 5000 } },
        { id: "shared", cmd: "true", cluster: { instances: 2, mode: "share", commonPort: 6000 } },
        { id: "single", cmd: "true" },
      ],
    }),
    { cwd: "/srv" },
  );
  const processes = config.processes.map(
    ({ id }) => ({ id, states: [{ status: id === stopped ? "idle" : "running" }] }) as unknown as Process,
  );
  const checked: string[] = [];
  const context = {
    balancing: { standby: { sizes: {} } },
    operations: new Operations(),
    records: { of: () => ({ memoryBytes: 100e6 }) },
    specs: { config },
    supervisor: { find: (wanted: string) => processes.find(({ id }) => id === wanted) },
    scaler: { checkSize: (id: string, to: number) => checked.push(`${id} ${to}`) },
    freeMemory: () => freeMemory,
  };
  return { warm: new WarmInstances(context as unknown as WarmContext), processes, checked };
}

test("what stays: a cluster behind the balancer of which all instances run, and are restarted", () => {
  const { warm, processes } = warmOf();
  const ids = (found: ReturnType<typeof warm.clusters>) => [...found].map(([id, { length }]) => [id, length]);
  assert.deepEqual(ids(warm.clusters(WARM, processes)), [["web", 2]]);
  assert.deepEqual(ids(warm.clusters(WARM, processes.slice(1))), []);
  assert.deepEqual(ids(warm.clusters({}, processes)), []);
  const other = warmOf({ stopped: "web-2" });
  assert.deepEqual(ids(other.warm.clusters(WARM, other.processes)), []);
});

test("refused: the file has no place for so many, or their memory isn't free", () => {
  const enough = warmOf({ freeMemory: 250e6 });
  enough.warm.check(enough.warm.clusters(WARM, enough.processes));
  assert.deepEqual(enough.checked, ["web 4"]);
  const { warm, processes } = warmOf({ freeMemory: 210e6 });
  assert.throws(() => warm.check(warm.clusters(WARM, processes)), {
    code: "deploy-refused",
    message: /2 more instances run until .*; these use 200 MB of memory, and 189 MB may be taken; free some, or/,
  });
});

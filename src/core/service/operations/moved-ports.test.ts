import assert from "node:assert/strict";
import { test } from "node:test";
import { configOf } from "../../../../test/support/service-rig.ts";
import type { PlannedAction, PlanRecord } from "../../contract/plan.ts";
import { movedPorts, withMovedPorts } from "./moved-ports.ts";

const change = (process: string, action: PlannedAction, rolling = false): PlanRecord["processes"][number] => ({
  process,
  action,
  rolling,
  fields: [],
  reason: "its cmd has changed",
});

const planOf = (...processes: PlanRecord["processes"]): PlanRecord => ({
  configFile: "",
  processes,
  settings: [],
  warnings: [],
});

const before = configOf("/state", [
  { id: "api", cmd: "node api.js", env: { PORT: "8080" } },
  { id: "web", cmd: "node web.js --port 8081" },
  { id: "pair", cmd: "node pair.js", cluster: { instances: 2, startPort: 3000 } },
]);

/** What listens, as the system would say. */
const HELD = new Map([
  [8080, ["api"]],
  [8081, ["web"]],
  [3000, ["pair-1"]],
]);

test("a process takes a port if that is new in its specification, and one has it that the reload ends first", () => {
  const now = configOf("/state", [
    { id: "api", cmd: "node api.js", env: { PORT: "8081" } },
    { id: "web", cmd: "node web.js --port 8080 --cache 4096" },
    { id: "pair", cmd: "node pair.js", cluster: { instances: 2, startPort: 3001 } },
    { id: "mail", cmd: "node mail.js 127.0.0.1:3000" },
  ]);
  const plan = planOf(
    change("api", "restart"),
    change("web", "restart"),
    change("pair-1", "restart", true),
    change("pair-2", "restart", true),
    change("mail", "start"),
  );
  const looks: (readonly number[])[] = [];
  const moved = movedPorts(plan, { before, now }, (ports) => {
    looks.push([...ports].toSorted());
    return HELD;
  });
  assert.deepEqual(moved, [
    { port: 8081, giver: "web", taker: "api" },
    { port: 8080, giver: "api", taker: "web" },
  ]);
  assert.deepEqual(looks, [[3000, 3001, 3002, 4096, 8080, 8081]], "one look at all that may be a port");
  assert.deepEqual(
    withMovedPorts(plan, moved).processes.map(({ reason }) => reason),
    [
      'its cmd has changed; starts when "web" has ended, which has port 8081',
      'its cmd has changed; starts when "api" has ended, which has port 8080',
      "its cmd has changed",
      "its cmd has changed",
      "its cmd has changed",
    ],
  );
});

test("a plan without a new number, and one of which nothing starts, looks for no port", () => {
  const now = configOf("/state", [{ id: "api", cmd: "node api.js --verbose", env: { PORT: "8080" } }]);
  const plan = planOf(change("api", "restart"), change("web", "stop"), change("pair-1", "stop"));
  assert.deepEqual(
    movedPorts(plan, { before, now }, () => assert.fail("a look")),
    [],
  );
  assert.equal(withMovedPorts(plan, []), plan);
});

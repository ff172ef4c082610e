import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToKeeper } from "./keeper-protocol.ts";
import { requestProblem } from "./service-requests.ts";

const RUN = { slot: "web", run: 1 };
const SPAWN = { t: "spawn", ...RUN, argv: ["node"], cwd: "/srv", env: { A: "b" } };
const SAY = { t: "say", at: 1, severity: "info", text: "started" };

const problemOf = (message: object): string | undefined => requestProblem(message as ToKeeper);

test("what a service asks for passes, also with members and types that only a newer one has", () => {
  for (const message of [
    SPAWN,
    { ...SPAWN, priority: { high: true }, capture: { id: "web", console: true, decorateFiles: false } },
    { t: "signal", ...RUN, signal: "SIGTERM", to: "leader" },
    { t: "hibernate", ...RUN },
    { t: "logger", message: SAY },
    { t: "logger", message: { t: "paint", colour: 7 } },
    { t: "pong" },
  ])
    assert.equal(problemOf(message), undefined, JSON.stringify(message));
});

test("a request with a fault is refused with the place of the fault", () => {
  const faults: readonly (readonly [object, RegExp])[] = [
    [{ ...SPAWN, argv: [] }, /^its argv is not as it must be/],
    [{ ...SPAWN, argv: ["node", 7] }, /^its argv\.1 /],
    [{ ...SPAWN, env: { A: null } }, /^its env\.A /],
    [{ ...SPAWN, cwd: undefined }, /\(required\)$/],
    [{ ...SPAWN, capture: { id: 1, console: true, decorateFiles: false } }, /^its capture\.id /],
    [{ t: "signal", ...RUN, run: 0.5, signal: "SIGTERM" }, /^its run /],
    [{ t: "logger" }, /^it has no message for the logger$/],
    [{ t: "logger", message: { ...SAY, at: 1e300 } }, /^its at /],
    [{ t: "logger", message: { ...SAY, severity: "loud" } }, /^its severity /],
  ];
  for (const [message, problem] of faults) assert.match(problemOf(message) ?? "", problem, JSON.stringify(message));
});

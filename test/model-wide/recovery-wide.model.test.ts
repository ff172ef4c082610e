/** As `test/model/recovery.model.test.ts`, with more events at a time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Machine } from "../model/machine-model.ts";
import { chained, makeDefinition, walk } from "../model/recovery-model.ts";

const NONE = { commands: 0, exits: 0, failures: 0, services: 0, keepers: 0 };

const CASES = {
  "the service, twice": {
    definitions: makeDefinition({}, { restart: "error", restartDelayMs: 0 }),
    bounds: { ...NONE, exits: 1, services: 2 },
    least: 500,
  },
  "the service, around two commands": {
    definitions: makeDefinition({ autostart: false }, { restart: "never" }),
    bounds: { ...NONE, commands: 2, services: 1 },
    least: 1_500,
  },
  "the service, around a command with a grace period": {
    definitions: makeDefinition({}, { graceMs: 5 }),
    bounds: { ...NONE, commands: 1, services: 1 },
    least: 1_000,
  },
  "the service, around ends of runs with a restart order": {
    definitions: makeDefinition({}, { restartDelayMs: 0 }),
    bounds: { ...NONE, exits: 1, services: 1 },
    least: 1_500,
  },
  "the keeper, around crashes and starts that fail": {
    definitions: makeDefinition({}),
    bounds: { ...NONE, exits: 1, failures: 1, keepers: 1 },
    least: 2_000,
  },
  "the keeper, around two commands": {
    definitions: makeDefinition({ autostart: false }, { restart: "never" }),
    bounds: { ...NONE, commands: 2, keepers: 1 },
    least: 1_500,
  },
  "both, around a crash": {
    definitions: makeDefinition({}, { restart: "error", restartDelayMs: 10 }),
    bounds: { ...NONE, exits: 1, services: 1, keepers: 1 },
    least: 2_000,
  },
  "the service, around two crashes and a failed start": {
    definitions: makeDefinition({}),
    bounds: { commands: 0, exits: 2, failures: 1, services: 1, keepers: 0 },
    least: 5_000,
  },
  "the service, around a command and a crash": {
    definitions: makeDefinition({}),
    bounds: { commands: 1, exits: 1, failures: 0, services: 1, keepers: 0 },
    least: 15_000,
  },
  "both, around a crash, and the end of a run with a restart order": {
    definitions: makeDefinition({}, { restart: "error", restartDelayMs: 0 }),
    bounds: { commands: 0, exits: 1, failures: 0, services: 1, keepers: 1 },
    least: 7_000,
  },
  // Two commands without a kill are 230 000 states, a command and a kill of the keeper 83 000.
  "the service, around a command and the end of a run with a restart order": {
    definitions: makeDefinition({}, { restartDelayMs: 0 }),
    bounds: { commands: 1, exits: 1, failures: 0, services: 1, keepers: 0 },
    least: 40_000,
  },
  "the keeper, around a command and a crash": {
    definitions: makeDefinition({}),
    bounds: { commands: 1, exits: 1, failures: 0, services: 0, keepers: 1 },
    least: 15_000,
  },
  "the service with a process that restarts with its dependency, around a crash": {
    definitions: chained(true, { restartDelayMs: 0 }),
    bounds: { commands: 0, exits: 1, failures: 0, services: 1, keepers: 0 },
    least: 5_000,
  },
  "the service with a process that restarts with its dependency, around a command": {
    definitions: chained(true),
    bounds: { commands: 1, exits: 0, failures: 0, services: 1, keepers: 0 },
    least: 15_000,
  },
  "the service with a process that waits for the end of its dependency": {
    definitions: chained(false, { restart: "error", condition: "finished" }),
    bounds: { commands: 0, exits: 2, failures: 0, services: 1, keepers: 0 },
    least: 1_000,
  },
  // With a crash as well it is 124 000 states, which takes minutes.
  "the keeper with a process that restarts with its dependency": {
    definitions: chained(true),
    bounds: { commands: 0, exits: 0, failures: 0, services: 0, keepers: 1 },
    least: 1_000,
  },
} as const;

for (const [title, { definitions, bounds, least }] of Object.entries(CASES))
  test(`3 a kill at any step (${title}) leads to no second live run, no lost exit, no lost command and no repeated run number`, (context) => {
    const states = walk(definitions, bounds);
    context.diagnostic(`${states} states`);
    assert.ok(states >= least, `${states} states, at least ${least}`);
  });

test("the check itself finds a keeper that doesn't report the runs it has started without a command", () => {
  class Secretive extends Machine {
    override keeperLooks(): void {
      super.keeperLooks();
      const [message] = this.toService.pop() ?? [];
      if (message?.t === "exited") this.toService.push([{ ...message, followed: undefined } as unknown as typeof message]);
    }
  }
  const eager = makeDefinition({}, { restartDelayMs: 0 });
  assert.throws(
    () => walk(eager, { commands: 1, exits: 1, failures: 0, services: 0, keepers: 0 }, () => new Secretive()),
    assert.AssertionError,
  );
});

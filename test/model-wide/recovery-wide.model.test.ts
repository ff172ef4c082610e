/** As `test/model/recovery.model.test.ts`, with more events at a time; with even more in `test/long`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Machine } from "../model/machine-model.ts";
import { checkKills, makeDefinition, walk } from "../model/recovery-model.ts";

checkKills({
  "the service, twice": {
    definitions: makeDefinition({}, { restart: "error", restartDelayMs: 0 }),
    bounds: { exits: 1, services: 2 },
    least: 500,
  },
  "the service, around two commands": {
    definitions: makeDefinition({ autostart: false }, { restart: "never" }),
    bounds: { commands: 2, services: 1 },
    least: 1_500,
  },
  "the service, around a command with a grace period": {
    definitions: makeDefinition({}, { graceMs: 5 }),
    bounds: { commands: 1, services: 1 },
    least: 1_000,
  },
  "the service, around ends of runs with a restart order": {
    definitions: makeDefinition({}, { restartDelayMs: 0 }),
    bounds: { exits: 1, services: 1 },
    least: 1_500,
  },
  "the keeper, around crashes and starts that fail": {
    definitions: makeDefinition({}),
    bounds: { exits: 1, failures: 1, keepers: 1 },
    least: 2_000,
  },
  "the keeper, around two commands": {
    definitions: makeDefinition({ autostart: false }, { restart: "never" }),
    bounds: { commands: 2, keepers: 1 },
    least: 1_500,
  },
  "both, around a crash": {
    definitions: makeDefinition({}, { restart: "error", restartDelayMs: 10 }),
    bounds: { exits: 1, services: 1, keepers: 1 },
    least: 2_000,
  },
  "the service, around two crashes and a failed start": {
    definitions: makeDefinition({}),
    bounds: { exits: 2, failures: 1, services: 1 },
    least: 5_000,
  },
  "both, around a crash, and the end of a run with a restart order": {
    definitions: makeDefinition({}, { restart: "error", restartDelayMs: 0 }),
    bounds: { exits: 1, services: 1, keepers: 1 },
    least: 7_000,
  },
});

test("the check itself finds a keeper that doesn't report the runs it has started without a command", () => {
  class Secretive extends Machine {
    override keeperLooks(): void {
      super.keeperLooks();
      const [message] = this.toService.pop() ?? [];
      if (message?.t === "exited")
        this.toService.push([{ ...message, followed: undefined } as unknown as typeof message]);
    }
  }
  const eager = makeDefinition({}, { restartDelayMs: 0 });
  assert.throws(() => walk(eager, { commands: 1, exits: 1 }, () => new Secretive()), assert.AssertionError);
});

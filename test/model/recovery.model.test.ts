/** Service and keeper die at every step of every transition, and the real supervisor continues; wider bounds in `test/model-wide`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessDefinition } from "../../src/core/supervisor/definition.ts";
import { Machine } from "./machine-model.ts";
import { chained, checkKills, hooked, makeDefinition, walk } from "./recovery-model.ts";

checkKills({
  "the service, around crashes and their restarts": {
    definitions: makeDefinition({}),
    bounds: { exits: 1, services: 1 },
    least: 300,
  },
  "the service, around starts that fail": {
    definitions: makeDefinition({}),
    bounds: { failures: 1, services: 1 },
    least: 100,
  },
  "the service with a process and its dependency, around failed starts": {
    definitions: chained(),
    bounds: { failures: 1, services: 1 },
    least: 300,
  },
  "the keeper, around ends of runs with a restart order": {
    definitions: makeDefinition({}, { restart: "error", restartDelayMs: 0 }),
    bounds: { exits: 1, keepers: 1 },
    least: 1_500,
  },
  "the service, around overlapping runs": {
    definitions: makeDefinition({ overrun: true }, { restart: "never" }),
    bounds: { commands: 1, services: 1 },
    least: 2_500,
  },
  "the keeper, around a crash with hooks": {
    definitions: hooked(),
    bounds: { exits: 1, keepers: 1 },
    least: 1_000,
  },
});

/** A faulty keeper. */
class Faulty extends Machine {
  readonly #drops: string;

  constructor(drops: string) {
    super();
    this.#drops = drops;
  }

  override keeperTakes(dies?: boolean): void {
    const [first] = this.toKeeper;
    if (first !== undefined)
      this.toKeeper[0] = { ...first, messages: first.messages.filter(({ t }) => t !== this.#drops) };
    super.keeperTakes(dies);
  }
}

for (const [drops, bounds] of [
  ["note", { exits: 1, services: 1 }],
  ["signal", { commands: 1 }],
  ["spawn", { commands: 1 }],
] as const)
  test(`the check itself finds a keeper that loses each ${drops}`, () => {
    assert.throws(() => walk(makeDefinition({}), bounds, () => new Faulty(drops)), assert.AssertionError);
  });

test("the check itself finds a process that is started without its dependency", () => {
  const [db, web] = chained() as [ProcessDefinition, ProcessDefinition];
  const hasty = { ...web, policy: { ...web.policy, waits: false } };
  assert.throws(() => walk([db, hasty], {}), /web#1 was started without what it depends on/);
});

test("the check itself finds a keeper that forgets ends before the service has processed them", () => {
  class Forgetful extends Machine {
    override keeperLooks(): void {
      const [zombie] = this.zombies;
      super.keeperLooks();
      const [slot = "", run] = zombie?.key.split("#") ?? [];
      this.toKeeper.unshift({ messages: [{ t: "ack", slot, run: Number(run) }], issued: undefined });
    }
  }
  assert.throws(
    () => walk(makeDefinition({}), { exits: 1, services: 1 }, () => new Forgetful()),
    assert.AssertionError,
  );
});

test("the check itself finds a service that numbers the overlapping runs of each slot alone", () => {
  class SlotNumbers extends Machine {
    override fork(works: boolean, dies?: "before" | "after"): void {
      this.lastRuns.set("web", Math.max(0, ...this.children.map(({ run }) => run)) + 1);
      super.fork(works, dies);
    }
  }
  const overlapping = makeDefinition({ overrun: true });
  assert.throws(
    () => walk(overlapping, { commands: 1 }, () => new SlotNumbers()),
    /was started after run \d+ of the process/,
  );
});

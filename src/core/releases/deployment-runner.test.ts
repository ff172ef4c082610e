/** A deployment that is killed before or after any step, or whose steps fail, ends in one of two places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DEPLOY_STEPS, type DeployStep } from "../contract/deployment-record.ts";
import { firstStep, type Progress, resumed } from "./deploy-machine.ts";
import { carryOut } from "./deployment-runner.ts";

class Killed extends Error {}

/** A machine with a link, releases and what runs; `killAt`: number of the moment at which procman is killed. */
class World {
  link = "old";
  running = "old";
  releases = new Set(["old"]);
  note: Progress;
  befores = 0;
  moments = 0;
  killAt = -1;
  fails = new Set<DeployStep>();
  readonly isNew: boolean;

  constructor(isNew: boolean) {
    this.isNew = isNew;
    if (!isNew) this.releases.add("new");
    this.note = firstStep(isNew);
  }

  moment(): void {
    if (this.moments++ === this.killAt) throw new Killed();
  }

  readonly #does: Readonly<Record<DeployStep, () => unknown>> = {
    copy: () => this.releases.add("new"),
    prepare: () => assert.ok(this.releases.has("new")),
    before: () => assert.equal(++this.befores, 1, "migrations run once"),
    switch: () => (this.link = "new"),
    restart: () => (this.running = this.link),
    after: () => undefined,
    gate: () => assert.equal(this.running, "new"),
    promote: () => assert.equal(this.running, "new"),
    clean: () => this.releases.delete("old"),
    "switch-back": () => (this.link = "old"),
    "restart-back": () => (this.running = this.link),
    "after-back": () => undefined,
    discard: () => this.releases.delete("new"),
  };

  /** One life of a service. */
  async live(): Promise<Progress | undefined> {
    let isKilled = false;
    const moment = (): void => {
      try {
        this.moment();
      } catch (error) {
        isKilled = true;
        throw error;
      }
    };
    const deeds = Object.fromEntries(
      DEPLOY_STEPS.map((step) => [
        step,
        async (): Promise<void> => {
          moment();
          if (this.fails.has(step)) throw new Error(`${step} has failed`);
          this.#does[step]();
          moment();
        },
      ]),
    ) as Record<DeployStep, () => Promise<void>>;
    const write = (progress: Progress): void => {
      // A kill in a deed is no failure of it.
      if (isKilled) throw new Killed();
      moment();
      this.note = progress;
      moment();
    };
    return carryOut(this.note, { isNew: this.isNew, write, deeds, signal: new AbortController().signal });
  }

  async run(): Promise<Progress | undefined> {
    try {
      return await this.live();
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      this.note = resumed(this.note, this.isNew);
      return this.live();
    }
  }
}

for (const isNew of [true, false])
  for (const failing of [undefined, ...DEPLOY_STEPS] as const)
    test(`${isNew ? "a new release" : "a release of before"}${failing === undefined ? "" : `, ${failing} fails`}: killed at each moment, it never stands between`, async () => {
      let kills = 0;
      for (let killAt = -1; ; killAt += 1) {
        const world = new World(isNew);
        world.killAt = killAt;
        if (failing !== undefined) world.fails.add(failing);
        const end = await world.run();
        const { link, running, releases } = world;
        const at = `killed at moment ${killAt}`;
        assert.equal(end?.step, undefined, at);
        assert.deepEqual(world.note, end, at);
        if (failing !== "restart-back" && failing !== "switch-back") assert.equal(running, link, at);
        assert.ok(releases.has(link), at);
        if (failing !== "switch-back") assert.equal(link === "new", end?.result === "done", at);
        if (end?.result !== "done" || failing === "clean") assert.ok(end?.problem, at);
        else assert.equal(end.problem, undefined, at);
        if (end?.result === "failed" && failing !== "discard") assert.equal(releases.has("new"), !isNew, at);
        if (killAt >= 0 && world.moments <= killAt) break;
        kills += 1;
      }
      assert.ok(kills > 3);
    });

test("what fails on the way back is said, too, and the way back goes on", async () => {
  const world = new World(true);
  for (const step of ["gate", "restart-back"] as const) world.fails.add(step);
  const end = await world.run();
  assert.deepEqual(
    [end?.result, end?.problem],
    ["taken-back", "gate has failed; on the way back: restart-back has failed"],
  );
});

test("a command that runs once isn't repeated: the deployment ends, and nothing was switched", async () => {
  const world = new World(true);
  world.note = { step: "before", isBegun: true, result: "running" };
  world.releases.add("new");
  world.note = resumed(world.note, true);
  const end = await world.live();
  assert.deepEqual([end?.result, world.link, world.befores], ["failed", "old", 0]);
  assert.match(end?.problem ?? "", /runs once/);
});

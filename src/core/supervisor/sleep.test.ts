/** Processes that sleep without clients: docs/guide/sleep.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import type { Change, Dependency, ProcessDefinition } from "./definition.ts";
import type { ProcessEvent } from "./process-notice.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import { Supervisor } from "./supervisor.ts";

const IDLE_MS = 300_000;
const exited = { kind: "exited", code: null, signal: "SIGTERM" } as const;

function sleeper(id: string, more: Partial<ProcessDefinition> = {}): ProcessDefinition {
  const { policy, ...rest } = more;
  return { id, autostart: true, overrun: false, ...rest, policy: { ...POLICY, idleMs: IDLE_MS, ...policy } };
}

function needs(id: string, condition: Dependency["condition"]): Partial<ProcessDefinition> {
  return {
    dependsOn: [{ id, condition, restart: false, members: [id] }],
    policy: { ...POLICY, waits: true },
  };
}

class World {
  readonly clock = new FakeClock();
  readonly spawner = new FakeSpawner();
  readonly notices: string[] = [];
  readonly #disabled = new Set<string>();
  supervisor: Supervisor;

  constructor(...definitions: readonly ProcessDefinition[]) {
    this.supervisor = this.#supervisor();
    this.supervisor.apply(definitions);
  }

  #supervisor(): Supervisor {
    const { clock, spawner } = this;
    const notice = (id: string, event: ProcessEvent): void => {
      const by = event.type === "woken" && event.dependent !== undefined ? ` for ${event.dependent}` : "";
      this.notices.push(`${id} ${event.type}${by}`);
    };
    const lasting = {
      isDisabled: (id: string) => this.#disabled.has(id),
      setDisabled: (id: string, isDisabled: boolean) =>
        void (isDisabled ? this.#disabled.add(id) : this.#disabled.delete(id)),
      plannedStart: () => undefined,
      planStart: () => undefined,
    };
    return new Supervisor({ clock, spawner, lasting, publish: () => undefined, notice, removed: () => undefined });
  }

  /** Another service continues from this one's notes. */
  kill(...definitions: readonly ProcessDefinition[]): void {
    this.supervisor.dispose();
    const snapshots = new Map<string, ProcessSnapshot>(this.spawner.snapshots);
    this.supervisor = this.#supervisor();
    this.supervisor.resume(definitions, snapshots);
    this.supervisor.apply(definitions);
  }

  change(definition: ProcessDefinition, change: Change): void {
    this.supervisor.apply([definition], new Map([[definition.id, change]]));
  }

  process(id = "web") {
    return this.supervisor.find(id);
  }

  /** How its slot rests, or its status. */
  state(id = "web"): string {
    const [state] = this.process(id).states;
    if (state?.status === "idle") return state.outcome.kind;
    return state?.status === "stopping" ? `stopping, then ${state.next}` : (state?.status ?? "");
  }

  run(id = "web"): void {
    this.process(id).wake();
    this.spawner.up(id);
  }
}

test("what starts with procman begins asleep, and its first client starts it", () => {
  const world = new World(sleeper("web"));
  assert.deepEqual([world.state(), world.spawner.log], ["asleep", []]);
  world.process().wake();
  assert.deepEqual([world.state(), world.spawner.log], ["starting", ["spawn web 1"]]);
  assert.deepEqual(world.notices, ["web woken"]);
});

test("without clients it is stopped as by an operator, sleeps then, and the next client starts it again", () => {
  const world = new World(sleeper("web"));
  world.run();
  world.process().sleep();
  assert.equal(world.state(), "stopping, then idle");
  world.spawner.end("web", exited);
  world.spawner.swept("web");
  assert.equal(world.state(), "asleep");
  world.process().wake();
  assert.deepEqual(world.spawner.log.at(-1), "spawn web 2");
});

test("a client that comes during the stop is served by the next run", () => {
  const world = new World(sleeper("web"));
  world.run();
  world.process().sleep();
  assert.equal(world.process().isDormant, true);
  world.process().wake();
  assert.equal(world.state(), "stopping, then start");
  assert.equal(world.process().isDormant, false);
  world.spawner.end("web", exited);
  world.spawner.swept("web");
  assert.equal(world.state(), "starting");
});

test("a stop closes its port, whether it sleeps, is falling asleep or runs; a lack of clients changes nothing about that", () => {
  const world = new World(sleeper("web"));
  world.process().stop();
  assert.deepEqual([world.state(), world.process().isDormant], ["stopped", false]);
  world.process().wake();
  assert.equal(world.state(), "stopped");
  world.process().start();
  world.spawner.up("web");
  world.process().sleep();
  world.process().stop();
  world.process().sleep();
  world.spawner.end("web", exited);
  world.spawner.swept("web");
  assert.equal(world.state(), "stopped");
});

test("a blocked or disabled process isn't woken; it sleeps on until that ends", () => {
  const world = new World(sleeper("web"));
  for (const [off, on] of [
    ["block", "unblock"],
    ["disable", "enable"],
  ] as const) {
    world.process()[off]();
    world.process().wake();
    assert.deepEqual([world.state(), world.process().isDormant], ["asleep", false]);
    world.process()[on]();
    assert.deepEqual([world.state(), world.process().isDormant], ["asleep", true]);
  }
  assert.deepEqual(world.spawner.log, []);
});

test("the next service knows that it sleeps, or is falling asleep, and since when", () => {
  const world = new World(sleeper("web"));
  const [before] = world.process().states;
  world.kill(sleeper("web"));
  assert.deepEqual(world.process().states, [before]);
  world.run();
  world.process().sleep();
  world.kill(sleeper("web"));
  assert.equal(world.process().isDormant, true);
  world.spawner.end("web", exited);
  world.spawner.swept("web");
  assert.equal(world.state(), "asleep");
});

test("a changed file doesn't wake it, a schedule does", () => {
  const world = new World(sleeper("web", { cron: "0 0 * * *" }));
  world.process().onFileChange({ files: ["a.js"], count: 1, at: world.clock.now() + 1 });
  assert.equal(world.state(), "asleep");
  world.clock.advance(24 * 3_600_000);
  assert.equal(world.state(), "starting");
});

test("a failure while it is awake is handled by its policy, and an end by itself is no sleep", () => {
  const world = new World(sleeper("web"));
  world.run();
  world.spawner.end("web", { kind: "exited", code: 1, signal: null });
  assert.equal(world.state(), "starting");
  world.spawner.up("web");
  world.spawner.end("web", { kind: "exited", code: 0, signal: null });
  assert.equal(world.state(), "finished");
});

test("a dependent's start wakes it; one with the condition reachable is content with its sleep", () => {
  const world = new World(sleeper("db"), sleeper("web", { ...needs("db", "ready"), autostart: false }));
  world.process("web").start();
  assert.deepEqual(
    [world.state("db"), world.state("web"), world.notices],
    ["starting", "waiting", ["db woken for web"]],
  );
  world.spawner.up("db");
  assert.equal(world.state("web"), "starting");
  const other = new World(sleeper("db"), sleeper("web", { ...needs("db", "reachable"), autostart: false }));
  other.process("web").start();
  assert.deepEqual([other.state("db"), other.state("web")], ["asleep", "starting"]);
});

test("a dependent waits for a dependency that is blocked while it sleeps, and wakes it then", () => {
  for (const condition of ["ready", "reachable"] as const) {
    const world = new World(sleeper("db"), sleeper("web", { ...needs("db", condition), autostart: false }));
    world.process("db").block();
    world.process("web").start();
    assert.deepEqual([world.state("db"), world.state("web")], ["asleep", "waiting"]);
    world.process("db").unblock();
    if (condition === "ready") world.spawner.up("db");
    assert.equal(world.state("web"), "starting");
  }
});

test("without the field nothing would wake it any more: it starts, or is stopped if it is started by hand", () => {
  const change = { fields: ["idle"], restart: false };
  const world = new World(sleeper("web"));
  const { idleMs: _, ...policy } = sleeper("web").policy;
  world.change({ ...sleeper("web"), policy }, change);
  assert.equal(world.state(), "starting");
  const byHand = new World(sleeper("web", { autostart: false }));
  byHand.process().start();
  byHand.spawner.up("web");
  byHand.process().sleep();
  byHand.spawner.end("web", exited);
  byHand.spawner.swept("web");
  byHand.change({ ...sleeper("web", { autostart: false }), policy }, change);
  assert.equal(byHand.state(), "stopped");
});

test("an instance that is added to a cluster sleeps if the others do, and starts if one of them runs", () => {
  const instance = (number: number): ProcessDefinition => sleeper(`web-${number}`, { cluster: "web" });
  const world = new World(instance(1));
  world.supervisor.apply([instance(1), instance(2)]);
  assert.equal(world.state("web-2"), "asleep");
  world.run("web-1");
  world.supervisor.apply([instance(1), instance(2), instance(3)]);
  assert.deepEqual([world.state("web-2"), world.state("web-3")], ["asleep", "starting"]);
});

/** Starts, stops and restarts in the order of dependencies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, FakeSpawner } from "../../../test/support/fakes.ts";
import type { Dependency, ProcessDefinition } from "./definition.ts";
import type { ProcessEvent } from "./process-notice.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import type { SlotState } from "./states.ts";
import { Supervisor } from "./supervisor.ts";

const on = (id: string, more: Partial<Dependency> = {}): Dependency => ({
  id,
  condition: "ready",
  restart: false,
  members: [id],
  ...more,
});

function definition(
  id: string,
  dependsOn: readonly Dependency[] = [],
  more: Partial<ProcessDefinition> = {},
): ProcessDefinition {
  const policy = {
    restart: "error",
    restartLimit: 3,
    restartResetMs: 60_000,
    graceMs: 0,
    terminateMs: 30_000,
    timeoutMs: 0,
  } as const;
  return {
    id,
    autostart: true,
    overrun: false,
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...more,
    policy: { ...policy, waits: dependsOn.length > 0, ...more.policy },
  };
}

class World {
  readonly clock = new FakeClock();
  readonly spawner = new FakeSpawner();
  readonly notices: string[] = [];
  definitions: readonly ProcessDefinition[];
  supervisor: Supervisor;

  constructor(...definitions: readonly ProcessDefinition[]) {
    this.definitions = definitions;
    this.supervisor = this.#supervisor();
    this.supervisor.apply(definitions);
  }

  #supervisor(): Supervisor {
    const notice = (id: string, { type }: ProcessEvent): void => void this.notices.push(`${id} ${type}`);
    const { clock, spawner } = this;
    return new Supervisor({ clock, spawner, publish: () => undefined, notice, removed: () => undefined });
  }

  /** A reload that changes only dependencies. */
  declare(...definitions: readonly ProcessDefinition[]): void {
    const isOther = ({ id, dependsOn }: ProcessDefinition): boolean =>
      this.supervisor.find(id).definition.dependsOn !== dependsOn;
    const changes = definitions
      .filter(isOther)
      .map(({ id }) => [id, { fields: ["dependsOn"], restart: false }] as const);
    this.definitions = definitions;
    this.supervisor.apply(definitions, new Map(changes));
  }

  /** Another service continues from this one's snapshots. */
  kill(): void {
    this.supervisor.dispose();
    const snapshots = new Map(
      [...this.spawner.snapshots].map(([id, snapshot]) => [
        id,
        JSON.parse(JSON.stringify(snapshot)) as ProcessSnapshot,
      ]),
    );
    this.supervisor = this.#supervisor();
    this.supervisor.resume(this.definitions, snapshots);
    this.supervisor.apply(this.definitions);
  }

  state(id: string): SlotState {
    return this.supervisor.find(id).states[0] as SlotState;
  }

  status(): string {
    return this.definitions.map(({ id }) => `${id} ${this.state(id).status}`).join(", ");
  }

  up(...ids: readonly string[]): void {
    for (const id of ids) this.spawner.up(id);
  }

  end(id: string, code = 0): void {
    this.spawner.exit(id, code);
    this.spawner.swept(id);
  }
}

test("a process starts when its dependencies are started, ready or finished; one without dependencies starts immediately", () => {
  const db = definition("db", [], { policy: { readyMs: 30_000 } as ProcessDefinition["policy"] });
  const world = new World(
    definition("web", [on("db"), on("migrate", { condition: "finished" })]),
    definition("migrate", [on("db")]),
    definition("log", [on("db", { condition: "started" })]),
    db,
    definition("free"),
  );
  assert.deepEqual(world.spawner.takeRequests(), ["spawn db 1", "spawn free 1"]);
  world.up("db", "free");
  assert.deepEqual(world.spawner.takeRequests(), ["spawn log 1"]);
  world.supervisor.find("db").report("db", { type: "ready", run: 1 });
  assert.deepEqual(world.spawner.takeRequests(), ["spawn migrate 1"]);
  assert.deepEqual(
    world.supervisor.unmetBy("web").map(({ id }) => id),
    ["migrate"],
  );
  world.up("log", "migrate");
  world.end("migrate");
  assert.deepEqual(world.spawner.takeRequests(), ["spawn web 1"]);
});

test("a dependency that recovers starts its dependents, also after the service was killed meanwhile", () => {
  const world = new World(definition("db"), definition("web", [on("db")]));
  world.spawner.exit("db", 1);
  for (let restart = 0; restart < 3; restart++) {
    world.clock.advance(1_000);
    world.up("db");
    world.spawner.exit("db", 1);
    world.up("web");
    world.spawner.exit("web", 1);
  }
  world.clock.advance(1_000);
  assert.equal(world.status(), "db idle, web waiting", "it waits again once it has failed, too");
  world.kill();
  assert.equal(world.status(), "db idle, web waiting");
  world.supervisor.find("db").start();
  world.up("db");
  assert.equal(world.status(), "db running, web starting");
});

test("dependents are stopped before their dependencies, in any order of the file, also after the service was killed meanwhile", () => {
  const world = new World(
    definition("db"),
    definition("web", [on("app")]),
    definition("app", [on("db")]),
    definition("free"),
  );
  world.up("db", "free", "app", "web");
  world.spawner.takeRequests();
  void world.supervisor.stopAll();
  assert.deepEqual(world.spawner.takeRequests(), ["SIGTERM free 1", "SIGTERM web 1"]);
  assert.deepEqual(world.supervisor.runningDependents("db"), ["app"]);
  world.end("web");
  assert.deepEqual(world.spawner.takeRequests(), ["sweep SIGTERM web 1", "SIGTERM app 1"]);
  world.kill();
  world.spawner.takeRequests();
  assert.equal(world.status(), "db stopping, web idle, app stopping, free stopping");
  world.end("app");
  assert.deepEqual(world.spawner.takeRequests().slice(-1), ["SIGTERM db 1"]);
});

test("stopping one process doesn't stop its dependents", () => {
  const world = new World(definition("db"), definition("web", [on("db")]));
  world.up("db", "web");
  world.spawner.takeRequests();
  world.supervisor.find("db").stop();
  assert.deepEqual(world.spawner.takeRequests(), ["SIGTERM db 1"]);
  assert.equal(world.state("web").status, "running");
});

test("restart: a dependent is restarted after its dependency was restarted and is available again", () => {
  const world = new World(
    definition("db"),
    definition("web", [on("db", { restart: true })]),
    definition("mail", [on("db")]),
  );
  world.up("db");
  world.clock.advance(10);
  world.up("web", "mail");
  world.spawner.takeRequests();
  world.spawner.exit("db", 1);
  world.clock.advance(10);
  world.up("db");
  assert.deepEqual(world.spawner.takeRequests(), ["spawn db 2", "SIGTERM web 1"]);
  assert.deepEqual(world.notices.slice(-1), ["web follows"]);
  world.end("web");
  world.clock.advance(10);
  world.up("web");
  assert.deepEqual(world.spawner.takeRequests(), ["sweep SIGTERM web 1", "spawn web 2"]);
  assert.equal(world.status(), "db running, web running, mail running");
});

test("one running instance of a cluster is enough, and a blocked or stopped process no longer waits", () => {
  const world = new World(
    definition("web", [on("db", { members: ["db-1", "db-2"] })]),
    definition("db-1"),
    definition("db-2"),
  );
  world.supervisor.find("web").block();
  assert.equal(world.state("web").status, "idle");
  world.supervisor.find("web").unblock();
  assert.throws(() => world.supervisor.find("web").start(), {
    code: "process-running",
    message: /it is already waiting/,
  });
  world.spawner.takeRequests();
  world.up("db-2");
  assert.deepEqual(world.spawner.takeRequests(), ["spawn web 1"]);
});

test("restart: the dependent of a cluster waits until all instances are back, and is restarted once", () => {
  const members = ["db-1", "db-2"];
  const world = new World(
    definition("db-1"),
    definition("db-2"),
    definition("web", [on("db", { restart: true, members })]),
  );
  world.up("db-1");
  world.clock.advance(10);
  world.up("web");
  world.clock.advance(10);
  world.up("db-2");
  world.spawner.takeRequests();
  world.supervisor.find("db-1").restart();
  assert.deepEqual(world.spawner.takeRequests(), ["SIGTERM db-1 1"], "db-2 is younger, but db-1 is still to come");
  world.end("db-1");
  world.clock.advance(10);
  world.up("db-1");
  assert.deepEqual(world.spawner.takeRequests(), ["sweep SIGTERM db-1 1", "spawn db-1 2", "SIGTERM web 1"]);
});

test("restart: a dependency that is declared while both run restarts nothing by its age, also after a kill; its next restart does", () => {
  const world = new World(definition("web"), definition("db"));
  world.up("web");
  world.clock.advance(10);
  world.up("db");
  world.clock.advance(10);
  world.spawner.takeRequests();
  world.declare(definition("web", [on("db", { restart: true })]), definition("db"));
  assert.deepEqual(world.notices, ["web changed"]);
  world.kill();
  assert.deepEqual(world.spawner.takeRequests(), ["adopt alive web 1", "adopt alive db 1"]);
  world.spawner.exit("db", 1);
  assert.ok(world.supervisor.willFollow("web"));
  world.clock.advance(10);
  world.up("db");
  assert.deepEqual(world.spawner.takeRequests(), ["spawn db 2", "SIGTERM web 1"]);
  assert.ok(!world.supervisor.willFollow("web"));
});

test("restart: what follows a process that follows another is known before that has ended, and nothing follows what has failed", () => {
  const restart = true;
  const db = definition("db", [], { policy: { restartDelayMs: 5_000 } as ProcessDefinition["policy"] });
  const world = new World(db, definition("app", [on("db", { restart })]), definition("web", [on("app", { restart })]));
  for (const id of ["db", "app", "web"]) {
    world.up(id);
    world.clock.advance(10);
  }
  const following = (): readonly string[] => ["db", "app", "web"].filter((id) => world.supervisor.willFollow(id));
  assert.deepEqual(following(), []);
  world.supervisor.find("db").restart();
  assert.deepEqual(following(), ["app", "web"]);
  world.supervisor.find("app").block();
  assert.deepEqual(following(), []);
  world.supervisor.find("app").unblock();
  world.end("db");
  world.spawner.exit("db", 1);
  assert.equal(world.state("db").status, "backoff");
  assert.deepEqual(following(), []);
});

test("restart: a dependent that was blocked while its dependency restarted is restarted when it is unblocked", () => {
  const world = new World(definition("db"), definition("web", [on("db", { restart: true })]));
  world.up("db");
  world.clock.advance(10);
  world.up("web");
  world.supervisor.find("web").block();
  world.spawner.exit("db", 1);
  world.clock.advance(10);
  world.up("db");
  world.spawner.takeRequests();
  world.supervisor.find("web").unblock();
  assert.deepEqual(world.spawner.takeRequests(), ["SIGTERM web 1"]);
});

const IDS = ["web", "db", "migrate", "mail"] as const;
type Act = readonly [kind: number, id: number];

/** No process starts before its dependencies or is stopped before its dependents, and none waits for ever. */
function check(world: World): void {
  for (const { id } of world.definitions) {
    const state = world.state(id);
    if (state.status === "waiting")
      assert.notEqual(world.supervisor.unmetBy(id).length, 0, `${id} waits without need: ${world.status()}`);
    if (state.status !== "stopping") continue;
    if (state.phase === "waiting-dependents")
      assert.notEqual(world.supervisor.runningDependents(id).length, 0, `${id} waits without need: ${world.status()}`);
  }
}

function move(world: World, [kind, index]: Act): void {
  const id = IDS[index % IDS.length] as string;
  const process = world.supervisor.find(id);
  const state = world.state(id);
  const before = world.spawner.log.length;
  const unmet = new Map(IDS.map((each) => [each as string, world.supervisor.unmetBy(each).length]));
  try {
    if (kind < 5) process[(["start", "stop", "restart", "block", "unblock"] as const)[kind] ?? "stop"]();
    else if (kind === 5) world.clock.advance(5_000);
    else if (kind === 6) world.kill();
    else if (kind === 7) for (const each of world.supervisor.inStopOrder(world.supervisor.processes)) each.stop();
    else if (state.status === "starting" || (state.status === "stopping" && state.phase === "spawning")) world.up(id);
    else if (state.status === "running" || (state.status === "stopping" && !("ending" in state)))
      world.spawner.exit(id, kind % 2);
    else if (state.status === "stopping") world.spawner.swept(id);
  } catch (error) {
    assert.match((error as Error).message, /^Cannot (start|restart)/);
  }
  for (const line of world.spawner.log.slice(before)) {
    const [what, slot = ""] = line.split(" ");
    // A dependency that was missing before was fulfilled by this move.
    if (what === "spawn" && unmet.get(slot) !== 0)
      assert.equal(world.supervisor.unmetBy(slot).length, 0, `${line} without what it depends on`);
    // A restart of one process, or a stop requested before those of its dependents, doesn't wait.
    if (what === "SIGTERM" && (kind === 1 || kind === 7))
      assert.deepEqual(world.supervisor.runningDependents(slot), [], `${line} before those that depend on it`);
  }
  check(world);
}

test("after any sequence of events, including killed services, the order holds, no process waits for ever, and everything can be stopped", () => {
  const acts = fc.array(fc.tuple(fc.nat(13), fc.nat(3)), { maxLength: 60 });
  fc.assert(
    fc.property(acts, (moves) => {
      const world = new World(
        definition("web", [on("db"), on("migrate", { condition: "finished" })]),
        definition("db"),
        definition("migrate", [on("db", { condition: "started" })]),
        definition("mail", [on("web", { restart: true })]),
      );
      for (const each of moves) move(world, each);
      void world.supervisor.stopAll();
      for (let round = 0; round < 30 && IDS.some((id) => world.state(id).status !== "idle"); round++)
        for (const index of IDS.keys()) move(world, [9, index]);
      assert.equal(world.status(), IDS.map((id) => `${id} idle`).join(", "));
    }),
    { numRuns: 300 },
  );
});

test("unblock of a process that waited when it was blocked: it waits again, or starts, also after a kill of the service", () => {
  const world = new World(definition("db"), definition("web", [on("db")]));
  world.supervisor.find("web").block();
  world.kill();
  world.supervisor.find("web").unblock();
  assert.equal(world.state("web").status, "waiting");
  world.supervisor.find("web").block();
  world.spawner.up("db");
  assert.equal(world.state("web").status, "idle");
  world.supervisor.find("web").unblock();
  assert.equal(world.state("web").status, "starting");
});

test('the condition "started" holds for a job that has finished, but not for one that failed', () => {
  const job = definition("job", [], { policy: { restart: "never" } as never });
  for (const [code, status] of [
    [0, "starting"],
    [1, "waiting"],
  ] as const) {
    const world = new World(job, definition("db"), definition("web", [on("job", { condition: "started" }), on("db")]));
    world.spawner.up("job");
    world.spawner.exit("job", code);
    world.spawner.up("db");
    assert.equal(world.state("web").status, status);
  }
});

test('the condition "completed" holds for a job that has ended with any code, once nothing restarts it; not for one that can\'t start or was stopped', () => {
  const once = { policy: { restart: "never" } as never };
  const dependent = definition("web", [on("job", { condition: "completed" })]);
  for (const code of [0, 1]) {
    const world = new World(definition("job", [], once), dependent);
    world.spawner.up("job");
    assert.equal(world.state("web").status, "waiting");
    world.spawner.exit("job", code);
    assert.equal(world.state("web").status, "starting", `code ${code}`);
    world.kill();
    assert.equal(world.state("web").status, "starting");
  }
  const restarted = new World(definition("job"), dependent);
  restarted.spawner.up("job");
  restarted.spawner.exit("job", 1);
  assert.equal(restarted.state("web").status, "waiting", "it is restarted");
  const stopped = new World(definition("job", [], once), dependent);
  stopped.spawner.up("job");
  stopped.supervisor.find("job").stop();
  stopped.spawner.exit("job", 0);
  assert.equal(stopped.state("web").status, "waiting", "it was stopped");
  assert.equal(stopped.supervisor.isSkipped("web"), false);
  const group = new World(
    definition("a", [], once),
    definition("b", [], once),
    definition("web", [on("ab", { condition: "completed", members: ["a", "b"] })]),
  );
  for (const id of ["a", "b"]) group.spawner.up(id);
  group.spawner.exit("a", 1);
  assert.equal(group.state("web").status, "waiting", "one instance runs");
  group.spawner.exit("b", 0);
  assert.equal(group.state("web").status, "starting");
});

test("what waits for a process that has failed permanently is skipped, and so is what waits for that, until it is started again", () => {
  const job = definition("job", [], { policy: { restart: "never" } as never });
  const next = definition("next", [on("job", { condition: "finished" })]);
  const last = definition("last", [on("next", { condition: "finished" })]);
  const world = new World(job, next, last, definition("other", [on("web")]), definition("web"));
  const skipped = (): readonly string[] =>
    world.definitions.map(({ id }) => id).filter((id) => world.supervisor.isSkipped(id));
  assert.deepEqual(skipped(), []);
  world.spawner.up("job");
  assert.deepEqual(skipped(), []);
  world.spawner.exit("job", 1);
  assert.deepEqual(skipped(), ["next", "last"]);
  assert.deepEqual(world.supervisor.lossOf("last"), { path: ["next", "job"], members: ["job"] });
  world.kill();
  assert.deepEqual(skipped(), ["next", "last"]);
  world.supervisor.find("job").start();
  assert.deepEqual(skipped(), []);
  world.spawner.up("job");
  world.spawner.exit("job", 0);
  assert.equal(world.state("next").status, "starting");
});

test("one lost instance of a cluster skips nothing while another may come, unless all must finish; nor does a stopped or scheduled process", () => {
  const never = { policy: { restart: "never" } as never };
  const dependents = ["ready", "finished"].map((condition) =>
    definition(condition, [on("db", { condition: condition as never, members: ["db-1", "db-2"] })]),
  );
  const cron = definition("job", [], { ...never, cron: "0 0 1 1 *" });
  const world = new World(
    definition("db-1", [], never),
    definition("db-2", [], never),
    cron,
    ...dependents,
    definition("web", [on("job")]),
  );
  for (const id of ["db-1", "job"]) world.spawner.up(id);
  world.spawner.exit("db-1", 1);
  world.spawner.exit("job", 1);
  const skipped = (): readonly boolean[] => ["ready", "finished", "web"].map((id) => world.supervisor.isSkipped(id));
  assert.deepEqual(skipped(), [false, true, false]);
  assert.deepEqual(world.supervisor.lossOf("finished"), { path: ["db"], members: ["db-1"] });
});

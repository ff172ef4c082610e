/** Dependents with `restart: true` are restarted once, after what they depend on; the service may be killed at any step. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../../test/support/procman-process.ts";
import { configOf, exited, folder, run, type Snapshot, startService } from "../../../../test/support/service-rig.ts";
import type { RawProcess } from "../../config/config-schema.ts";
import type { Config } from "../../config/spec.ts";
import type { PlanRecord } from "../../contract/plan.ts";
import { monotonicMs } from "../../os/clock.ts";

const CALLER = { consumer: "ci", scopes: ["admin"] } as never;
const onDb = { dependsOn: [{ id: "db", restart: true }] };
const one = (id: string, more: Partial<RawProcess> = {}): RawProcess => ({
  id,
  cmd: "sleep 1000",
  autostart: true,
  ...more,
});
const web = (more: Partial<RawProcess> = {}): RawProcess => one("web", { cluster: { instances: 3 }, ...onDb, ...more });
const WEBS = ["web-1", "web-2", "web-3"] as const;

/** These processes run under a fake keeper: a signal ends a run, a spawned run comes up. */
async function world(
  context: TestContext,
  stateDir: string,
  processes: readonly RawProcess[],
  snapshot: Snapshot = {},
) {
  const file = { now: configOf(stateDir, processes) };
  const source = (): Config => file.now;
  const running = new Map((snapshot.running ?? []).map((each) => [each.slot, each]));
  const rig = startService(context, file.now, snapshot, { source, steadyMs: 30 });
  const done = new Set<string>();
  /** A process in `fails` exits with code 3 as soon as it runs. */
  const obey = (fails: (key: string) => boolean): void => {
    rig.tellSynced();
    for (const each of rig.channel.requests("spawn", "signal").filter((key) => !done.has(key))) {
      const [kind, slot, text] = each.split(" ") as [string, string, string];
      done.add(each);
      const number = Number(text);
      if (kind === "spawn") {
        running.set(slot, { ...run(slot, number), since: monotonicMs() });
        rig.tell({ t: "spawned", ...running.get(slot) } as never);
      }
      if ((kind === "signal" && running.get(slot)?.run === number) || fails(each)) {
        running.delete(slot);
        rig.tell(exited(slot, number, kind === "signal" ? 0 : 3));
      }
    }
  };
  const until = async (isSo: () => boolean, fails: (key: string) => boolean = () => false): Promise<void> => {
    await eventually(() => {
      obey(fails);
      return isSo() ? true : undefined;
    });
  };
  const hasLogged = (line: RegExp): boolean => rig.channel.printed.some((text) => line.test(text));
  const notes: Record<string, string> = {};
  const runs = (): Record<string, number> =>
    Object.fromEntries([...running].map(([slot, each]) => [slot, each.run]).toSorted());
  const killed = async (): Promise<Snapshot> => {
    await rig.service.retire();
    return { running: [...running.values()], notes: { ...snapshot.notes, ...notes, ...rig.channel.notes } };
  };
  if (snapshot.running === undefined) {
    await until(() => running.size === file.now.processes.length);
    Object.assign(notes, rig.channel.notes);
    rig.channel.batches.length = 0;
    done.clear();
  }
  const write = (...next: readonly RawProcess[]): void => {
    file.now = configOf(stateDir, next);
  };
  const spawns = (): readonly string[] => rig.channel.requests("spawn");
  return { ...rig, until, hasLogged, runs, killed, write, spawns };
}

type World = Awaited<ReturnType<typeof world>>;

function restartAll({ service }: World): Promise<void> {
  const { done } = service.actions.act(service.supervisor.processes, { id: "all", action: "restart", caller: CALLER });
  return done({ waitSeconds: 60 });
}

const OTHER = { cmd: "sleep 2000" };

test("a reload of a process and of a cluster that depends on it restarts each instance once, in any order of the file", async (context) => {
  for (const isFirst of [true, false]) {
    const order = (...list: readonly RawProcess[]): readonly RawProcess[] => (isFirst ? list : list.toReversed());
    const rig = await world(context, folder(), order(one("db"), web()));
    rig.write(...order(one("db", OTHER), web(OTHER)));
    void rig.service.reloads.reload("test");
    await rig.until(() => rig.hasLogged(/^the reload is done$/));
    assert.deepEqual(rig.spawns(), ["spawn db 2", ...WEBS.map((id) => `spawn ${id} 2`)]);
  }
});

test("clusters and processes that depend on one another are reloaded in order, each once", async (context) => {
  const api = (more: Partial<RawProcess> = {}): RawProcess =>
    one("api", { dependsOn: [{ id: "web", restart: true }], ...more });
  const db = (more: Partial<RawProcess> = {}): RawProcess => one("db", { cluster: { instances: 2 }, ...more });
  const rig = await world(context, folder(), [api(), web(), db()]);
  rig.write(api(OTHER), web(OTHER), db(OTHER));
  const { processes } = rig.service.reloads.plan();
  assert.ok(processes.every(({ rolling }) => rolling));
  void rig.service.reloads.reload("test");
  await rig.until(() => rig.hasLogged(/^the reload is done$/));
  assert.deepEqual(
    rig.spawns(),
    ["db-1", "db-2", ...WEBS, "api"].map((id) => `spawn ${id} 2`),
  );
});

test("a service that is killed during such a reload: the next one restarts the pending ones in order", async (context) => {
  const stateDir = folder();
  const first = await world(context, stateDir, [one("db"), web()]);
  first.write(one("db", OTHER), web(OTHER));
  void first.service.reloads.reload("test");
  await first.until(() => first.runs()["web-1"] === 2);
  const snapshot = await first.killed();
  assert.notEqual(snapshot.notes?.[":reload"], "");
  const next = await world(context, stateDir, [one("db", OTHER), web(OTHER)], snapshot);
  await next.until(() => next.hasLogged(/^the reload is done$/));
  assert.deepEqual(next.spawns(), ["spawn web-2 2", "spawn web-3 2"]);
  assert.deepEqual(next.runs(), { db: 2, "web-1": 2, "web-2": 2, "web-3": 2 });
});

test("when such a reload is rolled back, the pending ones are restarted with what they depend on", async (context) => {
  const rig = await world(context, folder(), [one("db"), web()]);
  rig.write(one("db", OTHER), web(OTHER));
  void rig.service.reloads.reload("test");
  await rig.until(
    () =>
      rig.hasLogged(/^rolled back to the previous configuration$/) &&
      rig.spawns().filter((each) => /web-3/.test(each)).length > 0,
    (key) => key === "spawn web-2 2",
  );
  await rig.until(() => Object.keys(rig.runs()).length === 4);
  assert.deepEqual(rig.runs(), { db: 3, "web-1": 3, "web-2": 3, "web-3": 2 });
});

test("a restart of all restarts each once: a process, the cluster that depends on it, and a dependent of the cluster", async (context) => {
  const rig = await world(context, folder(), [
    one("api", { dependsOn: [{ id: "web", restart: true }] }),
    one("more", { cluster: { instances: 2 }, dependsOn: [{ id: "web", restart: true }] }),
    web(),
    one("db"),
  ]);
  const done = restartAll(rig);
  await rig.until(() => rig.runs()["more-2"] === 2 && rig.runs().api === 2 && rig.channel.notes[":rolls"] === "");
  await done;
  assert.deepEqual(
    rig.spawns().toSorted(),
    ["api", "db", "more-1", "more-2", ...WEBS].map((id) => `spawn ${id} 2`),
  );
  const place = (id: string): number => rig.spawns().indexOf(`spawn ${id} 2`);
  assert.ok(place("web-3") < place("api") && place("web-3") < place("more-1"), "in their order");
});

test("a service that is killed during that: the next one resumes it, and pending processes are restarted once", async (context) => {
  const stateDir = folder();
  const processes = [one("api", { dependsOn: [{ id: "web", restart: true }] }), web(), one("db")];
  const first = await world(context, stateDir, processes);
  void restartAll(first);
  await first.until(() => first.runs()["web-1"] === 2);
  const next = await world(context, stateDir, processes, await first.killed());
  await next.until(() => next.runs().api === 2);
  assert.deepEqual(next.spawns(), ["spawn web-2 2", "spawn web-3 2", "spawn api 2"]);
  await next.until(() => next.channel.notes[":rolls"] === "");
});

test("when a rolling restart is cancelled, its pending instances still follow the dependency that was restarted", async (context) => {
  const rig = await world(context, folder(), [web(), one("db")]);
  const done = restartAll(rig);
  const ended = assert.rejects(done, {
    code: "roll-failed",
    message: 'Cannot restart "web" any further: stop was requested',
  });
  await rig.until(() => rig.runs()["web-1"] === 2);
  rig.service.operations.cancel({ kind: "stop", targets: ["web"] }, "stop was requested");
  await rig.until(() => rig.spawns().includes("spawn web-3 2"));
  assert.deepEqual(rig.runs(), { db: 2, "web-1": 2, "web-2": 2, "web-3": 2 });
  await ended;
});

/** What plan and reload say of the processes that they touch: id, action, whether one after another. */
const touched = ({ processes }: PlanRecord): readonly string[] =>
  processes.flatMap(({ process, action, rolling }) =>
    action === "none" ? [] : [`${process} ${action}${rolling ? ", rolling" : ""}`],
  );

/** Its answer, as soon as it comes. */
async function reload(rig: World): Promise<PlanRecord> {
  let answer: PlanRecord | undefined;
  void rig.service.reloads.reload("test", { waitSeconds: 60 }).then((plan) => {
    answer = plan;
  });
  await rig.until(() => answer !== undefined);
  return answer as unknown as PlanRecord;
}

test("plan and reload show what restarts because its dependency does, and reload waits for it", async (context) => {
  const onApp = { dependsOn: [{ id: "app", restart: true }] };
  const all = [one("mail", { dependsOn: ["db"] }), one("web", onApp), one("app", onDb), one("db"), one("held", onDb)];
  const rig = await world(context, folder(), all);
  rig.service.supervisor.find("held").block();
  rig.write(
    ...all.map((each) =>
      each.id === "db" ? one("db", OTHER) : each.id === "app" ? one("app", { ...onDb, timeout: 7_200 }) : each,
    ),
  );
  const expected = ["web restart", "app restart", "db restart"];
  const plan = rig.service.reloads.plan();
  assert.deepEqual(touched(plan), expected);
  assert.deepEqual(
    plan.processes.map(({ reason }) => reason),
    [
      "unchanged",
      "restarts with app, on which it depends",
      "its timeout has changed; restarts with db, on which it depends",
      "its cmd has changed",
      "is not restarted with db, on which it depends: it is blocked",
    ],
  );
  assert.deepEqual(touched(await reload(rig)), expected);
  assert.deepEqual(rig.runs(), { app: 2, db: 2, held: 1, mail: 1, web: 2 });
  assert.deepEqual(rig.spawns(), ["spawn db 2", "spawn app 2", "spawn web 2"]);
  assert.deepEqual(touched(rig.service.reloads.plan()), []);
});

test("a process whose dependency is declared only by the reload doesn't restart, whatever their age", async (context) => {
  const rig = await world(context, folder(), [one("web"), one("db", { dependsOn: ["web"] })]);
  rig.write(one("web", onDb), one("db"));
  assert.deepEqual(touched(rig.service.reloads.plan()), ["web in-place", "db in-place"]);
  await reload(rig);
  assert.deepEqual(rig.channel.requests("signal"), []);
  assert.deepEqual(touched(rig.service.reloads.plan()), []);
  rig.write(one("web", onDb), one("db", OTHER));
  assert.deepEqual(touched(rig.service.reloads.plan()), ["web restart", "db restart"]);
});

test("instances of a cluster restart one after another with a plain dependency, also when the service is killed meanwhile", async (context) => {
  const stateDir = folder();
  const api = one("api", { dependsOn: [{ id: "web", restart: true }] });
  const first = await world(context, stateDir, [api, web(), one("db")]);
  first.write(api, web(), one("db", OTHER));
  const expected = ["api restart, rolling", ...WEBS.map((id) => `${id} restart, rolling`), "db restart"];
  assert.deepEqual(touched(first.service.reloads.plan()), expected);
  void first.service.reloads.reload("test");
  await first.until(() => first.runs()["web-2"] === 2);
  assert.deepEqual(first.spawns(), ["spawn db 2", "spawn web-1 2", "spawn web-2 2"]);
  const next = await world(context, stateDir, [api, web(), one("db", OTHER)], await first.killed());
  await next.until(() => next.hasLogged(/^the reload is done$/));
  assert.deepEqual(next.spawns(), ["spawn web-3 2", "spawn api 2"]);
  assert.deepEqual(next.runs(), { api: 2, db: 2, "web-1": 2, "web-2": 2, "web-3": 2 });
});

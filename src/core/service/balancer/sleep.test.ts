/** When processes without clients are put to sleep, and woken, by the balancer's reports. The whole is in test/clusters/sleep.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import type { FrontReport } from "../../ipc/balancer-protocol.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { systemClock } from "../system-clock.ts";
import { type Clients, clientsIn, Sleep } from "./sleep.ts";

const ASLEEP: SlotState = { status: "idle", run: 1, restarts: 0, outcome: { kind: "asleep", since: 0 } };
const running = (): SlotState => ({
  status: "running",
  run: 1,
  restarts: 0,
  pid: 7,
  since: systemClock.now(),
  ready: true,
});

/** A front with one process, whose balancer reports what the test says. */
function rig(idleMs: number, share?: { readonly wakeMs: number }) {
  const done: string[] = [];
  const process = {
    states: [ASLEEP] as readonly SlotState[],
    get isDormant(): boolean {
      return process.states[0] === ASLEEP;
    },
    wake: () => {
      done.push("wake");
      process.states = [running()];
    },
    sleep: () => {
      done.push("sleep");
      process.states = [ASLEEP];
    },
  };
  const backend = { id: "web", connections: 0, total: 0, bytesIn: 0, bytesOut: 0, refused: 0, accepting: false };
  const none: FrontReport = { id: "web", waiting: 0, rejected: 0, backends: [backend] };
  const now: {
    report: FrontReport | undefined;
    clients?: Clients;
    turnedAway: number;
    busy: boolean;
    onSend: () => void;
  } = {
    report: none,
    turnedAway: 0,
    busy: false,
    onSend: () => undefined,
  };
  const front = { id: "web", hostname: "127.0.0.1", port: 3_000, wake: { on: "connect", timeoutMs: 30_000 } };
  const socket = { hostname: "127.0.0.1", port: 3_000 };
  const clientsPlace =
    share === undefined ? { front, idle: {} } : { share: socket, idle: share, cluster: { id: "web" } };
  const config = { processes: [{ id: "web", ...clientsPlace, policy: { idleMs } }] };
  const services = {
    log: { write: () => undefined },
    specs: { config },
    supervisor: { statesOf: () => process.states, find: () => process },
  };
  const sleep = new Sleep(services as never, {
    clients: () => now.clients ?? (now.report && clientsIn(now.report)),
    turnAway: () => now.turnedAway,
    retain: () => undefined,
    send: async () => now.onSend(),
    changed: () => undefined,
    saysBusy: () => now.busy,
  });
  /** Its own timer doesn't keep a program alive. */
  const until = async (holds: () => boolean): Promise<void> => {
    for (; !holds(); sleep.check()) await pause(1);
  };
  return { sleep, process, done, now, none, backend, until };
}

test("a client that waits wakes it, also by the report of an earlier balancer, which knows no sleep", () => {
  for (const report of [{ waiting: 1 }, { waiting: 3, waking: 1, counted: { connections: 0, total: 0 } }]) {
    const { sleep, done, now, none } = rig(1_000);
    now.report = { ...none, ...report };
    sleep.check();
    assert.deepEqual(done, ["wake"]);
    sleep.stop();
  }
  const { sleep, done, now, none } = rig(1_000);
  now.report = { ...none, waiting: 1, waking: 0, counted: { connections: 0, total: 0 } };
  sleep.check();
  assert.deepEqual(done, []);
  sleep.stop();
});

test("without a client for the time it is put to sleep; a balancer that doesn't answer knows of no clients", async () => {
  const { sleep, process, done, now, none, until } = rig(30);
  process.states = [running()];
  now.report = undefined;
  sleep.check();
  const began = systemClock.now();
  now.report = none;
  sleep.check();
  await until(() => done.length > 0);
  assert.deepEqual(done, ["sleep"]);
  assert.ok(systemClock.now() - began >= 30);
  sleep.stop();
});

test("a client that comes before it is sure that none has come is served", async () => {
  const ways = [{ waiting: 1 }, { served: { total: 1, connections: 0 } }, { served: { total: 1, connections: 1 } }];
  for (const { served = {}, ...come } of ways) {
    const { sleep, process, done, now, none, backend, until } = rig(1);
    process.states = [running()];
    let isAsked = false;
    now.onSend = () => {
      isAsked = sleep.isAsleep("web");
      now.report = { ...none, ...come, backends: [{ ...backend, ...served }] };
    };
    await until(() => isAsked);
    await turn();
    assert.deepEqual([done, sleep.isAsleep("web")], [[], false]);
    sleep.stop();
  }
});

test("a busy process is not put to sleep", async () => {
  const { sleep, process, now, done, until } = rig(1);
  process.states = [running()];
  now.busy = true;
  await until(() => sleep.recordOf("web")?.busy !== undefined);
  assert.deepEqual(done, []);
  sleep.stop();
});

const NONE: Clients = { connections: 0, total: 0, waiting: 0 };

test("instances that share a socket are put to sleep by what they have counted, at once and not before", async () => {
  const { sleep, process, done, now, until } = rig(40, { wakeMs: 1_000 });
  process.states = [{ ...running(), since: 0 } as SlotState];
  now.clients = { ...NONE, connections: 1, lastAt: systemClock.now() };
  sleep.check();
  assert.deepEqual(done, []);
  const lastAt = systemClock.now();
  now.clients = { ...NONE, lastAt };
  await until(() => done.length > 0);
  assert.deepEqual(done, ["sleep"]);
  assert.ok(systemClock.now() - lastAt >= 40);
  sleep.stop();
});

test("instances whose clients can't be counted stay awake, and it says why", async () => {
  const { sleep, process, done, now, until } = rig(1, { wakeMs: 1_000 });
  process.states = [running()];
  now.clients = { ...NONE, problem: "procman can't count the clients of web-1" };
  await until(() => sleep.recordOf("web")?.busy !== undefined);
  assert.deepEqual([done, sleep.recordOf("web")?.busy], [[], "procman can't count the clients of web-1"]);
  sleep.stop();
});

test("clients that wait on a shared socket are turned away after the limit, unless they are served by then", async () => {
  for (const isServed of [true, false]) {
    const { sleep, now, done, until } = rig(60_000, { wakeMs: 1 });
    now.clients = { ...NONE, waiting: 1 };
    const before = systemClock.now();
    sleep.check();
    const after = systemClock.now();
    assert.deepEqual(done, ["wake"]);
    now.turnedAway = 3;
    now.clients = isServed ? { ...NONE, servedAt: after + 5 } : NONE;
    await until(() => sleep.recordOf("web")?.[isServed ? "lastWakeMs" : "turnedAway"] !== undefined);
    const { turnedAway, lastWakeMs } = sleep.recordOf("web") ?? {};
    assert.equal(turnedAway, isServed ? undefined : 3);
    // It was woken between the two.
    if (isServed)
      assert.ok(lastWakeMs !== undefined && lastWakeMs >= 5 && lastWakeMs <= Math.round(after - before) + 5);
    else assert.equal(lastWakeMs, undefined);
    sleep.stop();
  }
});

/** Parts of procman are killed while a cluster with a shared socket sleeps, wakes and falls asleep: each client is served. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { busyPorts } from "../../src/core/os/listening-ports.ts";
import { monotonicMs } from "../programs/run-diary.mjs";
import { ask, clientOf } from "../support/cluster-rig.ts";
import { folderFor, pointsIn, startRig, successor } from "../support/fault-rig.ts";
import type { Kill } from "../support/fault-verdict.ts";
import { freePort } from "../support/free-ports.ts";
import { kill } from "../support/marked-processes.ts";
import { eventually } from "../support/procman-process.ts";
import { DECIDED, isAsleep, killedAtSteps, type Sleeping } from "../support/sleep-kills.ts";

/** Has no handler for SIGTERM. Listens after LATE milliseconds, and answers after SLOW. */
const PLAIN = `exec node -e 'const { LATE, SLOW } = process.env; const server = require("http").createServer((request, response) => setTimeout(() => response.end(process.pid + "\\n"), SLOW)); setTimeout(() => server.listen(8080), LATE)'`;

/** `env`, `scale`: of the program. `failpoints`: the environment of procman. */
type SleeperOptions = {
  readonly env?: object;
  readonly scale?: object;
  readonly folder?: string;
  readonly failpoints?: NodeJS.ProcessEnv;
};

async function sleeping(
  context: TestContext,
  { env = {}, scale, folder = folderFor(context), failpoints = {} }: SleeperOptions = {},
): Promise<Sleeping> {
  const port = await freePort();
  const cluster = { instances: 2, mode: "share", commonPort: port };
  const web = { id: "web", cmd: PLAIN, node: true, autostart: true, restart: "always", cluster, idle: { after: 1 } };
  const processes = [{ ...web, ...(scale && { scale }), env: { LATE: "300", SLOW: "0", ...env } }];
  const rig = await startRig(context, folder, processes, { env: failpoints });
  await rig.until("web", isAsleep);
  // It may still be opened. (A connection would wake the cluster.)
  await eventually(() => busyPorts().has(port) || undefined);
  return { rig, port };
}

const hasRun = ({ instances = [] }: ProcessRecord): boolean => instances.some(({ pid }) => pid !== undefined);
const runsIn = ({ instances = [] }: ProcessRecord): readonly number[] => instances.map(({ run = 0 }) => run);
const isFallingAsleep = ({ status }: ProcessRecord): boolean => status === "stopping" || status === "asleep";

const PARTS = ["keeper", "service", "logger"] as const;

async function killed({ rig }: Sleeping, part: (typeof PARTS)[number]): Promise<void> {
  const pids = rig.killPart(part);
  assert.ok(pids.length > 0, part);
  await successor(rig.procman, part, pids);
}

async function verdict({ rig }: Sleeping, loggersKilled = 0, kills: readonly Kill[] = []): Promise<void> {
  assert.deepEqual(await rig.verdict({ loggersKilled, kills }), []);
}

for (const part of PARTS) {
  test(`${part} is killed while it sleeps: it sleeps on, its port stays open, and the next client is served`, async (context) => {
    const own = await sleeping(context);
    const before = runsIn(await own.rig.until("web", isAsleep));
    await killed(own, part);
    // Waits in the queue while nobody may be awake.
    const client = ask(own.port);
    assert.ok((await client) > 0);
    assert.deepEqual(
      runsIn(await own.rig.until("web", hasRun)),
      before.map((run) => run + 1),
    );
    await own.rig.until("web", isAsleep);
    await killed(own, part);
    assert.equal((await own.rig.until("web", () => true)).status, "asleep");
    await verdict(own, part === "logger" ? 1 : 0);
  });

  test(`${part} is killed when the first client has just come, and when its run has begun: the client is served`, async (context) => {
    const own = await sleeping(context);
    const first = ask(own.port);
    await killed(own, part);
    assert.ok((await first) > 0);
    await own.rig.until("web", isAsleep);
    const second = ask(own.port);
    await own.rig.until("web", hasRun);
    await killed(own, part);
    assert.ok((await second) > 0);
    await verdict(own, part === "logger" ? 1 : 0);
  });

  test(`${part} is killed while it falls asleep: a client that has come meanwhile is served`, async (context) => {
    const own = await sleeping(context, { env: { LATE: "0" } });
    assert.ok((await ask(own.port)) > 0);
    await own.rig.until("web", isFallingAsleep);
    await killed(own, part);
    assert.ok((await ask(own.port)) > 0);
    await own.rig.until("web", isAsleep);
    await verdict(own, part === "logger" ? 1 : 0);
  });
}

test("a cluster that scales to zero: it grows by its load and by hand, and is as large as before when it wakes after kills", async (context) => {
  const scale = { min: 0, max: 4, targets: { cpu: 0.001 }, upAfter: 1, downAfter: 3_600 };
  const own = await sleeping(context, { scale, env: { LATE: "0" } });
  // A new service has a new address.
  const client = () => clientOf(own.rig.procman.stateDir);
  const count = ({ instances = [] }: ProcessRecord): number => instances.length;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const isLarge = (record: ProcessRecord): boolean => count(record) === 4 && record.status === "running";
  // Its connection keeps it awake, its requests are the load.
  for (let record: ProcessRecord | undefined; record === undefined || !isLarge(record); ) {
    for (let turn = 0; turn < 50; turn += 1) assert.ok((await ask(own.port, agent)) > 0);
    record = await (await client()).process("web");
  }
  agent.destroy();
  await own.rig.until("web", isAsleep);
  for (const [size, part] of [
    [4, "service"],
    [2, "keeper"],
    [3, "service"],
  ] as const) {
    if (size !== 4) await (await client()).scale("web", { instances: size });
    assert.equal(count(await own.rig.until("web", isAsleep)), size);
    await killed(own, part);
    const clients = await Promise.all(Array.from({ length: 20 }, () => ask(own.port)));
    assert.ok(clients.every((pid) => pid > 0));
    const woken = await own.rig.until("web", (record) => record.status === "running" || isAsleep(record));
    assert.deepEqual([count(woken), woken.scale?.pinned], [size, size === 4 ? undefined : true]);
    await own.rig.until("web", isAsleep);
  }
  await verdict(own);
});

test("an instance is killed while it wakes: the client is served", async (context) => {
  const own = await sleeping(context);
  const client = ask(own.port);
  const { instances: [first] = [] } = await own.rig.until("web", hasRun);
  const pid = first?.pid ?? 0;
  const kills: readonly Kill[] = [{ what: "web-1", at: monotonicMs(), pids: [pid] }];
  assert.ok(pid > 1 && kill(pid));
  assert.ok((await client) > 0);
  await own.rig.until("web", isAsleep);
  await verdict(own, 0, kills);
});

const STEPS = {
  "a wake": [...DECIDED, "keeper.asked", "keeper.forked", "keeper.recorded"],
  "falling asleep": [...DECIDED, "keeper.signalled", "keeper.exited", "keeper.over", "logger.drained"],
} as const satisfies Record<string, readonly Failpoint[]>;

for (const [name, points] of Object.entries(STEPS))
  test(`procman is killed at each step of ${name}: clients are served, and no run is started twice`, async (context) => {
    const folder = folderFor(context);
    const { env: failpoints, arm, reached } = pointsIn(folder, points);
    const own = await sleeping(context, { env: { LATE: "0", SLOW: "50" }, folder, failpoints });
    const kills = await killedAtSteps(own, name, { points, arm, reached });
    await own.rig.until("web", isAsleep);
    await verdict(own, name === "a wake" ? 0 : 1, kills);
  });

test("clients that come all the time, while parts are killed and it falls asleep and wakes, are neither refused nor reset", async (context) => {
  const own = await sleeping(context, { env: { LATE: "0" } });
  for (const [turn, part] of [...PARTS, ...PARTS, ...PARTS].entries()) {
    assert.ok((await ask(own.port)) > 0);
    await new Promise((resolve) => setTimeout(resolve, 940 + 15 * turn));
    const killing = killed(own, part);
    for (let count = 0; count < 10; count += 1) assert.ok((await ask(own.port)) > 0, `${part}, turn ${turn}`);
    await killing;
  }
  await own.rig.until("web", isAsleep);
  await verdict(own, 3);
});

test("an upgrade while it sleeps, while it wakes and while it falls asleep: clients are served", async (context) => {
  const own = await sleeping(context);
  assert.equal(await own.rig.procman.upgrade(), 0);
  assert.equal((await own.rig.until("web", () => true)).status, "asleep");
  const client = connect(own.port, "127.0.0.1");
  await once(client, "connect");
  assert.equal(await own.rig.procman.upgrade(), 0);
  client.setEncoding("utf8").write("GET / HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n");
  const [answer] = (await once(client, "data")) as [string];
  assert.match(answer, /^HTTP\/1\.1 200 OK/);
  client.destroy();
  await own.rig.until("web", isFallingAsleep);
  const upgrade = own.rig.procman.upgrade();
  assert.ok((await ask(own.port)) > 0);
  assert.equal(await upgrade, 0);
  await own.rig.until("web", isAsleep);
  await verdict(own);
});

/** Parts of procman are killed while a process sleeps, wakes and falls asleep: each client that has connected is served. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { balancerSocket } from "../../src/core/os/balancer-socket.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { busyPorts } from "../../src/core/os/listening-ports.ts";
import { ask, DRAINING_SERVER } from "../support/cluster-rig.ts";
import { folderFor, pointsIn, startRig, successor } from "../support/fault-rig.ts";
import { freePort } from "../support/free-ports.ts";
import { kill } from "../support/marked-processes.ts";
import { eventually, isAlive } from "../support/procman-process.ts";
import { DECIDED, isAsleep, killedAtSteps, type Sleeping } from "../support/sleep-kills.ts";

/** `env`: of the program. `failpoints`: the environment of procman. */
type SleeperOptions = { readonly env?: object; readonly folder?: string; readonly failpoints?: NodeJS.ProcessEnv };

async function sleeping(
  context: TestContext,
  idle: object = {},
  { env = {}, folder = folderFor(context), failpoints = {} }: SleeperOptions = {},
): Promise<Sleeping> {
  const port = await freePort();
  const web = { id: "web", cmd: `exec node ${DRAINING_SERVER}`, autostart: true, env: { LATE: 500, ...env } };
  const processes = [{ ...web, idle: { port, after: 1, ...idle } }];
  const rig = await startRig(context, folder, processes, { env: failpoints });
  await rig.until("web", isAsleep);
  // The load balancer may still be starting. (A connection would wake the process.)
  await eventually(() => busyPorts().has(port) || undefined);
  return { rig, port };
}

const hasRun = ({ pid }: ProcessRecord): boolean => pid !== undefined;

const PARTS = ["keeper", "service", "logger", "everything"] as const;

async function killed({ rig }: Sleeping, part: (typeof PARTS)[number]): Promise<void> {
  const pids = rig.killPart(part);
  assert.ok(pids.length > 0, part);
  if (part === "everything") rig.procman.start();
  else await successor(rig.procman, part, pids);
}

async function verdict({ rig }: Sleeping, part: (typeof PARTS)[number]): Promise<void> {
  assert.deepEqual(await rig.verdict({ loggersKilled: part === "logger" || part === "everything" ? 1 : 0 }), []);
}

for (const part of PARTS) {
  test(`${part} is killed while it sleeps: it sleeps on, and the next client is served`, async (context) => {
    const own = await sleeping(context);
    const before = await own.rig.until("web", isAsleep);
    await killed(own, part);
    const now = await own.rig.until("web", () => true);
    assert.deepEqual(
      [now.status, now.run, now.updated?.slice(0, -5)],
      ["asleep", before.run, before.updated?.slice(0, -5)],
    );
    assert.ok((await ask(own.port)) > 0);
    await own.rig.until("web", isAsleep);
    await verdict(own, part);
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
    await verdict(own, part);
  });

  test(`${part} is killed while it falls asleep: a client that has come meanwhile is served`, async (context) => {
    const own = await sleeping(context, {}, { env: { LATE: 0 } });
    const first = await ask(own.port);
    await own.rig.until("web", ({ status }) => status === "stopping" || status === "asleep");
    await killed(own, part);
    const second = await ask(own.port);
    assert.notEqual(first, second);
    await own.rig.until("web", isAsleep);
    await verdict(own, part);
  });
}

const STEPS = {
  "a wake": [...DECIDED, "keeper.asked", "keeper.forked", "keeper.recorded"],
  "falling asleep": [
    "service.resting",
    ...DECIDED,
    "keeper.signalled",
    "keeper.exited",
    "keeper.over",
    "logger.drained",
  ],
} as const satisfies Record<string, readonly Failpoint[]>;

for (const [name, points] of Object.entries(STEPS))
  test(`procman is killed at each step of ${name}: clients are served, and no run is started twice`, async (context) => {
    const folder = folderFor(context);
    const { env: failpoints, arm, reached } = pointsIn(folder, points);
    const own = await sleeping(context, {}, { env: { LATE: 0 }, folder, failpoints });
    const kills = await killedAtSteps(own, name, { points, arm, reached });
    await own.rig.until("web", isAsleep);
    assert.deepEqual(await own.rig.verdict({ kills, loggersKilled: name === "a wake" ? 0 : 1 }), []);
  });

/** Pid of the balancer that the control socket leads to. */
async function balancerPid({ rig }: Sleeping): Promise<number> {
  const socket = connect(balancerSocket(rig.procman.stateDir)).setEncoding("utf8");
  const [line] = (await once(socket, "data")) as [string];
  socket.destroy();
  return (JSON.parse(line.split("\n", 1)[0] ?? "") as { readonly pid: number }).pid;
}

test("the load balancer is killed while it sleeps: it sleeps on, and a client of the next one is served", async (context) => {
  const own = await sleeping(context);
  const pid = await balancerPid(own);
  assert.ok(kill(pid));
  await eventually(() => (isAlive(pid) ? undefined : true));
  const answer = await eventually(async () => {
    try {
      return await ask(own.port);
    } catch {
      return undefined;
    }
  });
  assert.ok(answer > 0);
  await own.rig.until("web", isAsleep);
  await verdict(own, "keeper");
});

test("an upgrade while it sleeps and while a client waits: the old load balancer's client wakes it, and is served", async (context) => {
  const own = await sleeping(context, { wakeOn: "data" });
  const client = connect(own.port, "127.0.0.1");
  await once(client, "connect");
  assert.equal(await own.rig.procman.upgrade(), 0);
  assert.equal((await own.rig.until("web", () => true)).status, "asleep");
  client.setEncoding("utf8").write("GET / HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n");
  const [answer] = (await once(client, "data")) as [string];
  assert.match(answer, /^HTTP\/1\.1 200 OK/);
  client.destroy();
  await own.rig.until("web", isAsleep);
  assert.ok((await ask(own.port)) > 0);
  await verdict(own, "keeper");
});

/** Clusters of real servers under the loads of the simulation, in a twentieth of the time and with a tenth of the clients. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CURVES } from "../../src/core/autoscale/load-curves.ts";
import { SIMULATED, simulate } from "../../src/core/autoscale/simulation.ts";
import { api, DRAINING_SERVER } from "../support/cluster-rig.ts";
import { CurveClients } from "../support/curve-clients.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { startProcman } from "../support/procman-process.ts";

const FASTER = 20;
const FEWER = 10;
const SECONDS = Number(process.env.PROCMAN_CURVE_SECONDS ?? 360);
/** Of a real second: what procman looks at once a second takes at least that long. */
const AFTER = { upAfter: 1, downAfter: SIMULATED.policy.downAfterMs / 1_000 / FASTER };
const { min, max } = SIMULATED.policy;

const curves = CURVES.filter(({ name }) => ["noise", "step", "ramp", "saw, 20 min", "flash crowd"].includes(name));

test(`${curves.length} clusters follow loads for ${SECONDS} s: no client is lost, and none grows and shrinks in turn`, async (context) => {
  const places = await Promise.all(
    curves.map(async ({ at, name }, index) => {
      const [port, startPort] = [await freePort(), await freeRange(max)];
      const load = (ms: number): number => at((ms / 1_000) * FASTER) / FEWER;
      return { id: `web${index}`, name, port, startPort, load, clients: new CurveClients(port) };
    }),
  );
  const running = await startProcman(
    context,
    places.map(({ id, port, startPort }) => ({
      id,
      cmd: `node ${DRAINING_SERVER}`,
      autostart: true,
      restart: "always",
      cluster: { instances: min, startPort, commonPort: port, maxConnections: SIMULATED.capacity / FEWER },
      scale: { min, max, targets: { connections: 40 / FEWER, waiting: 1 }, ...AFTER },
    })),
  );
  const client = await api({ procman: running });
  const changes: { readonly id: string; readonly at: number; readonly from: number; readonly to: number }[] = [];
  const follow = new AbortController();
  const events = (async () => {
    for await (const event of client.events(undefined, follow.signal, ["process.scaled"]))
      if (event.type === "process.scaled" && event.from !== event.to)
        changes.push({ id: event.process, at: Date.parse(event.time), from: event.from, to: event.to });
  })().catch((error: Error) => assert.ok(follow.signal.aborted, error.message));
  await Promise.all(places.map(({ clients, load }) => clients.follow(load, SECONDS * 1_000)));
  follow.abort();
  await events;
  for (const { id, name, clients, load } of places) {
    const own = changes.filter((each) => each.id === id);
    const curve = { name, seconds: SECONDS, at: (second: number) => load(second * 1_000) };
    const policy = {
      ...SIMULATED.policy,
      targets: SIMULATED.policy.targets.map((target) => ({
        ...target,
        limit: target.name === "waiting" ? 1 : target.limit / FEWER,
        ...(target.capacity !== undefined && { capacity: target.capacity / FEWER }),
      })),
      upAfterMs: AFTER.upAfter * 1_000,
      downAfterMs: AFTER.downAfter * 1_000,
    };
    const simulated = simulate(curve, {
      policy,
      instances: min,
      startSeconds: 1,
      capacity: SIMULATED.capacity / FEWER,
    });
    const expected = (simulated.decisionsAnHour * SECONDS) / 3_600;
    const most = Math.max(min, ...own.map(({ to }) => to));
    const mean = clients.waitedMs / clients.served;
    console.error(
      `${name}: ${own.length} changes (simulated ${expected.toFixed(0)}), most ${most} (${simulated.most}), ${clients.served} clients, mean wait ${mean.toFixed(0)} ms, longest ${clients.longestMs.toFixed(0)} ms`,
    );
    assert.deepEqual(clients.failures, [], name);
    assert.ok(clients.served > 0, name);
    assert.ok(Math.abs(most - simulated.most) <= 1, `${name}: ${most} instances, simulated ${simulated.most}`);
    assert.ok(own.length <= 2 * expected + 2, `${name}: ${own.length} changes, simulated ${expected}`);
    own.forEach(({ at, from, to }, index) => {
      const last = own[index - 1];
      // Growth waits for nothing but the load; to shrink, the time has to pass since the growth.
      if (last !== undefined && to < from && last.to > last.from)
        assert.ok(at - last.at >= AFTER.downAfter * 1_000 - 1_500, `${name}: shrinks ${at - last.at} ms after growth`);
    });
  }
});

/** A cluster whose instances are all unhealthy, as their database is away: docs/guide/supervision.md. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { procman as cli } from "../support/cli.ts";
import { api, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { startProcman } from "../support/procman-process.ts";
import { writeWhole } from "../support/whole-file.ts";

const SERVER = fileURLToPath(new URL("../programs/serve-release.cjs", import.meta.url));
const IDS = ["web-1", "web-2", "web-3"];

for (const [what, ready] of [
  ["without a readiness check", undefined],
  ["with the same address as their readiness check", { http: "http://127.0.0.1:{port}/health", timeout: 1 }],
] as const)
  test(`instances that are all unhealthy, ${what}, go on and get connections; one at most is restarted, and status and why say so`, async (context) => {
    const [commonPort, startPort] = [await freePort(), await freeRange()];
    const procman = await startProcman(context, [
      {
        ...{ id: "web", cmd: `exec node ${SERVER}`, restart: "always", ...(ready && { ready }) },
        health: { http: "http://127.0.0.1:{port}/health", interval: 0.3, failures: 2 },
        cluster: { instances: 3, startPort, commonPort },
      },
    ]);
    const client = await api({ procman });
    const sick = (isSick: boolean): void =>
      writeWhole(join(procman.folder, "release.json"), JSON.stringify({ sick: isSick }));
    sick(false);
    await client.act("web", "start", { waitSeconds: 30 });
    const load = new LoadGenerator(context, commonPort, 4);
    sick(true);
    const isHeld = ({ reason }: { readonly reason: string }): boolean =>
      reason.includes("not healthy (answers with status 500), and not restarted: no other instance is healthy");
    const held = async (): Promise<readonly ProcessRecord[]> =>
      ((await client.process("web")).instances ?? []).filter(isHeld);
    const count = ready === undefined ? 3 : 2;
    for (const end = performance.now() + 30_000; (await held()).length < count; ) assert.ok(performance.now() < end);
    const [{ id: first = "" } = {}] = await held();
    await waitForRecord(client, first, isHeld);
    const requests = load.requests;
    await waitForRecord(client, first, () => load.requests > requests + 100);
    assert.match((await cli(procman.folder, ["why", first])).out, /not restarted: no other instance is healthy/);
    sick(false);
    const began = performance.now();
    for (const id of IDS) await waitForRecord(client, id, (record) => isAccepting(record) && record.healthy === true);
    assert.ok(performance.now() - began < 10_000, "no back-off outlives the cause");
    await load.stop();
    assert.deepEqual(load.errors, []);
    const { instances = [] } = await client.process("web");
    assert.equal(instances.filter(({ restarts }) => restarts > 0).length, 1, "the first that was found unhealthy");
  });

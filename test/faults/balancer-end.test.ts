/** A balancer whose keeper was killed ends with procman, too: nothing but the journal knows of it then. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type FaultRig, folderFor, startRig } from "../support/fault-rig.ts";
import { files } from "../support/fault-verdict.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { isPart } from "../support/killable-procman.ts";
import { kill, marked } from "../support/marked-processes.ts";
import { eventually, processExit } from "../support/procman-process.ts";

const SERVER = fileURLToPath(new URL("../programs/drain-on-sigterm.js", import.meta.url));

/** With a balancer; `slow` takes its time to end. */
async function rigWithBalancer(context: TestContext): Promise<FaultRig> {
  const cluster = { instances: 1, startPort: await freeRange(1), commonPort: await freePort() };
  const processes = [
    { id: "web", cmd: `${process.execPath} ${SERVER}`, autostart: true, cluster, logger: { stdout: "logs/web.log" } },
    { id: "slow", cmd: "trap '' TERM; echo up; sleep 2 & wait; wait", autostart: true, terminateTimeout: 1 },
  ];
  const rig = await startRig(context, folderFor(context), processes);
  await rig.until("web", ({ instances = [] }) => instances[0]?.backend?.accepting === true);
  return rig;
}

const balancers = ({ procman }: FaultRig) => marked(procman.mark).filter(({ command }) => isPart("balancer", command));

test("keeper and service are killed while everything ends: the next keeper ends the balancer, and leaves nothing", async (context) => {
  const rig = await rigWithBalancer(context);
  const { keeper, service } = rig.procman.parts();
  assert.equal((await rig.procman.api.ask("POST", "/terminate"))?.status, 202);
  for (const pid of [...keeper, ...service]) kill(pid);
  assert.deepEqual(await rig.procman.end(), []);
  assert.deepEqual(files(rig.folder, rig.procman.stateDir), []);
});

test("all is killed, and the cluster is no longer in the file: the next procman ends its balancer", async (context) => {
  const rig = await rigWithBalancer(context);
  for (const pid of rig.killPart("everything")) await processExit(pid);
  writeFileSync(
    join(rig.folder, "procman.json"),
    JSON.stringify({ name: "load", processes: [{ id: "slow", cmd: "sleep 1000" }] }),
  );
  rig.procman.start();
  await rig.records();
  await eventually(() => balancers(rig).length === 0 || undefined);
  assert.deepEqual(await rig.procman.end(), []);
});

/** The HAProxy of docs/guide/clusters.md in front of a cluster whose program closes its idle connections when it stops. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { api, ask, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { startProcman } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

const SERVER = `const server = require("node:http").createServer((request, response) => setTimeout(() => response.end(process.pid + "\\n"), 5));
server.listen(process.env.PORT, "127.0.0.1");
process.on("SIGTERM", () => {
  server.close(() => process.exit());
  server.closeIdleConnections();
});`;

test("no request is lost in a rolling restart, on kept connections neither", async (context) => {
  if (isMissing(context, "haproxy")) return;
  const folder = mkdtempSync(join(tmpdir(), "procman-haproxy-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const [common, startPort, port] = [await freePort(), await freeRange(), await freePort()];
  const [, config = ""] =
    /```haproxy\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, "docs/guide/clusters.md"), "utf8")) ?? [];
  assert.match(config, /:8000[\s\S]*:3000/);
  writeFileSync(join(folder, "haproxy.cfg"), config.replace(":8000", `:${port}`).replace(":3000", `:${common}`));
  const haproxy = spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: "ignore" });
  context.after(async () => {
    haproxy.kill("SIGKILL");
    await once(haproxy, "exit");
  });
  writeFileSync(join(folder, "server.cjs"), SERVER);
  const cmd = `exec node ${join(folder, "server.cjs")}`;
  const shape = { instances: 3, startPort, commonPort: common };
  const procman = await startProcman(context, [{ id: "web", cmd, autostart: true, restart: "always", cluster: shape }]);
  const client = await api({ procman });
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  while (!(await ask(port).catch(() => 0))) await new Promise(setImmediate);
  const load = new LoadGenerator(context, port, 30);
  for (let turn = 0; turn < 2; turn++) await client.act("web", "restart", { waitSeconds: 60 });
  await load.stop();
  // HAProxy chooses an instance for each request.
  assert.deepEqual(
    load.errors.filter((error) => !error.endsWith("answer on one connection")),
    [],
  );
  assert.ok(load.pids.size >= 6, `${load.requests} requests, ${load.pids.size} pids`);
});

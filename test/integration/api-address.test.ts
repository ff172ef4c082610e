/** The port of the API belongs to procman as long as it runs: the keeper holds the listening socket. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { askAllTheTime, bindAllTheTime } from "../support/api-clients.ts";
import { freePort, isFree } from "../support/free-ports.ts";
import { eventually, type Procman, startProcman } from "../support/procman-process.ts";

const sleeper = { id: "sleeper", cmd: "sleep 1000", autostart: true } as const;

/** The published address, once it is that of another service than `before`. */
function endpoint(procman: Procman, before?: number): Promise<Endpoint> {
  return eventually(() => {
    const file = join(procman.folder, ".procman/procman/endpoint.json");
    const found = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
    return found === undefined || found.pid === before ? undefined : found;
  });
}

test("nobody gets the port while the service is killed again and again, and no client is refused", async (context) => {
  const port = await freePort();
  const procman = await startProcman(context, [sleeper], { config: { api: { port } } });
  let { pid } = await endpoint(procman);
  const [stopAsking, stopBinding] = [askAllTheTime(context, port), await bindAllTheTime(context, port)];
  for (let kills = 0; kills < 3; kills++) {
    process.kill(pid, "SIGKILL");
    ({ pid } = await endpoint(procman, pid));
  }
  const { cut = 0, ...outcomes } = await stopAsking();
  assert.equal(await stopBinding(), "trying\n");
  assert.deepEqual(Object.keys(outcomes), ["200"]);
  assert.ok(cut <= 3, `${cut} requests were cut off by 3 kills`);
});

test("the port outlives a killed keeper, and is free when procman has ended", async (context) => {
  const port = await freePort();
  const procman = await startProcman(context, [sleeper], { config: { api: { port } } });
  const { pid } = await endpoint(procman);
  const [stopAsking, stopBinding] = [askAllTheTime(context, port), await bindAllTheTime(context, port)];
  const before = procman.pid;
  process.kill(before, "SIGKILL");
  await procman.successor(before);
  const next = await endpoint(procman, pid);
  process.kill(next.pid, "SIGKILL");
  await endpoint(procman, next.pid);
  const { cut: _cut, ...outcomes } = await stopAsking();
  assert.equal(await stopBinding(), "trying\n");
  assert.deepEqual(Object.keys(outcomes), ["200"]);
  await procman.stopHolder();
  assert.ok(await isFree(port));
});

test("a port that procman has chosen stays the same over kills of the service", async (context) => {
  const procman = await startProcman(context, [sleeper]);
  const { pid, port } = await endpoint(procman);
  const stopBinding = await bindAllTheTime(context, port);
  process.kill(pid, "SIGKILL");
  assert.equal((await endpoint(procman, pid)).port, port);
  assert.equal(await stopBinding(), "trying\n");
});

test("a service that is restarted with another port in the file frees the old one", async (context) => {
  const [first, second] = [await freePort(), await freePort()];
  const procman = await startProcman(context, [sleeper], { config: { api: { port: first } } });
  const { pid } = await endpoint(procman);
  for (const [hostname, port] of [
    ["127.0.0.1", second],
    ["0.0.0.0", second],
  ] as const) {
    writeFileSync(
      join(procman.folder, "procman.json"),
      JSON.stringify({ processes: [sleeper], api: { hostname, port } }),
    );
    const before = await endpoint(procman);
    process.kill(before.pid, "SIGKILL");
    const now = await endpoint(procman, before.pid);
    assert.deepEqual([now.hostname, now.port, now.problem], [hostname, port, undefined]);
    assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
  }
  while (!(await isFree(first))) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.notEqual((await endpoint(procman)).pid, pid);
});

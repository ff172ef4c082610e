/** The port of the API against a program of another user that wants it, over kills and upgrades of the service. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { askAllTheTime, bindAllTheTime } from "../support/api-clients.ts";
import { procman as command } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { otherUser } from "../support/other-user.ts";
import { eventually, type Procman, startProcman } from "../support/procman-process.ts";

const ROUNDS = 20;
const SHORT_LIVES = 5;
const STABLE_MS = 2_500;

function endpoint(procman: Procman, before?: number): Promise<Endpoint> {
  return eventually(() => {
    const file = join(procman.folder, ".procman/procman/endpoint.json");
    const found = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
    return found === undefined || found.pid === before ? undefined : found;
  });
}

test("over 20 kills and 20 upgrades of the service no request is refused, and another user never gets the port", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const port = await freePort();
  const processes = [{ id: "sleeper", cmd: "sleep 1000", autostart: true }];
  const procman = await startProcman(context, processes, { config: { api: { port } } });
  let { pid } = await endpoint(procman);
  const launcher = ["setpriv", `--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, "--clear-groups"];
  const stopBinding = await bindAllTheTime(context, port, launcher);
  const stopFirst = askAllTheTime(context, port);
  for (let round = 0; round < ROUNDS; round++) {
    const { code, err } = await command(procman.folder, ["upgrade"]);
    assert.equal(code, 0, err);
    ({ pid } = await endpoint(procman, pid));
  }
  assert.deepEqual(Object.keys(await stopFirst()), ["200"], "no request is lost by an upgrade");
  const stopSecond = askAllTheTime(context, port);
  for (let round = 0; round < ROUNDS; round++) {
    // After ten short lives in a row the keeper would leave it down.
    if (round % SHORT_LIVES === 0) await new Promise((resolve) => setTimeout(resolve, STABLE_MS));
    process.kill(pid, "SIGKILL");
    ({ pid } = await endpoint(procman, pid));
  }
  const { cut = 0, ...outcomes } = await stopSecond();
  assert.deepEqual(Object.keys(outcomes), ["200"]);
  assert.ok(cut <= ROUNDS, `${cut} requests were cut off by ${ROUNDS} kills`);
  assert.equal(await stopBinding(), "trying\n");
});

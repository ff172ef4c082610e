/** Commands while the service is away: at its start, during a restart, or down until it is upgraded. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { processStat } from "../../src/core/os/process-stat.ts";
import { homeOf, keeperIn, procman } from "../support/cli.ts";
import { fakeKeeper } from "../support/fake-keeper.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";

const RECORD = {
  id: "web",
  type: "process",
  status: "running",
  blocked: false,
  restarts: 0,
  reason: "is served by a test",
};

/** An API of this test, in place of a service. */
async function api(context: TestContext): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((_request, response) => response.end(JSON.stringify([RECORD])));
  context.after(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}

/** Makes this test the service at this port. */
function announce(state: string, keeper: number, port: number): void {
  const path = join(state, "endpoint.json");
  const startTime = processStat(process.pid)?.startTime ?? "";
  writeFileSync(join(state, "secret"), Buffer.alloc(32, "secret"));
  writeFileSync(
    `${path}.tmp`,
    JSON.stringify({ hostname: "127.0.0.1", port, pid: process.pid, startTime, keeper, version: "1.0.0" }),
  );
  renameSync(`${path}.tmp`, path);
}

test("without a procman a command says so at once, with exit code 69", async (context) => {
  const { folder, state } = homeOf(context, []);
  for (const command of ["status", "terminate", "upgrade"]) {
    const { code, err } = await procman(folder, [command]);
    assert.deepEqual(
      { code, err },
      { code: 69, err: `procman: Cannot reach procman: none is running for ${state}. Start it with "procman run"\n` },
    );
  }
});

test("an empty endpoint file after a power cut, or an impossible state folder, means that no procman runs", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: "true" }]);
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "endpoint.json"), "");
  for (const env of [{}, { PROCMAN_STATE_DIR: "/dev/null" }])
    for (const args of [["status"], ["why", "web"], ["restart", "web"], ["terminate"], ["upgrade"]]) {
      const { code, err } = await procman(folder, args, env);
      assert.equal(code, 69, `${args}: ${err}`);
      assert.match(err, /^procman: Cannot reach procman: none is running for .*\. Start it with "procman run"\n$/);
    }
  assert.deepEqual(await procman(folder, ["logs", "web"], { PROCMAN_STATE_DIR: "/dev/null" }), {
    code: 0,
    out: "",
    err: "procman: no matching log entries\n",
  });
});

test("after a kill of the keeper a command waits for the next one, as docs/reference/reliability.md begins", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  await procman(folder, ["run", "--detach"]);
  const pids = (out: string): readonly number[] =>
    (JSON.parse(out) as readonly { readonly pid: number }[]).map(({ pid }) => pid);
  const before = pids((await procman(folder, ["status", "--json"])).out);
  const kill = (): number => {
    const keeper = keeperIn(state);
    assert.ok(keeper > 1);
    process.kill(keeper, "SIGKILL");
    return keeper;
  };
  const killed = kill();
  const { code, out, err } = await procman(folder, ["status", "--json"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(pids(out), before);
  assert.notEqual(keeperIn(state), killed);
  const second = kill();
  const ended = await procman(folder, ["terminate"]);
  assert.deepEqual([ended.code, ended.out], [0, "test has ended, with its process\n"], ended.err);
  assert.deepEqual([keeperIn(state), isAlive(second), before.some(isAlive)], [0, false, false]);
});

test("if the service stays away, after three seconds the command prints the keeper's pid and the remedies", async (context) => {
  const { folder, state } = homeOf(context, []);
  const { pid } = await fakeKeeper(context, state);
  const asked = performance.now();
  const { code, err } = await procman(folder, ["status"]);
  const waited = performance.now() - asked;
  assert.equal(code, 69);
  assert.match(
    err,
    new RegExp(
      `its keeper \\(pid ${pid}\\) and the processes are running, but its service is down: .*"procman upgrade" starts it again, "procman terminate" stops everything\\n$`,
    ),
  );
  assert.ok(waited >= 3_000, `${waited} ms`);
});

test("if the keeper has given up its service, the command prints the reason without waiting", async (context) => {
  const { folder, state } = homeOf(context, []);
  await fakeKeeper(context, state);
  writeFileSync(join(state, "service-down"), "it ended 11 times in a row (exit code 70)\n");
  const asked = performance.now();
  const { code, err } = await procman(folder, ["status"]);
  const tookMs = performance.now() - asked;
  assertWithin(3_000, tookMs, "the command");
  assert.equal(code, 69);
  assert.match(err, /its service is down: it ended 11 times in a row \(exit code 70\); "procman upgrade"/);
});

test("a service that starts while the command waits answers it", async (context) => {
  const { folder, state } = homeOf(context, []);
  const { pid } = await fakeKeeper(context, state);
  const { port } = await api(context);
  const status = procman(folder, ["status"]);
  setTimeout(() => announce(state, pid, port), 500);
  const { code, out, err } = await status;
  assert.equal(code, 0, err);
  assert.match(out, /^web +running .*is served by a test/m);
});

test("if the address in the endpoint file is dead, the command waits for the new one", async (context) => {
  const { folder, state } = homeOf(context, []);
  const { pid } = await fakeKeeper(context, state);
  const { server, port } = await api(context);
  const old = await api(context);
  old.server.close();
  await once(old.server, "close");
  announce(state, pid, old.port);
  const status = procman(folder, ["status"]);
  setTimeout(() => announce(state, pid, port), 500);
  const { code, out, err } = await status;
  assert.equal(code, 0, err);
  assert.match(out, /is served by a test/);
  server.close();
  const later = await procman(folder, ["status"]);
  assert.equal(later.code, 69);
  assert.match(later.err, /its service is down: connect ECONNREFUSED/);
});

test("`status` right after a kill of the service is answered by the next one, with the same processes", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  const started = await procman(folder, ["run", "--detach"]);
  const line = /^web +running +\d+/m.exec(started.out)?.[0] ?? "";
  assert.ok(line !== "", started.out);
  for (let kills = 1; kills <= 3; kills += 1) {
    const endpoint = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as { readonly pid: number };
    assert.ok(endpoint.pid > 1);
    process.kill(endpoint.pid, "SIGKILL");
    await processExit(endpoint.pid);
    const { code, out, err } = await procman(folder, ["status"]);
    assert.equal(code, 0, err);
    assert.ok(out.includes(line), out);
  }
  assert.equal((await procman(folder, ["terminate"])).code, 0);
});

test("`status` right after `run` waits for the first answer", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  const running = procman(folder, ["run"]);
  await eventually(() => (keeperIn(state) > 0 ? true : undefined));
  const { code, out, err } = await procman(folder, ["status"]);
  assert.equal(code, 0, err);
  assert.match(out, /^web +running/m);
  await procman(folder, ["terminate"]);
  assert.equal((await running).code, 0);
});

test("4 `terminate` without a service reaches the keeper, and waits for its end", async (context) => {
  const { folder, state } = homeOf(context, []);
  const { pid } = await fakeKeeper(context, state);
  writeFileSync(join(state, "service-down"), "it ended 11 times in a row\n");
  const { code, out, err } = await procman(folder, ["terminate"]);
  assert.deepEqual({ code, out }, { code: 0, out: "test has ended, with all its processes\n" });
  assert.match(err, /its API doesn't answer; its keeper ends everything/);
  assert.ok(!isAlive(pid));
  assert.ok(!existsSync(join(state, "lock.1")));
});

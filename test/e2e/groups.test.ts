/** Groups, and tokens that are limited to them: docs/guide/processes.md, docs/reference/security.md. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "../../src/client/client.ts";
import { fetchSend } from "../../src/client/transport.ts";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { eventually } from "../support/procman-process.ts";

const DB = { id: "db", ...SLEEPER, groups: "backend" };
const API = {
  id: "api",
  cmd: 'echo "api is up"; exec sleep 1000',
  autostart: true,
  groups: ["backend", "public"],
  dependsOn: ["db"],
};
const WEB = { id: "web", ...SLEEPER, cluster: { instances: 2 }, groups: "public" };
const ALONE = { id: "hidden-one", cmd: 'echo "hidden words"; exec sleep 1000', autostart: true, dependsOn: ["api"] };

const PROCESSES = [DB, API, WEB, ALONE];

async function startAll(context: TestContext): Promise<{ readonly folder: string; readonly state: string }> {
  const home = homeOf(context, PROCESSES);
  const { code, err } = await procman(home.folder, ["run", "--detach", "--wait"]);
  assert.equal(code, 0, err);
  return home;
}

async function pidsOf(
  folder: string,
  ...ids: readonly string[]
): Promise<Readonly<Record<string, number | undefined>>> {
  const records = JSON.parse((await procman(folder, ["status", ...ids, "--json"])).out) as readonly ProcessRecord[];
  return Object.fromEntries(records.flatMap((record) => record.instances ?? [record]).map(({ id, pid }) => [id, pid]));
}

test("commands take group:NAME: status, logs, stop and start in order of dependencies, restart, signal, block, next, why", async (context) => {
  const { folder } = await startAll(context);
  const before = await pidsOf(folder);
  assert.deepEqual(Object.keys(await pidsOf(folder, "group:public")), ["api", "web-1", "web-2"]);
  assert.equal((await procman(folder, ["status", "group:backend"])).code, 0);
  const { out } = await procman(folder, ["logs", "group:backend", "--category", "stdout"]);
  assert.match(out, /api +\| api is up/);
  assert.doesNotMatch(out, /hidden/);
  const stopped = await procman(folder, ["stop", "group:backend"]);
  assert.match(stopped.out, /^db: stopped .*\napi: stopped .*\n$/);
  const lines = (await procman(folder, ["logs", "group:backend", "--category", "lifecycle"])).out;
  assert.match(lines, /api +\| stopped .*\n[\s\S]*db +\| stopped /, "its dependents are stopped first");
  assert.equal((await procman(folder, ["status", "group:backend"])).code, 0, "a stop by hand is not a failure");
  assert.equal((await procman(folder, ["status", "db"])).code, 3);
  assert.equal((await procman(folder, ["start", "group:backend"])).code, 0);
  assert.equal((await procman(folder, ["restart", "group:public"])).code, 0);
  const after = await pidsOf(folder);
  assert.ok(["db", "api", "web-1", "web-2"].every((id) => after[id] !== undefined && after[id] !== before[id]));
  assert.equal(after["hidden-one"], before["hidden-one"]);
  assert.match(
    (await procman(folder, ["signal", "CONT", "group:public"])).out,
    /^api: got SIGCONT .*\nweb-1: .*\nweb-2: .*\n$/,
  );
  assert.match((await procman(folder, ["block", "group:public"])).out, /^api: running, blocked .*\nweb-1/);
  assert.equal((await procman(folder, ["unblock", "group:public"])).code, 0);
  assert.equal((await procman(folder, ["next", "group:public"])).code, 0);
  assert.match((await procman(folder, ["why", "group:public"])).out, /api.*\n[\s\S]*web-2/);
  const unknown = await procman(folder, ["stop", "group:backnd"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /Cannot find group "backnd": no process is in it\. Did you mean "group:backend"\?/);
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  assert.match(
    (await procman(folder, ["logs", "group:backend", "--category", "stdout"])).out,
    /api is up/,
    "from the files",
  );
  assert.equal((await procman(folder, ["why", "group:public"])).code, 69);
});

test("run group:NAME starts the members only, with what they depend on", async (context) => {
  const { folder } = homeOf(context, PROCESSES);
  assert.equal((await procman(folder, ["run", "group:public", "--detach", "--wait"])).code, 0);
  const pids = await pidsOf(folder);
  assert.deepEqual(
    Object.keys(pids).filter((id) => pids[id] !== undefined),
    ["db", "api", "web-1", "web-2"],
  );
});

/** Who a token is, for requests. */
async function clientOf(folder: string, state: string, ...options: readonly string[]): Promise<Client> {
  const token = (await procman(folder, ["token", "--consumer", "team", ...options])).out.trim();
  const { hostname, port } = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint;
  return new Client(fetchSend({ url: `http://${hostname}:${port}`, token }));
}

test("5 a limited token learns of no other process, on a real procman, and acts on none", async (context) => {
  const { folder, state } = await startAll(context);
  const team = await clientOf(folder, state, "--group", "backend");
  const before = await pidsOf(folder);
  const stop = new AbortController();
  context.after(() => stop.abort());
  const seen: string[] = [];
  const collect = async (stream: AsyncIterable<unknown>): Promise<void> => {
    for await (const item of stream) seen.push(JSON.stringify(item));
  };
  const streams = [
    collect(team.events("0", stop.signal, ["process.state", "process.incident", "service.state", "log"])),
    collect(team.follow({}, stop.signal)),
  ];
  const own = await clientOf(folder, state);
  await own.act("hidden-one", "restart", { waitSeconds: 30 });
  await own.act("all", "stop", { waitSeconds: 30 });
  await own.act("all", "start", { waitSeconds: 30 });
  await team.act("all", "restart", { waitSeconds: 30 });
  const answers: unknown[] = [
    await team.processes(),
    await team.state(),
    await team.prometheus(),
    await team.process("all"),
  ];
  for (const query of [
    { limit: 10_000 },
    { search: "hidden" },
    { processes: ["hidden-one"] },
    { categories: ["service", "api"] as const },
  ])
    answers.push(await team.logs(query));
  for (const id of ["db", "api", "all"]) answers.push(await team.incidents(id), await team.metrics(id, {}));
  await eventually(() => (seen.some((text) => text.includes("api is up")) ? true : undefined));
  const text = JSON.stringify(answers) + seen.join();
  assert.doesNotMatch(text, /hidden|web|public-/);
  assert.match(text, /another process/, "the dependent of api was stopped first");
  for (const id of ["web", "hidden-one"]) await assert.rejects(team.act(id, "stop"), { code: "process-unknown" });
  await own.act("all", "stop", { waitSeconds: 30 });
  const one = await clientOf(folder, state, "--process", "api");
  await assert.rejects(one.act("api", "start", { withDependencies: true }), { code: "process-foreign" });
  await own.act("all", "start", { waitSeconds: 30 });
  assert.deepEqual(
    (await team.process("group:public")).instances?.map(({ id }) => id),
    ["api"],
    "the member that it sees",
  );
  await assert.rejects(team.plan(), { code: "scope-missing" });
  await assert.rejects(team.reload(), { code: "scope-missing" });
  await assert.rejects(team.terminate(), { code: "scope-missing" });
  const after = await pidsOf(folder);
  assert.ok(after.db !== before.db && after["web-1"] !== undefined);
  stop.abort();
  await Promise.allSettled(streams);
});

test("5 a reload that changes groups restarts nothing and changes what a limited token sees, also in open streams and after a kill of the service", async (context) => {
  const { folder, state } = await startAll(context);
  const team = await clientOf(folder, state, "--group", "backend", "--scope", "read,control");
  const stop = new AbortController();
  context.after(() => stop.abort());
  const seen: string[] = [];
  const follow = (async () => {
    for await (const item of team.follow({ processes: ["group:backend"], limit: 10_000 }, stop.signal))
      seen.push(JSON.stringify(item));
  })();
  await eventually(() => (seen.some((text) => text.includes('"db"')) ? true : undefined));
  const before = await pidsOf(folder);
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({
      name: "test",
      processes: [{ ...DB, groups: "stores" }, API, { ...WEB, groups: "backend" }, ALONE],
    }),
  );
  assert.equal((await procman(folder, ["reload"])).code, 0);
  assert.deepEqual(await pidsOf(folder), before);
  const idsSeen = async (): Promise<readonly string[]> => (await team.processes()).map(({ id }) => id);
  assert.deepEqual(await idsSeen(), ["api", "web"]);
  await assert.rejects(team.act("db", "stop"), { code: "process-unknown" });
  const count = seen.length;
  await (await clientOf(folder, state)).act("db", "restart", { waitSeconds: 30 });
  await (await clientOf(folder, state)).act("web-2", "restart", { waitSeconds: 30 });
  await eventually(() => (seen.slice(count).some((text) => text.includes('"web-2"')) ? true : undefined));
  assert.ok(!seen.slice(count).some((text) => text.includes('"db"')), seen.slice(count).join("\n"));
  stop.abort();
  await follow.catch(() => undefined);
  const { pid } = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint;
  process.kill(pid, "SIGKILL");
  assert.equal((await procman(folder, ["status"])).code, 0);
  assert.deepEqual(await idsSeen(), ["api", "web"]);
});

test("procman token limits: names are checked, admin is refused, --json shows them", async (context) => {
  const { folder } = homeOf(context, PROCESSES);
  const token = (...args: readonly string[]) => procman(folder, ["token", "--consumer", "team", ...args]);
  const { out, err } = await token("--process", "web-2,db", "--group", "public", "--json");
  const answer = JSON.parse(out) as Readonly<Record<string, unknown>>;
  assert.deepEqual(
    [answer.processes, answer.groups, answer.scopes],
    [["web-2", "db"], ["public"], ["read", "control", "log", "telemetry"]],
  );
  assert.match(err, /may see, control and write for these processes/);
  for (const [args, message] of [
    [["--group", "publc"], /Cannot find group "publc".*Did you mean "group:public"/],
    [["--process", "wbe"], /Cannot find process "wbe".*Did you mean "web"/],
    [["--process", "db", "--scope", "read,admin"], /"admin" is for all of procman/],
    [["--process", ","], /at least one name/],
  ] as const) {
    const refused = await token(...args);
    assert.ok(refused.code !== 0 && refused.out === "", args.join());
    assert.match(refused.err, message);
  }
});

/** `procman show`: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { DefinitionRecord } from "../../src/core/contract/definition-record.ts";
import { homeOf, procman } from "../support/cli.ts";
import { isAlive, processExit, startProcman } from "../support/procman-process.ts";

const WEB = { id: "web", cmd: "sleep 1000", autostart: true, groups: "front", env: { LEVEL: "2", API_KEY: "s3cret" } };

test("show says how a process is run, without secrets, and what of the file is not applied yet", async (context) => {
  const { folder, state } = homeOf(context, [WEB, { id: "pair", cmd: "sleep 1000", cluster: { instances: 2 } }]);
  const past = await procman(folder, ["show", "web"]);
  assert.deepEqual(
    [past.code, past.err],
    [69, `procman: Cannot reach procman: none is running for ${state}. Start it with "procman run"\n`],
  );
  const file = join(folder, "procman.json");
  assert.ok(
    past.out.startsWith(`procman is not running, and nothing of it runs; ${file} says this about web.\n\nprocess `),
    past.out,
  );
  await procman(folder, ["run", "--detach"]);
  const { out, code, err } = await procman(folder, ["show", "web"]);
  assert.deepEqual([code, err], [0, ""]);
  assert.ok(past.out.endsWith(`\n\n${out}`), "the same as when it runs");
  assert.match(out, /^process +web\ngroups +front\ncommand +sleep 1000\nshell +no\nfolder +\//);
  assert.match(out, /^variable +LEVEL=2\nvariable +API_KEY \(hidden\)$/m);
  assert.doesNotMatch(out, /s3cret|not applied/);
  const records = JSON.parse((await procman(folder, ["show", "pair", "--json"])).out) as readonly DefinitionRecord[];
  assert.deepEqual(
    records.map(({ process, cluster }) => [process, cluster]),
    [
      ["pair-1", "pair"],
      ["pair-2", "pair"],
    ],
  );
  assert.deepEqual(
    records.map(({ written }) => written?.text),
    Array(2).fill('{"id":"pair","cmd":"sleep 1000","cluster":{"instances":2}}'),
  );
  assert.match(out, /^written in +\/\S+\/procman\.json:1$/m);
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ name: "test", processes: [{ ...WEB, cmd: "sleep 2000" }] }),
  );
  assert.match(
    (await procman(folder, ["show", "web"])).out,
    /^command +sleep 1000\n[\s\S]*^not applied +restart: its cmd has changed$/m,
  );
  writeFileSync(join(folder, "procman.json"), '{ "name": "test", "processes": [{ "id": 7 }] }');
  assert.match(
    (await procman(folder, ["show", "web"])).out,
    /^not applied +the file is not valid; "procman validate" shows why$/m,
  );
  const unknown = await procman(folder, ["show", "wbe"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /Did you mean "web"\?/);
  assert.match((await procman(folder, ["describe", "web"])).err, /procman show ID/);
});

test("without a running procman show reads the file: instances, groups and all, with the problems of an invalid file; a killed keeper's processes may run", async (context) => {
  const { folder, state } = homeOf(context, [
    WEB,
    { id: "pair", cmd: "sleep 1000", pidFile: "{id}.pid", cluster: { instances: 2 } },
  ]);
  const show = async (
    ...args: readonly string[]
  ): Promise<readonly (readonly [id: string, pidFile: string | undefined])[]> => {
    const { code, out } = await procman(folder, ["show", ...args, "--json"]);
    assert.equal(code, 69);
    return (JSON.parse(out) as readonly DefinitionRecord[]).map(({ process, pidFile }) => [process, pidFile]);
  };
  const pair = ["pair-1", "pair-2"].map((id) => [id, join(folder, `${id}.pid`)]);
  assert.deepEqual(await show("pair"), pair);
  assert.deepEqual(await show("pair-2"), pair.slice(1));
  assert.deepEqual(await show("group:front"), [["web", undefined]]);
  assert.deepEqual(await show("all"), [["web", undefined], ...pair]);
  const unknown = await procman(folder, ["show", "par"]);
  assert.deepEqual([unknown.code, unknown.out], [1, ""]);
  assert.match(unknown.err, /^procman: Cannot find process "par": no process has this id\. Did you mean "pair"\?\n$/);
  assert.equal((await procman(folder, ["show", "web", "--name", "nowhere"])).out, "");
  const host = await startProcman(context, [{ id: "job", cmd: "sleep 1000", autostart: true }], {
    args: ["--guarded"],
  });
  const pid = Number(/pid (\d+)/.exec(await host.line(/^job .*started \(pid/))?.[1]);
  context.after(() => isAlive(pid) && process.kill(pid, "SIGKILL"));
  const service = host.helper("service");
  process.kill(host.pid, "SIGKILL");
  await processExit(service);
  const left = await procman(host.folder, ["show", "job"]);
  assert.match(left.out, /^procman is not running; \S+ says this about job\.\n/);
  assert.match(left.err, /its processes may still be running/);
  writeFileSync(join(folder, "procman.json"), '{ "name": "test", "processes": [{ "id": 7 }] }');
  const invalid = await procman(folder, ["show", "web"]);
  assert.deepEqual([invalid.code, invalid.out], [78, ""]);
  assert.match(invalid.err, /procman\.json:1:\d+ processes\[0\]\.id/);
  assert.equal(existsSync(state), false);
});

/** `procman show`: docs/cli.md. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { DefinitionRecord } from "../../src/contract/definition-record.ts";
import { homeOf, procman } from "../support/cli.ts";

const WEB = { id: "web", cmd: "sleep 1000", autostart: true, groups: "front", env: { LEVEL: "2", API_KEY: "s3cret" } };

test("show says how a process is run, without secrets, and what of the file is not applied yet", async (context) => {
  const { folder } = homeOf(context, [WEB, { id: "pair", cmd: "sleep 1000", cluster: { instances: 2 } }]);
  assert.equal((await procman(folder, ["show", "web"])).code, 69, "it needs a running procman");
  await procman(folder, ["run", "--detach"]);
  const { out, code, err } = await procman(folder, ["show", "web"]);
  assert.deepEqual([code, err], [0, ""]);
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
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [{ ...WEB, cmd: "sleep 2000" }] }));
  assert.match((await procman(folder, ["show", "web"])).out, /^command +sleep 1000\n[\s\S]*^not applied +restart: its cmd has changed$/m);
  writeFileSync(join(folder, "procman.json"), '{ "name": "test", "processes": [{ "id": 7 }] }');
  assert.match((await procman(folder, ["show", "web"])).out, /^not applied +the file is not valid; "procman validate" shows why$/m);
  const unknown = await procman(folder, ["show", "wbe"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /Did you mean "web"\?/);
  assert.match((await procman(folder, ["describe", "web"])).err, /procman show ID/);
});

/** `procman scale`: docs/guide/clusters.md. */
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";

const web = { id: "web", ...SLEEPER, cluster: { instances: 2, startPort: 23_101 } };
const mail = { id: "mail", ...SLEEPER };
const db = { id: "db", ...SLEEPER, cluster: { instances: 1, startPort: 23_105 } };

test("scale starts and ends instances and names them, and the others keep running", async (context) => {
  const { folder } = homeOf(context, [web, mail]);
  await procman(folder, ["run", "--detach"]);
  const up = await procman(folder, ["scale", "web", "4"]);
  assert.match(
    up.out,
    /^web-1: running \(pid \d+\)\nweb-2: running .*\nweb-3: running \(pid \d+\)\nweb-4: running .*\n$/,
  );
  assert.deepEqual([up.code, up.err], [0, ""]);
  const down = await procman(folder, ["scale", "web", "-3"]);
  assert.equal(down.code, 0);
  assert.equal(down.out, `${up.out.split("\n")[0]}\nweb-2: gone\nweb-3: gone\nweb-4: gone\n`);
  const more = await procman(folder, ["scale", "web", "+2", "--json"]);
  const { id, instances = [] } = JSON.parse(more.out) as ProcessRecord;
  assert.deepEqual([id, instances.map(({ status }) => status)], ["web", ["running", "running", "running"]]);
  assert.equal((await procman(folder, ["scale", "web", "1", "--no-wait"])).code, 0);
  const most = await procman(folder, ["scale", "web", "max", "--json"]);
  assert.equal((JSON.parse(most.out) as ProcessRecord).instances?.length, availableParallelism());
});

test("a reload restores the number of instances of the file, and plan shows that before", async (context) => {
  const { folder } = homeOf(context, [web, mail]);
  await procman(folder, ["run", "--detach"]);
  await procman(folder, ["scale", "web", "3"]);
  assert.match((await procman(folder, ["plan"])).out, /^web-3 +stop +its cluster has 2 instances in the file$/m);
  assert.equal((await procman(folder, ["reload"])).code, 0);
  assert.match((await procman(folder, ["status"])).out, /2 of 2 instances are running/);
  writeFileSync(
    join(folder, "draft"),
    JSON.stringify({ name: "test", processes: [{ ...web, cmd: "sleep 2000" }, mail] }),
  );
  renameSync(join(folder, "draft"), join(folder, "procman.json"));
  const { code, err } = await procman(folder, ["scale", "web", "3"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /^procman: Cannot scale "web" to 3 instances: its cmd in procman\.json has changed; reload that first/,
  );
});

test("an impossible number of instances is refused with the reason and the remedy", async (context) => {
  const { folder } = homeOf(context, [web, db, mail]);
  assert.equal((await procman(folder, ["scale", "web", "3"])).code, 69, "no procman runs");
  await procman(folder, ["run", "--detach"]);
  for (const [args, code, message] of [
    [
      ["web", "5"],
      1,
      /^procman: Cannot scale "web" to 5 instances: .*\(procman\.json:\d+:\d+ .*port 23105 belongs to .*Ask for fewer, or change the file/,
    ],
    [
      ["web", "0"],
      64,
      /^procman: Cannot scale "web" to 0 instances: use 1 to 1024; "procman stop web" stops all of them$/m,
    ],
    [["web", "100000"], 64, /^procman: Cannot scale "web" to 100000 instances: use 1 to 1024$/m],
    [["web", "+100000"], 64, /^procman: Cannot scale "web" by \+100000: use 1 to 1024 instances$/m],
    [["web", "12345678901"], 64, /to 12345678901 instances: use 1 to 1024$/m],
    [
      ["web", "-2"],
      1,
      /^procman: Cannot scale "web" to 0 instances: use 1 to 1024.*"procman stop web" stops all of them/,
    ],
    [["web", "many"], 64, /use a whole number such as 4, or \+1, -1, max or auto/],
    [["web"], 64, /missing required argument 'count'/],
    [["mail", "2"], 1, /^procman: Cannot scale "mail": it is not a cluster; give it a "cluster"/],
    [["web-1", "2"], 1, /it is one instance of the cluster "web"; scale that/],
    [["wbe", "2"], 1, /no process has this id/],
  ] as const) {
    const refused = await procman(folder, ["scale", ...args]);
    assert.equal(refused.code, code, args.join(" "));
    assert.match(refused.err, message);
  }
  assert.match((await procman(folder, ["status"])).out, /2 of 2 instances are running/);
});

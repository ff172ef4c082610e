/** `defaults` and `extends` in a file that runs: what an edit of them does, and what commands make of them. */
import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { DefinitionRecord } from "../../src/core/contract/definition-record.ts";
import type { PlanRecord } from "../../src/core/contract/plan.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";

type Home = ReturnType<typeof homeOf>;

const DEFAULTS = { autostart: true, minUptimeMs: 50, env: { MODE: "one" } };
const PROCESSES = [
  { id: "web", cmd: SLEEPER.cmd, nice: 1 },
  { id: "admin", extends: "web", env: { PORT: "3001" } },
  { id: "mail", cmd: SLEEPER.cmd, env: { MODE: "mail" } },
];

function write({ folder }: Home, config: object): void {
  writeFileSync(join(folder, "draft"), JSON.stringify({ name: "test", ...config }));
  renameSync(join(folder, "draft"), join(folder, "procman.json"));
}

async function json<Answer>({ folder }: Home, ...args: readonly string[]): Promise<Answer> {
  const { code, out, err } = await procman(folder, [...args, "--json"]);
  assert.equal(code, 0, err);
  return JSON.parse(out) as Answer;
}

async function pids(home: Home): Promise<Readonly<Record<string, number | undefined>>> {
  const records = await json<readonly ProcessRecord[]>(home, "status");
  return Object.fromEntries(records.map(({ id, pid }) => [id, pid]));
}

test("an edit of defaults, or of a process that another one extends, changes those processes whose fields it changes", async (context) => {
  const home = homeOf(context, PROCESSES, { defaults: DEFAULTS });
  assert.equal((await procman(home.folder, ["run", "--detach"])).code, 0);
  const before = await pids(home);
  write(home, { defaults: { ...DEFAULTS, env: { MODE: "two" } }, processes: PROCESSES });
  const { processes } = await json<PlanRecord>(home, "plan");
  assert.deepEqual(
    processes.map(({ process, action, fields }) => [process, action, fields]),
    [
      ["web", "restart", ["env"]],
      ["admin", "restart", ["env"]],
      ["mail", "none", []],
    ],
  );
  assert.equal((await procman(home.folder, ["reload"])).code, 0);
  const between = await pids(home);
  assert.deepEqual(
    Object.keys(before).filter((id) => before[id] !== between[id]),
    ["web", "admin"],
  );
  const [web, ...others] = PROCESSES;
  write(home, { defaults: { ...DEFAULTS, env: { MODE: "two" } }, processes: [{ ...web, timeout: 600 }, ...others] });
  const later = await json<PlanRecord>(home, "plan");
  assert.deepEqual(
    later.processes.flatMap(({ process, fields }) => (fields.length > 0 ? [[process, fields]] : [])),
    [
      ["web", ["timeout"]],
      ["admin", ["timeout"]],
    ],
  );
});

test("show and export take the fields that result, and show the process as it is written", async (context) => {
  const home = homeOf(context, PROCESSES, { defaults: { ...DEFAULTS, logger: { stdout: "{id}.log" } } });
  assert.equal((await procman(home.folder, ["run", "--detach"])).code, 0);
  const [admin] = await json<readonly DefinitionRecord[]>(home, "show", "admin");
  assert.equal(admin?.stdout, join(home.folder, "admin.log"));
  assert.deepEqual(
    admin.env.map(({ name, value }) => [name, value]),
    [
      ["MODE", "one"],
      ["PORT", "3001"],
    ],
  );
  assert.match(admin.written?.text ?? "", /"extends":"web"/);
  const { code, out, err } = await procman(home.folder, ["export", "--to", "procfile"]);
  assert.equal(code, 0, err);
  assert.match(out, /^admin: .*sleep 1000$/m);
});

test("append and remove keep defaults and extends, and refuse to remove a process that others extend", async (context) => {
  const home = homeOf(context, PROCESSES, { defaults: DEFAULTS });
  const file = join(home.folder, "procman.json");
  const added = await procman(home.folder, ["append", "--id", "new", "--cmd", "true"]);
  assert.equal(added.code, 0, added.err);
  const { processes } = JSON.parse(readFileSync(file, "utf8")) as { readonly processes: readonly object[] };
  assert.deepEqual(processes.slice(0, 3), PROCESSES);
  const refused = await procman(home.folder, ["remove", "web"]);
  assert.equal(refused.code, 78);
  assert.match(refused.err, /extends[\s\S]*Found "web"; allowed: the id of another process/);
  assert.equal((await procman(home.folder, ["remove", "admin"])).code, 0);
  assert.equal((await procman(home.folder, ["remove", "web"])).code, 0);
  const { defaults } = JSON.parse(readFileSync(file, "utf8")) as { readonly defaults: object };
  assert.deepEqual(defaults, DEFAULTS);
});

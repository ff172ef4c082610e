/** What `procman export` writes for another tool, `procman import` reads back: the same, as far as that tool can carry it. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parse } from "jsonc-parser";
import { procman } from "../support/cli.ts";
import { folderWith, type ProcessConfig } from "../support/procman-process.ts";

const PROCESSES: readonly ProcessConfig[] = [
  {
    id: "db",
    cmd: "sleep 1000",
    autostart: true,
    restart: "always",
    env: { GREETING: "two words", QUOTE: `it's "here"`, PERCENT: "100 % $HOME" },
    terminateTimeout: 20,
  },
  {
    id: "web",
    cmd: "node server.js --port 3000",
    autostart: true,
    restart: "error",
    dependsOn: ["db"],
    cwd: "/srv",
    stopSignal: "SIGINT",
  },
  { id: "backup", cmd: "cp a b", cron: "0 3 * * MON-FRI", cwd: "/srv" },
];
type Carried = Readonly<Record<string, unknown>>;

/** Exports for the target, imports the files that it has made, and gives the processes. */
async function back(
  context: TestContext,
  target: string,
  files: (name: string) => boolean,
): Promise<readonly Carried[]> {
  const folder = folderWith(context, { name: "shop", processes: PROCESSES });
  const exported = await procman(folder, [
    "export",
    "--to",
    target,
    "--output",
    "out",
    // An image would stay in its container.
    ...(target === "compose" ? [] : ["--image", "registry.example.org/shop:1"]),
  ]);
  assert.equal(exported.code, 0, exported.err);
  const names = readdirSync(join(folder, "out")).filter(files);
  assert.ok(names.length > 0);
  mkdirSync(join(folder, "back"));
  const imported = await procman(join(folder, "back"), ["import", ...names.map((name) => `../out/${name}`)]);
  assert.equal(imported.code, 0, imported.err);
  const file = join(folder, "back/procman.jsonc");
  assert.equal((await procman(join(folder, "back"), ["validate"])).code, 0);
  const { processes: found } = parse(readFileSync(file, "utf8")) as { readonly processes: readonly Carried[] };
  return [...found].sort((one, other) => String(one.id).localeCompare(String(other.id)));
}

/** These fields of each process. */
function only(processes: readonly Carried[], fields: readonly string[]): readonly Carried[] {
  return processes.map((each) =>
    Object.fromEntries(fields.flatMap((name) => (each[name] === undefined ? [] : [[name, each[name]]]))),
  );
}

const EXPECTED = [...PROCESSES].map((each): Carried => ({ ...each, terminateTimeout: each.terminateTimeout ?? 30 }));
const BY_ID = EXPECTED.toSorted((one, other) => String(one.id).localeCompare(String(other.id)));

test("compose: commands, environment, restarts, signals, times, dependencies and manual starts", async (context) => {
  const found = await back(context, "compose", (name) => name === "compose.yaml");
  const fields = ["id", "cmd", "env", "terminateTimeout", "stopSignal", "autostart"];
  assert.deepEqual(only(found, fields), only(BY_ID, fields));
  // Compose has no schedules.
  assert.deepEqual(
    found.map(({ restart }) => restart),
    ["never", "always", "error"],
  );
  assert.deepEqual(found[2]?.dependsOn, [{ id: "db", condition: "started" }]);
});

test("systemd: the same, and schedules; ids have the name of the configuration in front", async (context) => {
  const found = await back(context, "systemd", (name) => /\.(?:service|timer)$/.test(name));
  assert.deepEqual(
    found.map(({ id }) => id),
    ["shop-backup", "shop-db", "shop-web"],
  );
  const fields = ["env", "cron", "terminateTimeout", "stopSignal", "autostart"];
  assert.deepEqual(only(found, fields), only(BY_ID, fields));
  const [backup, db, web] = found;
  assert.deepEqual([backup?.cwd, web?.cwd, db?.restart, web?.restart], ["/srv", "/srv", "always", "error"]);
  assert.deepEqual(
    [backup?.cmd, db?.cmd].map((cmd) => String(cmd).replace(/^\/(?:usr\/)?bin\//, "")),
    ["cp a b", "sleep 1000"],
  );
  assert.deepEqual(web?.dependsOn, [{ id: "shop-db", condition: "started" }]);
});

test("Procfile: what runs in a shell sees the same arguments, folder and environment", async (context) => {
  const found = await back(context, "procfile", (name) => name === "Procfile");
  const db = found.find(({ id }) => id === "db");
  const folder = folderWith(context, {
    processes: [{ id: "db", cmd: String(db?.cmd).replace("sleep 1000", "env"), autostart: true }],
  });
  const { out } = await procman(folder, ["run", "--once", "--console"]);
  for (const [name, value] of Object.entries(PROCESSES[0]?.env as Record<string, string>))
    assert.ok(out.includes(`${name}=${value}`), `${name}: ${out}`);
});

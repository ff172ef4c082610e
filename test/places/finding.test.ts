/** Which configuration file a command uses: docs/reference/cli.md, "Which file". */
import assert from "node:assert/strict";
import { chownSync, lchownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, procman } from "../support/cli.ts";
import { otherUser, sharedFolder } from "../support/other-user.ts";
import { folderWith, Procman } from "../support/procman-process.ts";

const web = { id: "web", cmd: "sleep 1000", autostart: true };

test("a command in a sub-folder uses the file of the nearest folder above", async (context) => {
  const { folder } = homeOf(context, [web]);
  const below = join(folder, "src/pages");
  mkdirSync(below, { recursive: true });
  assert.equal((await procman(below, ["run", "--detach"])).code, 0);
  const status = await procman(below, ["status", "--json"]);
  assert.equal((JSON.parse(status.out) as { readonly status: string }[])[0]?.status, "running");
  writeFileSync(join(folder, "src/procman.json"), JSON.stringify({ name: "nearer", processes: [web] }));
  assert.match((await procman(below, ["status"])).err, /none is running for .*src\/\.procman\/nearer/);
  rmSync(join(folder, "src/procman.json"));
  assert.equal((await procman(below, ["terminate"])).code, 0);
});

test("a running procman keeps to its file, also killed: another one above or nearer doesn't count while it is away", async (context) => {
  const { folder: above } = homeOf(context, [{ ...web, id: "foreign" }]);
  const folder = join(above, "shop");
  const below = join(folder, "src");
  mkdirSync(below, { recursive: true });
  const file = join(folder, "procman.json");
  writeFileSync(file, JSON.stringify({ name: "shop", processes: [{ ...web, logger: { console: true } }] }));
  for (const start of [below, folder]) {
    const running = new Procman(start);
    context.after(() => running.close());
    await running.line(/^web +\| started/);
    renameSync(file, join(folder, "away.json"));
    const reload = await procman(folder, ["reload", "-c", "away.json"]);
    assert.equal(reload.code, 78);
    assert.match(reload.err, /has neither procman\.jsonc|neither procman\.jsonc nor procman\.json in/);
    process.kill(running.helper("service"), "SIGKILL");
    const processes = JSON.parse((await procman(folder, ["status", "--json", "-c", "away.json"])).out) as {
      readonly id: string;
    }[];
    assert.deepEqual(
      processes.map(({ id }) => id),
      ["web"],
    );
    renameSync(join(folder, "away.json"), file);
    assert.equal((await procman(folder, ["terminate"])).code, 0);
    await running.exit();
  }
});

test("another file with the name of a running procman is refused by what runs, applies or compares a file, which says what runs", async (context) => {
  const { folder } = homeOf(context, [web]);
  const [file, other] = [join(folder, "procman.json"), join(folder, "other.json")];
  writeFileSync(other, JSON.stringify({ name: "test", processes: [{ ...web, id: "mail" }] }));
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const reason = `"test" is already running with ${file} (pid `;
  const remedy = `), not with ${other}; name that file with --config, give this one another "name" to run both, or end`;
  for (const command of [["plan"], ["reload"], ["up"], ["run", "--detach"], ["run"]]) {
    const { code, out, err } = await procman(folder, [...command, "--config", "other.json"]);
    assert.deepEqual([code, out, err.includes(reason), err.includes(remedy)], [1, "", true, true], err);
  }
  const status = await procman(folder, ["status", "--config", "other.json"]);
  assert.deepEqual([status.code, /^web +running/m.test(status.out)], [0, true]);
  assert.ok(status.err.includes(reason), status.err);
  assert.equal((await procman(folder, ["status"])).err, "");
  const append = ["append", "--id", "more", "--cmd", "true", "--config", "other.json"];
  const appended = await procman(folder, append);
  assert.equal(appended.code, 0, appended.err);
  assert.doesNotMatch(`${appended.out}${appended.err}`, /is running without this change/);
  assert.match((await procman(folder, ["plan"])).out, /^Nothing has changed/);
  symlinkSync(file, join(folder, "link.json"));
  assert.equal((await procman(folder, ["reload", "--config", "link.json"])).code, 0, "the same file");
});

test("without a file in any folder above, the message names the folder that was searched first", async (context) => {
  const folder = folderWith(context, { processes: [] });
  rmSync(join(folder, "procman.json"));
  const { code, err } = await procman(folder, ["status"]);
  assert.equal(code, 78);
  assert.match(
    err,
    /neither procman\.jsonc nor procman\.json in \/.* or a folder above it\. `procman add PROGRAM` or `procman init` makes one, --config PATH names/,
  );
});

test("a file or link of another user in a folder above is refused, unless --config names it", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const folder = sharedFolder(context);
  const below = join(folder, "own");
  mkdirSync(below);
  const file = join(folder, "procman.json");
  writeFileSync(file, JSON.stringify({ processes: [web] }));
  chownSync(file, user.uid, user.gid);
  const refused = await procman(below, ["validate"]);
  assert.equal(refused.code, 78);
  assert.match(
    refused.err,
    /Cannot use the configuration in .*, which lies above this folder: it belongs to the user nobody; .*--config/,
  );
  assert.equal((await procman(below, ["validate", "--config", ".."])).code, 0);
  assert.deepEqual(await procman(below, ["run"]), refused);
  chownSync(file, 0, 0);
  assert.equal((await procman(below, ["validate"])).code, 0);
  renameSync(file, join(folder, "real.json"));
  symlinkSync("real.json", file);
  lchownSync(file, user.uid, user.gid);
  assert.equal((await procman(below, ["validate"])).code, 78);
});

test("--config takes a folder, before and after the command; PROCMAN_CONFIG stands for it", async (context) => {
  const { folder } = homeOf(context, [web]);
  const elsewhere = folderWith(context, { processes: [{ ...web, id: "other" }] });
  assert.equal((await procman(elsewhere, ["-c", folder, "run", "--detach"])).code, 0);
  const file = join(folder, "procman.json");
  const ways: readonly (readonly [args: readonly string[], env?: NodeJS.ProcessEnv])[] = [
    [["status", "-c", folder]],
    [["-c", file, "status"]],
    [[`-c${file}`, "status"]],
    [["--config", folder, "status", "web"]],
    [[`--config=${folder}`, "status", "web"]],
    [["status"], { PROCMAN_CONFIG: folder }],
    [["status"], { PROCMAN_CONFIG: file }],
    [["status", "--config", folder], { PROCMAN_CONFIG: "/nowhere" }],
  ];
  for (const [args, env] of ways) {
    const { code, out, err } = await procman(elsewhere, args, env);
    assert.deepEqual([code, err], [0, ""], args.join(" "));
    assert.match(out, /^web +running/m);
  }
  assert.match((await procman(elsewhere, ["-c", folder, "help", "status"])).out, /^Usage: procman status/);
  assert.equal(
    (await procman(elsewhere, ["__complete", "-c", folder, "stat"])).out,
    "status\tShow processes with their states\n",
  );
  assert.match((await procman(elsewhere, ["__complete", "-c", folder, "stop", ""])).out, /^web\trunning$/m);
  assert.equal((await procman(elsewhere, ["-c", folder, "terminate"])).code, 0);
});

test("what --config or PROCMAN_CONFIG names and isn't there is an error that says which of the two", async (context) => {
  const folder = folderWith(context, { processes: [web] });
  mkdirSync(join(folder, "empty"));
  assert.match(
    (await procman(folder, ["validate", "-c", "empty"])).err,
    /Cannot read empty: the folder has neither procman\.jsonc nor/,
  );
  const { code, err } = await procman(folder, ["validate"], { PROCMAN_CONFIG: "/nowhere/procman.json" });
  assert.equal(code, 78);
  assert.match(err, /Cannot read \/nowhere\/procman\.json: no such file\. .* \(named by PROCMAN_CONFIG\)/);
});

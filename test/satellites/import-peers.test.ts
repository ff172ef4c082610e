/** A crontab runs imported under procman; a running pm2 is taken over. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { procman } from "../support/cli.ts";
import { ecosystemOf, folderOfFiles } from "../support/import-rig.ts";
import { PeerRig, pm2Command, WRITE_DOWN } from "../support/peer-rig.ts";
import { skip } from "../support/skip.ts";

async function imported(rig: PeerRig, ...files: readonly string[]): Promise<void> {
  const { code, out, err } = await procman(rig.folder, ["import", ...files]);
  assert.equal(code, 0, `${out}${err}`);
}

test("cron: a crontab's command gets its input and variables, as its shell would have it", async (context) => {
  const folder = folderOfFiles(context, {}, () => rig.end());
  const rig: PeerRig = new PeerRig(folder);
  writeFileSync(
    join(folder, "crontab"),
    `HOME=${folder}\nWRITTEN_DOWN=${folder}/procman\nTOKEN = "a b"\n@reboot node ${WRITE_DOWN} job \\%F "$TOKEN" $HOME | cat\n@reboot cat > out.txt%first%it's second\n`,
  );
  await imported(rig, "crontab");
  await rig.underProcman({ job: 1 }, {});
  const [job] = rig.seen("procman", "job");
  assert.deepEqual([job?.args, job?.cwd], [["%F", "a b", folder], folder]);
  assert.equal(readFileSync(join(folder, "out.txt"), "utf8"), "first\nit's second\n");
});

/** What a program saw, in order: its starts by the manager that started it, and its signals. */
function history(rig: PeerRig, name: string): readonly string[] {
  return rig
    .seen("both", name)
    .map(({ signal, env }) => signal ?? (env?.PROCMAN_PROCESS_ID === undefined ? "pm2" : "procman"));
}

/** A pm2 in which the apps run; they write to `both`. */
async function runningPm2(
  context: Parameters<typeof folderOfFiles>[0],
  pm2: string,
  apps: readonly object[],
): Promise<{ readonly rig: PeerRig; readonly take: () => ReturnType<typeof procman> }> {
  const rig: PeerRig = new PeerRig(
    folderOfFiles(context, { "ecosystem.config.js": ecosystemOf(apps) }, async () => {
      await rig.command("both", [pm2, "kill"], own);
      await rig.end();
    }),
  );
  const own = { PM2_HOME: join(rig.folder, "pm2-home") };
  await rig.command("both", [pm2, "start", "ecosystem.config.js"], own);
  const env = { ...own, ...rig.environment("both"), PATH: `${dirname(pm2)}:${process.env.PATH}` };
  return { rig, take: () => procman(rig.folder, ["import", "--from-running", "pm2"], env) };
}

test("--from-running pm2 stops each app there before it starts here; what was stopped stays so", async (context) => {
  const pm2 = pm2Command();
  if (pm2 === undefined) return skip(context, "pm2 can't be installed");
  const apps = ["one", "two"].map((name) => ({ name, script: WRITE_DOWN, args: name, env: { TEXT: "x y" } }));
  const { rig, take } = await runningPm2(context, pm2, [
    ...apps,
    { name: "many", script: WRITE_DOWN, args: "many", instances: 2, exec_mode: "fork" },
  ]);
  await rig.wait("both", { one: 1, two: 1, many: 2 });
  await rig.command("both", [pm2, "stop", "two"], { PM2_HOME: join(rig.folder, "pm2-home") });
  const { code, out, err } = await take();
  assert.equal(code, 0, err);
  assert.match(err, /^procman\.jsonc: 1 warning\n[\s\S]*"two" is only started manually/);
  assert.match(
    out,
    /one: taken over\ntwo: taken over\nmany: taken over\nprocman\.jsonc: created with 3 processes of the running pm2; all of it runs here/,
  );
  await rig.wait("both", { one: 2, many: 4 });
  assert.deepEqual(history(rig, "one"), ["pm2", "SIGINT", "procman"]);
  assert.deepEqual(history(rig, "two"), ["pm2", "SIGINT"]);
  assert.deepEqual(history(rig, "many").toSorted(), ["SIGINT", "SIGINT", "pm2", "pm2", "procman", "procman"]);
  assert.deepEqual(history(rig, "many").slice(-2), ["procman", "procman"]);
  assert.deepEqual(
    [rig.seen("both", "one")[0], rig.seen("both", "one")[2]].map((seen) => seen?.env?.TEXT),
    ["x y", "x y"],
  );
  assert.match((await procman(rig.folder, ["status"])).out, /one +running[\s\S]*two +created/);
  assert.match((await take()).err, /Cannot create procman\.jsonc: it already exists/);
});

test("--from-running pm2: if one app doesn't come up here, everything goes back, and nothing is left", async (context) => {
  const pm2 = pm2Command();
  if (pm2 === undefined) return skip(context, "pm2 can't be installed");
  const apps = [
    { name: "good", script: WRITE_DOWN, args: "good" },
    { name: "bad", script: `test -z "$PROCMAN_PROCESS_ID" && exec node ${WRITE_DOWN} bad` },
    { name: "later", script: WRITE_DOWN, args: "later" },
  ];
  const { rig, take } = await runningPm2(context, pm2, apps);
  await rig.wait("both", { good: 1, bad: 1, later: 1 });
  const { code, out, err } = await take();
  assert.deepEqual([code, out], [1, "good: taken over\n"]);
  assert.match(
    err,
    /Cannot take over from pm2: "bad" is not up here: it [\s\S]*; everything is back in pm2, and the file is removed\n$/,
  );
  await rig.wait("both", { good: 3, bad: 2 });
  assert.deepEqual(history(rig, "good"), ["pm2", "SIGINT", "procman", "SIGINT", "pm2"]);
  assert.deepEqual(history(rig, "later"), ["pm2"]);
  assert.equal(existsSync(join(rig.folder, "procman.jsonc")), false);
});

test("--from-running pm2 without a running pm2, or with files, is refused", async (context) => {
  const folder = folderOfFiles(context, {});
  const none = await procman(folder, ["import", "--from-running", "pm2"], { PM2_HOME: folder });
  assert.deepEqual([none.code, none.out], [69, ""]);
  assert.match(none.err, /Cannot ask pm2: none is running with/);
  assert.equal((await procman(folder, ["import", "x", "--from-running", "pm2"])).code, 64);
  assert.equal((await procman(folder, ["import"])).code, 64);
});

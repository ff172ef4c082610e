/** `procman rollback`: an earlier text is put back and applied, or nothing is changed. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { HistoryEntry, RollbackRecord } from "../../src/core/contract/history-record.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { eventually, type ProcessConfig } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";

type Home = ReturnType<typeof homeOf>;

const textOf = (processes: readonly ProcessConfig[], more: object = {}): string =>
  JSON.stringify({ name: "test", ...more, processes }, undefined, 2);
const fileIn = ({ folder }: Home, name = "procman.json"): string => readFileSync(join(folder, name), "utf8");
const write = ({ folder }: Home, text: string, name = "procman.json"): void => writeFileSync(join(folder, name), text);

const pidOf = async ({ folder }: Home): Promise<number | undefined> =>
  (JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[])[0]?.pid;

const kept = ({ folder }: Home, count: number): Promise<readonly HistoryEntry[]> =>
  eventually(async () => {
    const all = JSON.parse((await procman(folder, ["history", "--json"])).out) as readonly HistoryEntry[];
    return all.length === count && all.every(({ result }) => result !== "running") ? all : undefined;
  });

async function started(context: Parameters<typeof homeOf>[0], more: object = {}): Promise<Home> {
  const home = homeOf(context, [{ id: "web", ...SLEEPER }]);
  write(home, textOf([{ id: "web", ...SLEEPER }], more));
  assert.equal((await procman(home.folder, ["run", "--detach"])).code, 0);
  await kept(home, 1);
  return home;
}

async function applied(home: Home, text: string): Promise<void> {
  write(home, text);
  const { code, err } = await procman(home.folder, ["reload"]);
  assert.equal(code, 0, err);
}

test("rollback restarts what differs, says where the text of before is, and a second one goes forth again", async (context) => {
  const home = await started(context);
  const { folder } = home;
  const first = fileIn(home);
  const second = textOf([{ id: "web", ...SLEEPER, cmd: "sleep 2000" }]);
  await applied(home, second);
  const pid = await pidOf(home);
  const back = await procman(folder, ["rollback"]);
  assert.deepEqual([back.code, back.err], [0, ""]);
  assert.match(
    back.out,
    /^ID +ACTION +WHY\nweb +restart +its cmd has changed\n.*procman\.json has its text of entry 1; the text of before is in .*procman\.json\.before-rollback\.\n$/,
  );
  assert.deepEqual([fileIn(home), fileIn(home, "procman.json.before-rollback")], [first, second]);
  assert.notEqual(await pidOf(home), pid);
  assert.equal((await procman(folder, ["plan", "--exit-code"])).code, 0, "the plan is empty");
  const forth = JSON.parse((await procman(folder, ["rollback", "--json"])).out) as RollbackRecord;
  assert.deepEqual([forth.rollbackTo, fileIn(home)], [2, second]);
  const [newest] = await kept(home, 4);
  assert.deepEqual([newest?.rollbackTo, newest?.why], [2, "rollback to 2, asked by cli"]);
  assert.match((await procman(folder, ["history"])).out, /active +back to 2; web restarted/);
});

test("an edit that isn't valid is undone without touching a process", async (context) => {
  const home = await started(context);
  const text = fileIn(home);
  const pid = await pidOf(home);
  write(home, "{ broken");
  const { code, out } = await procman(home.folder, ["rollback"]);
  assert.equal(code, 0);
  assert.match(out, /^Nothing has changed/);
  assert.deepEqual(
    [fileIn(home), fileIn(home, "procman.json.before-rollback"), await pidOf(home)],
    [text, "{ broken", pid],
  );
});

test("--dry-run shows what a rollback would do, or why it is refused, and changes nothing", async (context) => {
  const home = await started(context, { include: ["conf.d/*.json"] });
  const { folder } = home;
  const first = fileIn(home);
  mkdirSync(join(folder, "conf.d"));
  write(home, JSON.stringify({ processes: [{ id: "job", ...SLEEPER }] }), "conf.d/job.json");
  const second = textOf([{ id: "web", ...SLEEPER, cmd: "sleep 2000" }], { include: ["conf.d/*.json"] });
  await applied(home, second);
  const pid = await pidOf(home);
  const dry = await procman(folder, ["rollback", "--dry-run"]);
  assert.deepEqual([dry.code, dry.err], [0, ""]);
  assert.match(
    dry.out,
    /^ID +ACTION +WHY\nweb +restart +its cmd has changed\njob +stop +.*\n.*job\.json would be gone, as of entry 1; the text of before would be in .*\n.*procman\.json would get its text of entry 1; /,
  );
  assert.deepEqual([fileIn(home), await pidOf(home)], [second, pid]);
  assert.deepEqual(
    ["procman.json.before-rollback", "conf.d/job.json"].map((name) => existsSync(join(folder, name))),
    [false, true],
  );
  await kept(home, 2);
  const record = JSON.parse((await procman(folder, ["rollback", "1", "--json"])).out) as RollbackRecord;
  assert.deepEqual(
    record.processes.map(({ process, action }) => [process, action]),
    (JSON.parse((await procman(folder, ["rollback", "2", "--dry-run", "--json"])).out) as RollbackRecord).processes.map(
      ({ process, action }) => [process, action === "start" ? "stop" : action],
    ),
  );
  assert.equal(fileIn(home), first);
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  const without = await procman(folder, ["rollback", "2", "--dry-run"]);
  assert.equal(without.code, 69);
  assert.match(without.out, /job\.json would get its text of entry 2\.\n.*procman\.json would get its text/);
  assert.equal(fileIn(home), first);
});

test("what can't be rolled back is refused, and the file stays", async (context) => {
  const home = await started(context);
  const { folder, state } = home;
  const text = fileIn(home);
  for (const [words, code, message] of [
    [["7"], 1, /Cannot find entry 7 in the history: it has only 1/],
    [["next"], 1, /Cannot roll back to "next": allowed: a number of the history/],
    [[], 1, /Cannot find a configuration before the present one in the history: it has only 1/],
  ] as const) {
    const outcome = await procman(folder, ["rollback", ...words]);
    assert.equal(outcome.code, code, outcome.err);
    assert.match(outcome.err, message);
  }
  writeFileSync(join(state, "history/2.json"), "");
  assert.match(
    (await procman(folder, ["rollback", "2"])).err,
    /Cannot read entry 2 of the history: its file has no valid content/,
  );
  assert.deepEqual([fileIn(home), existsSync(join(folder, "procman.json.before-rollback"))], [text, false]);
});

test("included files with changes that Git has not committed need --force; of the main file it is said", async (context) => {
  if (isMissing(context, "git")) return;
  const home = homeOf(context, []);
  const { folder } = home;
  const part = (seconds: number): string =>
    JSON.stringify({ processes: [{ id: "web", ...SLEEPER, cmd: `sleep ${seconds}` }] });
  mkdirSync(join(folder, "conf.d"));
  write(home, textOf([], { include: ["conf.d/*.json"] }));
  write(home, part(1_001), "conf.d/web.json");
  const git = (...args: readonly string[]): unknown =>
    execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
  git("init", "-q");
  git("add", "procman.json", "conf.d");
  git("commit", "-qm", "one");
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  await kept(home, 1);
  write(home, part(1_002), "conf.d/web.json");
  await applied(home, textOf([], { include: ["conf.d/*.json"], logger: { decorate: false } }));
  const refused = await procman(folder, ["rollback"]);
  assert.equal(refused.code, 1);
  assert.match(
    refused.err,
    /conf\.d\/web\.json, which the configuration includes, has changes that are not committed; add --force/,
  );
  assert.equal(fileIn(home, "conf.d/web.json"), part(1_002));
  const forced = await procman(folder, ["rollback", "--force"]);
  assert.equal(forced.code, 0, forced.err);
  assert.match(forced.err, /procman\.json has changes that are not committed; its text of before stays in/);
  assert.deepEqual(
    [fileIn(home, "conf.d/web.json"), fileIn(home, "conf.d/web.json.before-rollback")],
    [part(1_001), part(1_002)],
  );
});

test("if an instance doesn't come up, configuration and files are as before", async (context) => {
  const cluster = (cmd: string): string =>
    textOf([{ id: "web", autostart: true, minUptimeMs: 50, cmd, cluster: { instances: 2 } }]);
  const home = homeOf(context, []);
  const { folder } = home;
  write(home, cluster("test ! -e broken && sleep 1000"));
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  await kept(home, 1);
  await applied(home, cluster("sleep 1000"));
  write(home, "", "broken");
  const { code, err } = await procman(folder, ["rollback"]);
  assert.equal(code, 1, err);
  assert.match(err, /"web-1" did not come up with the new configuration.*the previous configuration is restored/);
  assert.equal(fileIn(home), cluster("sleep 1000"));
  const [newest] = await kept(home, 3);
  assert.deepEqual([newest?.result, newest?.rollbackTo], ["rolled-back", 1]);
  assert.equal((await procman(folder, ["plan", "--exit-code"])).code, 0);
});

test("without a running procman the text is put back, with exit code 69, and the next one starts with it", async (context) => {
  const home = await started(context);
  const { folder } = home;
  const first = fileIn(home);
  await applied(home, textOf([{ id: "web", ...SLEEPER, cmd: "sleep 2000" }]));
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  const { code, out } = await procman(folder, ["rollback", "1"]);
  assert.equal(code, 69);
  assert.match(out, /procman\.json has its text of entry 1;/);
  assert.equal(fileIn(home), first);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  await kept(home, 3);
});

/** `procman history` and `procman diff`: what was applied, by whom, and how it differs. */
import assert from "node:assert/strict";
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { HistoryDetail, HistoryDiff, HistoryEntry } from "../../src/core/contract/history-record.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { eventually, type ProcessConfig } from "../support/procman-process.ts";

type Home = ReturnType<typeof homeOf>;

function write({ folder }: Home, processes: readonly ProcessConfig[], more: object = {}): void {
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", ...more, processes }, undefined, 2));
}

const history = async ({ folder }: Home): Promise<readonly HistoryEntry[]> =>
  JSON.parse((await procman(folder, ["history", "--json"])).out) as readonly HistoryEntry[];

/** Until procman has kept this many; the first one is kept once it has started. */
const kept = (home: Home, count: number): Promise<readonly HistoryEntry[]> =>
  eventually(async () => {
    const all = await history(home);
    return all.length === count && all.every(({ result }) => result !== "running") ? all : undefined;
  });

/** A procman that has applied two configurations, of which the second has a secret and an included file. */
async function changedHome(context: Parameters<typeof homeOf>[0]): Promise<Home> {
  const home = homeOf(context, [{ id: "web", ...SLEEPER }]);
  assert.equal((await procman(home.folder, ["run", "--detach"])).code, 0);
  await kept(home, 1);
  writeFileSync(join(home.folder, "mail.jsonc"), `{ "processes": [{ "id": "mail", "cmd": "sleep 1000" }] }\n`);
  write(home, [{ id: "web", ...SLEEPER, env: { DB_PASSWORD: "hunter2" } }], { include: ["mail.jsonc"] });
  assert.equal((await procman(home.folder, ["reload"])).code, 0);
  return home;
}

test("history lists what was applied, by whom and what it changed, and shows one with its texts, without secrets", async (context) => {
  const home = await changedHome(context);
  const { folder } = home;
  const [second, first] = await kept(home, 2);
  assert.deepEqual(
    [second?.number, second?.consumer, second?.active, second?.result, first?.number, first?.why],
    [2, "cli", true, "applied", 1, "procman was started"],
  );
  const listed = await procman(folder, ["history"]);
  assert.match(
    listed.out,
    /^ENTRY {2}APPLIED +BY +RESULT +WHAT CHANGED\n +2 {2}\S+ +cli +active +web restarted; mail changed\n/,
  );
  assert.match((await procman(folder, ["history", "2"])).err, /with "2": "procman history show 2" shows an entry/);
  assert.equal((await procman(folder, ["history", "-n", "1"])).out.split("\n").length, 3);
  const shown = await procman(folder, ["history", "show", "2"]);
  assert.match(
    shown.out,
    /^Entry 2: active, \S+ \(asked by cli\), procman \S+\.\nThe file was .*procman\.json\.\n\nID +ACTION +WHY\nweb +restart +its env has changed\n/,
  );
  assert.match(shown.out, /--- .*procman\.json\n\{[\s\S]*"DB_PASSWORD": "\*\*\*"[\s\S]*--- .*mail\.jsonc\n/);
  const { files } = JSON.parse((await procman(folder, ["history", "show", "active", "--json"])).out) as HistoryDetail;
  assert.deepEqual(
    files.map(({ file }) => file.slice(folder.length + 1)),
    ["procman.json", "mail.jsonc"],
  );
  assert.doesNotMatch(JSON.stringify(files), /hunter2/);
  for (const name of readdirSync(join(home.state, "history"), { recursive: true, encoding: "utf8" }))
    assert.equal(statSync(join(home.state, "history", name)).mode & 0o077, 0, name);
});

test("diff compares entries, and the files as they are now; --exit-code tells scripts", async (context) => {
  const home = await changedHome(context);
  const { folder } = home;
  const same = await procman(folder, ["diff", "--exit-code"]);
  assert.deepEqual([same.code, same.out, same.err], [0, "", "procman: active and the file have the same text\n"]);
  const both = await procman(folder, ["diff", "previous", "active", "--exit-code"]);
  assert.equal(both.code, 2, both.err);
  assert.match(
    both.out,
    /^--- .*procman\.json \(1\)\n\+\+\+ .*procman\.json \(2\)\n@@ -1,\d+ \+1,\d+ @@\n[\s\S]*\n\+ +"DB_PASSWORD": "\*\*\*"\n/,
  );
  assert.match(both.out, /\n--- \/dev\/null\n\+\+\+ .*mail\.jsonc \(2\)\n/);
  write(home, [{ id: "web", ...SLEEPER }], { include: ["mail.jsonc"] });
  rmSync(join(folder, "mail.jsonc"));
  const { from, to, files } = JSON.parse((await procman(folder, ["diff", "--json"])).out) as HistoryDiff;
  assert.deepEqual([from, to, files.map(({ change }) => change)], ["2", "file", ["changed", "removed"]]);
  for (const [words, message] of [
    [["diff", "7"], "procman: Cannot find entry 7 in the history: it has 1 to 2\n"],
    [
      ["history", "show", "seven"],
      'procman: Cannot find "seven" in the history: allowed: a number, active, previous\n',
    ],
  ] as const)
    assert.equal((await procman(folder, words)).err, message);
});

test("without a running procman the disk answers, with exit code 69; a damaged entry is said, and the others are shown", async (context) => {
  const home = await changedHome(context);
  const { folder, state } = home;
  await kept(home, 2);
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  truncateSync(join(state, "history/2.json"), 20);
  const listed = await procman(folder, ["history"]);
  assert.equal(listed.code, 69);
  assert.match(listed.out, /\n +2 +\S+ +damaged +its file has no valid content\n +1 +\S+ +procman was started +active/);
  assert.match(listed.err, /none is running for/);
  const shown = await procman(folder, ["history", "show", "2"]);
  assert.match(shown.err, /Cannot read entry 2 of the history: its file has no valid content/);
  assert.match((await procman(folder, ["diff", "1"])).out, /DB_PASSWORD/);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0, "a damaged history stops nothing");
  const [third] = await kept(home, 3);
  assert.deepEqual([third?.number, third?.why], [3, "procman was started"]);
});

test("why counts the crashes of a process since its last change", async (context) => {
  const home = homeOf(context, [{ id: "web", ...SLEEPER, restart: "error", restartDelayMs: 50, restartLimit: 2 }]);
  const { folder } = home;
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  await kept(home, 1);
  write(home, [{ id: "web", cmd: "exit 3", autostart: true, restart: "error", restartDelayMs: 50, restartLimit: 2 }]);
  await procman(folder, ["reload"]);
  const sentence =
    /Since the change at \S+ it has crashed 3 times; "procman diff 1 2" shows the change, "procman rollback 1" takes it back\./;
  const said = await eventually(async () => {
    const { out } = await procman(folder, ["why", "web"]);
    return sentence.test(out) ? out : undefined;
  });
  assert.match(said, sentence);
});

/** `procman why` while no procman runs, from the files on disk. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { eventually, isAlive, processExit, startProcman } from "../support/procman-process.ts";

const NONE = /^procman: Cannot reach procman: none is running for .*Start it with "procman run"\n$/;
const INTRO =
  /^procman is not running; its state folder has this about web, until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)\.$/m;

test("after an orderly end `why` shows the last run with its lines, its problem, exit code 69 and how to start procman", async (context) => {
  const web = { id: "web", cmd: "echo 'Error: no database' >&2; exit 3", autostart: true, restartLimit: 0 };
  const { folder, state } = homeOf(context, [
    web,
    { id: "api", ...SLEEPER, cluster: { instances: 2 } },
    { id: "late", cmd: "true", cron: "0 0 1 1 *" },
  ]);
  await procman(folder, ["run", "--detach"]);
  await eventually(() => {
    try {
      return /no database/.test(readFileSync(join(state, "incidents/web.jsonl"), "utf8")) || undefined;
    } catch {
      return undefined;
    }
  });
  await procman(folder, ["terminate"]);
  const { code, out, err } = await procman(folder, ["why", "web"]);
  assert.deepEqual([code, NONE.test(err)], [69, true], err);
  assert.match(out, INTRO);
  assert.match(
    out,
    /run 1 of web \(pid \d+\) exited with code 3 .*\nIts last lines:\n {2}Error: no database\nIt ended with code 3 by itself/,
  );
  const both = await procman(folder, ["why", "api", "--json"]);
  const answers = JSON.parse(both.out) as readonly { readonly id: string; readonly incidents: readonly Incident[] }[];
  assert.deepEqual(
    answers.map(({ id, incidents }) => [id, incidents.map(({ cause }) => cause)]),
    ["api-1", "api-2"].map((id) => [id, ["shutdown"]]),
  );
  assert.equal(
    (await procman(folder, ["why", "api-2", "--json"])).out.startsWith('{\n  "id": "api-2",\n  "incidents": ['),
    true,
  );
  assert.deepEqual([both.code, JSON.parse(both.err).error.code], [69, "no-daemon"]);
  const all = JSON.parse((await procman(folder, ["why", "all", "--json"])).out) as readonly { readonly id: string }[];
  assert.deepEqual(
    all.map(({ id }) => id),
    ["web", "api-1", "api-2", "late"],
  );
  const late = await procman(folder, ["why", "late"]);
  assert.deepEqual([late.code, late.out, NONE.test(late.err)], [69, "", true], "no incident is left");
  const unknown = await procman(folder, ["why", "wbe"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /^procman: Cannot find process "wbe": no process has this id\. Did you mean "web"\?\n$/);
  const slip = await procman(folder, ["logs", "wbe"]);
  assert.deepEqual([slip.code, slip.err], [1, unknown.err], "logs knows the id from the file, too");
  assert.deepEqual(await procman(folder, ["logs", "late"]), {
    code: 0,
    out: "",
    err: "procman: no matching log entries\n",
  });
  writeFileSync(join(folder, "procman.json"), '{ "name": "test", "processes": [{ "id": "other", "cmd": 5 }] }');
  assert.match((await procman(folder, ["why", "web"])).out, INTRO, "the file is invalid and no longer has the id");
  rmSync(state, { recursive: true });
  assert.equal((await procman(folder, ["why", "web"])).code, 1);
});

test("after a kill of procman `why` shows that the end of the run is unknown, and whether it still runs", async (context) => {
  const host = await startProcman(
    context,
    [{ id: "web", cmd: "echo at work; exec sleep 1000", autostart: true, logger: { console: true } }],
    {
      args: ["--guarded"],
    },
  );
  const pid = Number(/pid (\d+)/.exec(await host.line(/^web .*started \(pid/))?.[1]);
  assert.ok(pid > 1);
  context.after(() => isAlive(pid) && process.kill(pid, "SIGKILL"));
  await host.line(/^web .*\| at work/);
  const [service, logger] = [host.helper("service"), host.helper("logger")];
  process.kill(host.pid, "SIGKILL");
  await processExit(service);
  const why = (): ReturnType<typeof procman> => procman(host.folder, ["why", "web"]);
  const alive = await why();
  assert.equal(alive.code, 69);
  assert.match(
    alive.err,
    /none is running for .*It was killed, and its processes may still be running: "procman run" adopts them\n$/,
  );
  assert.match(alive.out, INTRO);
  const start = `\\(pid ${pid}\\) has no recorded end`;
  assert.match(
    alive.out,
    new RegExp(`${start}: it is still running\\.\\nIts last lines:\\n {2}at work\\n\\nRUN .*\\n +1 .* is running\\n$`),
  );
  process.kill(pid, "SIGKILL");
  // The logger reads as long as the process has its FIFO open.
  for (const each of [pid, logger]) await processExit(each);
  assert.match((await why()).out, new RegExp(`${start}: procman itself ended during the run\\.`));
});

test("why counts all ends, however few it lists; the last lines of a run aren't those of an earlier procman's run of the same number", async (context) => {
  const cmd = `trap 'echo bye; exit' TERM; echo "pid $$"; sleep 1000 & wait`;
  const { folder, state } = homeOf(context, [
    { id: "web", cmd, autostart: true },
    { id: "crash", cmd: "exit 3", autostart: true, restart: "always", restartLimit: 11, restartDelayMs: 0 },
  ]);
  await procman(folder, ["run", "--detach"]);
  await procman(folder, ["terminate"]);
  rmSync(join(state, "incidents/crash.jsonl"));
  await procman(folder, ["run", "--detach"]);
  const { pid } =
    (JSON.parse((await procman(folder, ["status", "web", "--json"])).out) as readonly { readonly pid: number }[])[0] ??
    {};
  await procman(folder, ["restart", "web"]);
  const why = async (
    id: string,
    count: number,
  ): Promise<{ readonly incidents: readonly Incident[]; readonly why: readonly string[] }> =>
    JSON.parse((await procman(folder, ["why", id, "-n", String(count), "--json"])).out) as never;
  let lines: readonly string[] = [];
  while (!lines.includes("bye")) lines = (await why("web", 1)).incidents[0]?.lines.map(({ text }) => text) ?? [];
  assert.deepEqual(lines, [`pid ${pid}`, "bye"]);
  // Ends that come too fast are recorded a moment later.
  const all = "Runs that ended in the last 24 hours: 12 (12 × ended by itself).";
  let short = await why("crash", 1);
  while (!short.why.includes(all)) short = await why("crash", 1);
  assert.equal(short.incidents.length, 1);
  assert.deepEqual((await why("crash", 20)).why, short.why);
});

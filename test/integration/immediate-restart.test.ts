/** The keeper restarts a settled process by a restart order, without waiting for the service. Spec 2.2, docs/guide/supervision.md. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procman as cli } from "../support/cli.ts";
import { eventually, folderWith, isAlive, Procman, processExit, startProcman } from "../support/procman-process.ts";

/** After this time a run has settled and the keeper has its restart order. Milliseconds. */
const SETTLED_MS = 3_000;
const pidIn = (line: string): number => Number(/pid (\d+)/.exec(line)?.[1]);
const steady = { autostart: true, restart: "always", restartDelayMs: 0, logger: { console: true } };

async function settled(procman: Procman, id = "web", count = 1): Promise<number> {
  const line = (await procman.count(new RegExp(`^${id} .*started \\(pid`), count)).at(-1) ?? "";
  const at = performance.now();
  await eventually(() => (performance.now() - at > SETTLED_MS ? true : undefined));
  return pidIn(line);
}

function pidsIn(folder: string): readonly number[] {
  return readFileSync(join(folder, "pids"), "utf8").trim().split("\n").map(Number);
}

test("2.2 restart: while the service is stopped by a signal the keeper restarts a process once; its end and output are known later", async (context) => {
  const procman = await startProcman(context, [
    { id: "web", cmd: 'echo $$ >> pids; echo "here is $$"; exec sleep 1000', ...steady },
  ]);
  const first = await settled(procman);
  const service = procman.helper("service");
  process.kill(service, "SIGSTOP");
  process.kill(first, "SIGSEGV");
  const second = await eventually(() => pidsIn(procman.folder)[1]);
  await processExit(first);
  // There is no restart order for this run.
  process.kill(second, "SIGTERM");
  await processExit(second);
  process.kill(service, "SIGCONT");
  await procman.line(/web .*killed by SIGSEGV after .*; restart 1 at once/);
  await procman.line(/web .*killed by SIGTERM after .*; restart 2 at once/);
  const [, , third = 0] = await procman.count(/web .*here is \d+/, 3);
  const now = pidIn(String((await procman.count(/web .*started \(pid/, 3)).at(-1)));
  assert.match(String(third), new RegExp(`here is ${now}$`));
  assert.deepEqual([pidsIn(procman.folder), isAlive(now)], [[first, second, now], true]);
  const { out } = await cli(procman.folder, ["why", "web"]);
  assert.match(out, /ended in the last 24 hours: 2 /);
});

test("2.2 restart: the next service knows the end, the next run and its number when its predecessor was killed around the restart", async (context) => {
  const procman = await startProcman(context, [{ id: "web", cmd: "echo $$ >> pids; exec sleep 1000", ...steady }]);
  const first = await settled(procman);
  const service = procman.helper("service");
  process.kill(service, "SIGSTOP");
  process.kill(first, "SIGSEGV");
  const second = await eventually(() => pidsIn(procman.folder)[1]);
  process.kill(service, "SIGKILL");
  await procman.line(/web .*killed by SIGSEGV after .*; restart 1 at once/);
  const [record] = JSON.parse((await cli(procman.folder, ["status", "--json"])).out);
  assert.deepEqual([record.status, record.pid, record.run, record.restarts], ["running", second, 2, 1]);
  assert.deepEqual(pidsIn(procman.folder), [first, second]);
});

test("2.2 restart: changes after the keeper got its restart order still apply: env file, log file, block", async (context) => {
  const cmd = 'echo "said $WORD"; exec sleep 1000';
  const withLogFile = (stdout: string) => ({ id: "logged", cmd, ...steady, env: { WORD: "all" }, logger: { stdout } });
  const others = [
    { id: "file", cmd, envFile: ".env", ...steady },
    { id: "blocked", cmd, ...steady, env: { WORD: "nothing" } },
  ];
  const folder = folderWith(context, { processes: [withLogFile("one.log"), ...others] });
  const read = (name: string): string =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "";
  writeFileSync(join(folder, ".env"), "WORD=one\n");
  const procman = new Procman(folder);
  for (const id of ["file", "blocked"]) await procman.line(new RegExp(`${id} .*said`));
  await settled(procman, "logged");
  writeFileSync(join(folder, ".env"), "WORD=two\n");
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ processes: [withLogFile("two.log"), ...others] }));
  assert.equal((await cli(folder, ["reload"])).code, 0);
  assert.equal((await cli(folder, ["block", "blocked"])).code, 0);
  for (const id of ["logged", "file", "blocked"])
    process.kill(pidIn(await procman.line(new RegExp(`^${id} .*started`))), "SIGKILL");
  await procman.line(/file .*said two/);
  await procman.line(/blocked .*killed by SIGKILL.*not restarted: it is blocked/);
  await eventually(() => (/said all/.test(read("two.log")) ? true : undefined));
  assert.deepEqual(
    [read("one.log").match(/said/g)?.length, procman.lines.filter((line) => /said nothing/.test(line)).length],
    [1, 1],
  );
});

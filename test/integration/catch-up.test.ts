/** Missed starts that are made up for: procman ends, or is killed, and runs again later. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { procman as cli } from "../support/cli.ts";
import { eventually, folderWith, type ProcessConfig, Procman } from "../support/procman-process.ts";

const NIGHTLY = "0 3 * * *";
const job = (more: object = {}): ProcessConfig => ({
  id: "job",
  cmd: "echo ran >> runs",
  cron: NIGHTLY,
  catchUp: true,
  ...more,
});
const steady = { id: "steady", cmd: "sleep 1000", autostart: true };
const DAY_MS = 24 * 3_600_000;

/** The state that an earlier procman has left. */
function missedIn(folder: string, planned: number): void {
  writeFileSync(
    join(folder, ".procman/procman/lasting.json"),
    JSON.stringify({ plans: { job: { cron: NIGHTLY, planned } } }),
  );
}

const runsIn = (folder: string): number => {
  const file = join(folder, "runs");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
};

function run(context: TestContext, folder: string): Procman {
  const procman = new Procman(folder);
  context.after(async () => {
    if (procman.child.exitCode === null && procman.child.signalCode === null) await procman.stop("SIGTERM");
  });
  return procman;
}

/** A folder in which procman has run before. */
async function folderAfterRun(context: TestContext, ...processes: readonly ProcessConfig[]): Promise<string> {
  const folder = folderWith(context, { processes: [...processes, steady] });
  const first = run(context, folder);
  await first.line(/steady .*started/);
  await first.stop("SIGTERM");
  return folder;
}

test("2.2 cron, catchUp: the next start outlives the end of procman; what is missed by then is made up for once", async (context) => {
  const folder = await folderAfterRun(context, job());
  const stored = JSON.parse(readFileSync(join(folder, ".procman/procman/lasting.json"), "utf8")) as {
    readonly plans: { readonly job: { readonly planned: number } };
  };
  assert.equal(new Date(stored.plans.job.planned).getHours(), 3);
  assert.ok(stored.plans.job.planned > Date.now());
  missedIn(folder, stored.plans.job.planned - 3 * DAY_MS);
  const late = run(context, folder);
  await late.line(/job .*its schedule was missed [23] times .* while procman was not running; it runs once now/);
  await late.line(/job .*starts by its schedule/);
  await eventually(() => runsIn(folder) || undefined);
  const why = await cli(folder, ["why", "job"]);
  assert.match(why.out, /Its schedule was missed [23] times .* It was started once when procman was back\./);
  await late.stop("SIGTERM");
  const again = run(context, folder);
  await again.line(/steady .*started/);
  await cli(folder, ["status"]);
  assert.equal(runsIn(folder), 1);
  assert.ok(!again.lines.some((line) => /was missed|by its schedule/.test(line)), again.lines.join("\n"));
});

test("2.2 cron, catchUp: a process that was removed meanwhile, or has another schedule now, has missed nothing", async (context) => {
  const folder = await folderAfterRun(context, job());
  const configure = (...processes: readonly ProcessConfig[]): void =>
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ processes: [...processes, steady] }));
  const visit = async (): Promise<void> => {
    const procman = run(context, folder);
    await procman.line(/steady .*started/);
    await cli(folder, ["status"]);
    await procman.stop("SIGTERM");
    assert.ok(!procman.lines.some((line) => /was missed/.test(line)), procman.lines.join("\n"));
  };
  missedIn(folder, Date.now() - 3 * DAY_MS);
  configure(job({ cron: "0 4 * * *" }));
  await visit();
  missedIn(folder, Date.now() - 3 * DAY_MS);
  configure();
  await visit();
  configure(job());
  await visit();
  assert.equal(runsIn(folder), 0);
});

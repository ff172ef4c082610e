/** Entries of the log are in the order of what happened: "started" before the first line of a run, its end behind the last. docs/guide/logs.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry } from "../../src/core/contract/records.ts";
import { procman as cli } from "../support/cli.ts";
import { eventually, type Procman, processExit, startProcman } from "../support/procman-process.ts";

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `p${index + 1}`);

async function entriesIn(folder: string): Promise<readonly LogEntry[]> {
  const { out } = await cli(folder, ["logs", "-n", "10000", "--json"]);
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LogEntry);
}

/** What a run has, in order: lines, and the verbs of its lifecycle. */
const verbsOf = (entries: readonly LogEntry[], id: string): readonly string[] =>
  entries
    .filter(({ process }) => process === id)
    .map(({ category, text }) => (category === "lifecycle" ? (text.split(" ")[0] ?? "") : text));

function checkTimes(entries: readonly LogEntry[]): void {
  const times = entries.map(({ time }) => time);
  assert.deepEqual(times, times.toSorted(), "no time is before the one above it");
}

test("2.4 logs: each of 20 short runs has started, line and end in this order, on the console and in the store, never back in time", async (context) => {
  const names = ids(20);
  const processes = names.map((id) => ({ id, cmd: "echo one", autostart: true, logger: { console: true } }));
  const procman = await startProcman(context, processes);
  for (const id of names) await procman.line(new RegExp(`^${id} .*finished`));
  const entries = await entriesIn(procman.folder);
  for (const id of names) {
    assert.deepEqual(verbsOf(entries, id), ["started", "one", "finished"], id);
    const shown = procman.lines.filter((line) => line.startsWith(`${id} `)).map((line) => /\| (\w+)/.exec(line)?.[1]);
    assert.deepEqual(shown, ["started", "one", "finished"], `${id} on the console`);
  }
  checkTimes(entries);
});

test("2.4 logs: why a run is stopped stands above what the process prints because of it, and its end below", async (context) => {
  const names = ids(12);
  const [stopped, slow] = [names.slice(0, 9), names.slice(9)];
  const cmd = "trap 'echo bye; exit' TERM; echo ready; sleep 1000 & wait";
  const procman = await startProcman(
    context,
    names.map((id) => ({
      ...{ id, cmd, autostart: true, restart: "never", logger: { console: true } },
      ...(slow.includes(id) && { timeout: 1 }),
    })),
  );
  for (const id of names) await procman.line(new RegExp(`^${id} +\\| ready`));
  for (const id of stopped.slice(0, 6)) assert.equal((await cli(procman.folder, ["stop", id])).code, 0);
  for (const id of slow) await procman.line(new RegExp(`^${id} +\\| exited`));
  assert.equal((await cli(procman.folder, ["stop", "all"])).code, 0);
  const entries = (await entriesIn(procman.folder)).filter(({ category }) => category !== "api");
  for (const id of names) {
    const ending = slow.includes(id) ? ["exceeded", "bye", "exited"] : ["bye", "stopped"];
    assert.deepEqual(verbsOf(entries, id), ["started", "ready", ...ending], id);
    const shown = procman.lines
      .filter((line) => line.startsWith(`${id} `) && !/\| stop for/.test(line))
      .map((line) => /\| (\w+)/.exec(line)?.[1]);
    assert.deepEqual(shown, ["started", "ready", ...ending], `${id} on the console`);
  }
});

/** Each run prints its pid: "started" with the pid stands before that line, and both are there once. */
function checkStarts(texts: readonly string[], runs: number): void {
  const pids = texts.flatMap((text) => /\bI am (\d+)/.exec(text)?.[1] ?? []);
  assert.ok(pids.length >= runs, `${pids.length} runs`);
  for (const pid of pids) {
    const found = texts.filter((text) => new RegExp(`\\b(I am|pid) ${pid}\\b`).test(text));
    assert.match(found[0] ?? "", /started \(pid/, `${pid}: ${found.join(" | ")}`);
    assert.equal(found.length, 2, found.join(" | "));
  }
}

async function checkRuns(procman: Procman, runs: number): Promise<void> {
  checkStarts(procman.lines, runs);
  const entries = await entriesIn(procman.folder);
  checkStarts(
    entries.map(({ text }) => text),
    runs,
  );
  checkTimes(entries);
}

test("2.4 logs: started is before the first line of overlapping runs, and of runs that the keeper restarts at once", async (context) => {
  const fast = { autostart: true, restart: "always", restartDelayMs: 0, logger: { console: true } };
  const procman = await startProcman(context, [
    { id: "over", cmd: "echo I am $$; exec sleep 1000", overrun: true, autostart: true, logger: { console: true } },
    ...ids(4).map((id) => ({ id, cmd: "echo I am $$; exec sleep 1.5", ...fast })),
  ]);
  await procman.line(/^over .*started/);
  for (let run = 2; run <= 5; run += 1) assert.equal((await cli(procman.folder, ["start", "over"])).code, 0);
  await procman.count(/^p\d .*I am/, 12);
  await procman.count(/^over .*I am/, 5);
  await checkRuns(procman, 17);
});

test("2.4 logs: started is before the first line when the service is killed amid restarts", async (context) => {
  const fast = { autostart: true, restart: "always", restartDelayMs: 0, logger: { console: true } };
  const procman = await startProcman(
    context,
    ids(6).map((id, index) => ({ id, cmd: `echo I am $$; exec sleep 1.${index}`, ...fast })),
  );
  await procman.count(/I am/, 6);
  for (let kill = 1; kill <= 4; kill += 1) {
    const service = procman.helper("service");
    const { length } = procman.lines;
    process.kill(service, "SIGKILL");
    await processExit(service);
    await eventually(() => procman.helperIfUp("service"));
    // A start that the new service has reported.
    await procman.line(/started \(pid/, length + 1);
  }
  const { length } = procman.lines;
  await procman.until(
    () => (procman.lines.slice(length).filter((line) => /I am/.test(line)).length >= 6 ? true : undefined),
    "6 runs",
  );
  await checkRuns(procman, 14);
});

test("2.4 logs: while the service hangs, output is a second late at most", async (context) => {
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: "echo I am $$; exec sleep 2",
      autostart: true,
      restart: "always",
      restartDelayMs: 0,
      logger: { console: true },
    },
  ]);
  await procman.count(/started/, 2);
  await procman.count(/I am/, 2);
  const [service, now, first] = [procman.helper("service"), performance.now(), procman.lines.length];
  // By then the keeper has the next restart order.
  await eventually(() => (performance.now() - now > 1_600 ? true : undefined));
  process.kill(service, "SIGSTOP");
  try {
    await procman.line(/I am/, first);
  } finally {
    process.kill(service, "SIGCONT");
  }
  await procman.count(/started/, 3);
});

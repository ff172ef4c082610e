/** The log store of the built procman has the same lines as the files, also after kills. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Category } from "../../src/core/contract/records.ts";
import { followLogs } from "../../src/core/log-store/follow.ts";
import { lastLines, readLogs } from "../../src/core/log-store/log-pages.ts";
import { eventually, type Procman, processExit, startProcman } from "../support/procman-process.ts";

const PRINT_FAST = `${process.execPath} "${fileURLToPath(new URL("../programs/print-fast.js", import.meta.url))}"`;
const MARK = /^\[procman: /;
/** What a killed logger may have written to only one of store and file: the data of one turn. */
const MOST_OTHERWISE = 128 * 1024;
const MEGABYTES = 2_000_000;

async function storedLines(procman: Procman, process: string, category: Category): Promise<readonly string[]> {
  const texts: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = { processes: [process], categories: [category], order: "asc", limit: 10_000 } as const;
    const page = await readLogs(procman.stateDir, cursor === undefined ? query : { ...query, cursor });
    for (const { text } of page.entries) texts.push(text);
    if (page.next === undefined) return texts;
    cursor = page.next;
  }
}

function fileLines(procman: Procman, name: string): readonly string[] {
  const lines = readFileSync(join(procman.folder, "logs", name), "utf8").split("\n");
  return lines.slice(0, -1).filter((line) => !MARK.test(line));
}

/** Both are equal except for a part in the middle, where the logger was killed. */
function checkAlike(one: readonly string[], other: readonly string[], most: number): void {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  for (const lines of [one, other]) {
    const otherwise = lines.slice(start, lines.length - end);
    assert.ok(otherwise.join("\n").length <= most, `${otherwise.length} lines differ, from "${otherwise[0]}" on`);
  }
}

async function waitForGrowth(path: string): Promise<void> {
  const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const from = size();
  await eventually(() => (size() > from + MEGABYTES ? true : undefined));
}

for (const [name, kills, most] of [
  ["the service is killed and the logger replaced", ["service", "replace", "service"], 0],
  ["service and logger are killed", ["service", "logger"], MOST_OTHERWISE],
] as const)
  test(`${name} under two floods of lines: the store has what the files have, and a follower what the store has`, async (context) => {
    const go = join(process.env.TMPDIR ?? "/tmp", `procman-store-go-${process.pid}-${most}`);
    writeFileSync(go, "");
    context.after(() => rmSync(go, { force: true }));
    const logger = { stdout: "logs/{id}.log", stderr: "logs/{id}.err" };
    const processes = ["a", "b"].map((id) => ({ id, cmd: `${PRINT_FAST} ${id} 0 0 "${go}"`, autostart: true, logger }));
    const procman = await startProcman(context, processes, { config: { logger: { console: false } } });
    const abort = new AbortController();
    context.after(() => abort.abort());
    const file = join(procman.folder, "logs/a.log");
    await waitForGrowth(file);
    const followed: string[] = [];
    const following = (async () => {
      const query = { processes: ["a"], categories: ["stdout"], from: 0 } as const;
      for await (const item of followLogs(procman.stateDir, query, abort.signal)) {
        assert.ok(item.type === "entry");
        followed.push(item.entry.text);
        if (item.entry.text.startsWith("a out end")) return;
      }
    })();
    for (const kill of kills) {
      const pid = await eventually(() => procman.helperIfUp(kill === "replace" ? "logger" : kill));
      assert.ok(pid > 1);
      process.kill(pid, kill === "replace" ? "SIGUSR1" : "SIGKILL");
      await processExit(pid);
      await waitForGrowth(file);
    }
    rmSync(go);
    await following;
    await procman.count(/everything|finished|exited|ended/, 2);
    await procman.stop();
    for (const id of ["a", "b"]) {
      checkAlike(await storedLines(procman, id, "stdout"), fileLines(procman, `${id}.log`), most);
      checkAlike(await storedLines(procman, id, "stderr"), fileLines(procman, `${id}.err`), most);
    }
    assert.deepEqual(followed, await storedLines(procman, "a", "stdout"));
    const marks = (await readLogs(procman.stateDir, { processes: ["a"], categories: ["service"] })).entries;
    assert.equal(marks.length, most === 0 ? 0 : 1);
    const own = (await readLogs(procman.stateDir, { processes: ["a"], categories: ["lifecycle"], order: "asc" }))
      .entries;
    assert.match(own[0]?.text ?? "", /^started \(pid \d+\)/);
    const last = await lastLines(procman.stateDir, { process: "a", run: 1, count: 2 });
    assert.ok(last.some(({ text }) => /^a (out|err) end \d+$/.test(text)));
  });

test("2.3 without internal logs nothing is stored", async (context) => {
  const procman = await startProcman(
    context,
    [{ id: "web", cmd: "echo hello", autostart: true, logger: { console: true } }],
    {
      config: { logger: { internalLogHours: 0 } },
    },
  );
  await procman.line(/hello/);
  await procman.stop();
  assert.deepEqual(await readLogs(procman.stateDir, {}), { entries: [] });
});

test("the output of a process without log file and console is stored", async (context) => {
  const procman = await startProcman(context, [{ id: "web", cmd: "echo hello; echo oops >&2", autostart: true }]);
  await procman.line(/web .*(exited|ended|finished)/);
  await procman.stop();
  const { entries } = await readLogs(procman.stateDir, { processes: ["web"], categories: ["stdout", "stderr"] });
  const seen = entries
    .map(({ time: _time, ...entry }) => entry)
    .sort((one, two) => one.category.localeCompare(two.category));
  assert.deepEqual(seen, [
    { process: "web", run: 1, severity: "error", category: "stderr", text: "oops" },
    { process: "web", run: 1, severity: "info", category: "stdout", text: "hello" },
  ]);
});

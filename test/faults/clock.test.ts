/** The wall clock jumps by hours (libfaketime): only schedules and time stamps depend on it. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { folderFor, program, startRig, waitForGrowth } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";
import { skip } from "../support/skip.ts";

const HOUR_MS = 3_600_000;

/** Where Debian and others put it. */
function libfaketime(): string | undefined {
  const folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].filter((each) => existsSync(each));
  const places = folders.flatMap((each) => [each, ...readdirSync(each).map((name) => join(each, name))]);
  return places.map((place) => join(place, "faketime/libfaketime.so.1")).find((file) => existsSync(file));
}

/** A procman with a wall clock that `set` moves. */
async function withClock(context: TestContext, processes: (folder: string) => Parameters<typeof startRig>[2]) {
  const library = libfaketime();
  if (library === undefined) return skip(context, "libfaketime is not installed");
  const folder = folderFor(context);
  const offset = join(folder, "offset");
  const set = (hours: number): void => {
    writeFileSync(`${offset}.tmp`, `${hours >= 0 ? "+" : ""}${hours}h`);
    renameSync(`${offset}.tmp`, offset);
  };
  set(0);
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: offset,
    FAKETIME_NO_CACHE: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
  };
  return { rig: await startRig(context, folder, processes(folder), { env }), set, folder };
}

test("a clock that jumps hours ahead and back restarts no process and ends no timeout early; log times follow it", async (context) => {
  const world = await withClock(context, (folder) => [
    {
      id: "print",
      cmd: program(folder, "printer", "print", 5_000, 50),
      autostart: true,
      restart: "always",
      logger: { stdout: "logs/print.log" },
    },
    {
      id: "ticks",
      cmd: "while echo tick; do sleep 0.1; done",
      autostart: true,
      timeout: 600,
      logger: { stdout: "logs/ticks.log", decorateFiles: true },
    },
  ]);
  if (world === undefined) return;
  const { rig, set, folder } = world;
  const lastStamp = (): number =>
    Date.parse(/(\S+Z) tick\n$/.exec(readFileSync(join(folder, "logs/ticks.log"), "utf8"))?.[1] ?? "");
  const logTimesFollow = (hours: number) =>
    eventually(() => (Math.abs(lastStamp() - Date.now() - hours * HOUR_MS) < 60_000 ? true : undefined));
  await waitForGrowth(rig, "print");
  await logTimesFollow(0);
  const before = await rig.records();
  for (const hours of [5, -3, 0]) {
    set(hours);
    await logTimesFollow(hours);
    await waitForGrowth(rig, "print", 100_000);
  }
  const pids = (records: typeof before): readonly unknown[] =>
    records.map(({ id, pid, run, restarts }) => [id, pid, run, restarts]);
  assert.deepEqual(pids(await rig.records()), pids(before));
  assert.deepEqual(await rig.verdict(), []);
});

test("a clock that jumps while a log file can't be written, is renamed by others or rotates: no line is lost", async (context) => {
  const printer = (folder: string, id: string, rotate: unknown) => ({
    id,
    cmd: program(folder, "printer", id, 20_000, 20),
    autostart: true,
    restart: "always",
    logger: { stdout: `logs/${id}.log`, rotate },
  });
  const world = await withClock(context, (folder) => [
    printer(folder, "print", false),
    printer(folder, "print-rotated", { size: "100KB", total: "1GB", gzip: true }),
  ]);
  if (world === undefined) return;
  const { rig, set, folder } = world;
  const path = join(folder, "logs/print.log");
  // As rotated files they count for the verdict.
  let renames = 0;
  const moveAside = (): void => renameSync(path, `${path}.20260101T00000000${++renames}Z`);
  for (const hours of [5, -3, 0]) {
    await waitForGrowth(rig, "print", 50_000);
    moveAside();
    set(hours);
    await eventually(() => existsSync(path) || undefined);
    const printed = rig.output().length - 1;
    for (let isThere = false; !isThere; ) {
      moveAside();
      isThere = mkdirSync(path, { recursive: true }) !== undefined;
    }
    await eventually(() =>
      rig
        .output()
        .slice(printed)
        .find((line) => /Cannot write .*print\.log/.test(line)),
    );
    set(hours + 5);
    // At least one further attempt fails.
    await new Promise((resolve) => setTimeout(resolve, 600));
    rmdirSync(path);
    await waitForGrowth(rig, "print", 50_000);
    await eventually(() =>
      readdirSync(join(folder, "logs")).filter((name) => /^print-rotated.*gz$/.test(name)).length > renames
        ? true
        : undefined,
    );
  }
  assert.deepEqual(await rig.verdict(), []);
});

test("2.2 cron: a clock that jumps hours ahead leads to one run, one that jumps back to no gap and no overlapping run", async (context) => {
  // Half an hour away: not met by time that really passes.
  const minute = (new Date().getMinutes() + 30) % 60;
  const world = await withClock(context, () => [
    { id: "often", cmd: "date +%s.%N >> often; sleep 0.3", cron: "* * * * * *" },
    { id: "hourly", cmd: "echo ran >> hourly", cron: `0 ${minute} * * * *` },
  ]);
  if (world === undefined) return;
  const { rig, set, folder } = world;
  const count = (file: string): number =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim().split("\n").length : 0;
  const more = async (runs: number): Promise<void> => {
    const from = count("often");
    await eventually(() => (count("often") >= from + runs ? true : undefined));
  };
  await more(2);
  const hourly = count("hourly");
  set(5);
  await eventually(() => (count("hourly") > hourly ? true : undefined));
  await more(3);
  assert.equal(count("hourly"), hourly + 1, "five times were due, and one run started");
  set(-2);
  await more(3);
  assert.equal(count("hourly"), hourly + 1, "no run after the clock went back");
  const ends = await rig.verdict();
  assert.deepEqual(ends, []);
  const runs = [...rig.procman.journal.runs.values()].filter(({ slot }) => slot.startsWith("often"));
  assert.ok(
    runs.every(({ slot }) => slot === "often"),
    "no overlapping runs",
  );
});

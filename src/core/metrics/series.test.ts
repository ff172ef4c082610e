/** Time series of CPU and memory, in memory and on disk. */
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type DownsampledPoint, summed } from "./downsample.ts";
import { MetricSeries } from "./series.ts";
import { blockOf, pointsIn } from "./series-file.ts";
import { SeriesStore } from "./series-store.ts";

const HOUR = 3_600_000;
/** A full hour. */
const NOON = Date.UTC(2026, 5, 1, 12);

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "procman-metrics-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const sample = (cpuPercent: number, memoryBytes: number) => ({
  cpuPercent,
  memoryBytes,
  processes: 1,
  cpuSeconds: 0,
  leaders: [],
});
const point = (at: number, cpuPercent: number): DownsampledPoint => ({
  at,
  cpuPercent,
  memoryBytes: 1_024,
  processes: 1,
});

function metrics(stateDir: string, hours = 24) {
  const problems: string[] = [];
  return {
    problems,
    metrics: new MetricSeries({ stateDir, hours: () => hours, report: (problem) => problems.push(problem) }),
  };
}

test("points survive the service: fine ones of the last hour, one a minute before that", async (context) => {
  const stateDir = folder(context);
  const first = metrics(stateDir).metrics;
  const start = NOON - 2 * HOUR;
  for (let at = start; at < NOON; at += 5_000)
    first.add(new Map([["web", sample(at < NOON - HOUR ? 10 : 20, 1_048_576)]]), at);
  const { metrics: second, problems } = metrics(stateDir);
  const all = await second.read(["web"], { from: 0 }, NOON);
  const minutes = all.filter(({ time }) => Date.parse(time) < NOON - HOUR);
  assert.equal(minutes.length, 60);
  assert.equal(all.length - minutes.length, 720 - 1, "the last step was not over");
  assert.deepEqual(all[0], {
    time: new Date(start).toISOString(),
    cpuPercent: 10,
    memoryBytes: 1_048_576,
    processes: 1,
  });
  assert.deepEqual(all.at(-1), {
    time: new Date(NOON - 10_000).toISOString(),
    cpuPercent: 20,
    memoryBytes: 1_048_576,
    processes: 1,
  });
  const times = all.map(({ time }) => time);
  assert.deepEqual(times, [...new Set(times)].sort(), "none twice, none out of order");
  assert.equal((await second.read(["web"], {}, NOON)).length, 719, "without times the last hour");
  assert.equal((await second.read(["web"], { from: start, to: start + 600_000, stepSeconds: 300 }, NOON)).length, 2);
  assert.deepEqual(await second.read(["api"], {}, NOON), [], "processes are not mixed up");
  assert.deepEqual(problems, []);
});

test("points that are not on disk yet are in memory", async (context) => {
  const { metrics: store } = metrics(folder(context));
  store.add(new Map([["web", sample(30, 5)]]), NOON);
  store.add(new Map([["web", sample(50, 9)]]), NOON + 1_000);
  const [only, ...others] = await store.read(["web"], {}, NOON + 2_000);
  assert.deepEqual([only?.cpuPercent, only?.memoryBytes, others.length], [40, 9, 0], "mean CPU, highest memory");
  assert.equal(store.recent("web", NOON + 2_000).length, 1);
  assert.deepEqual(store.recent("web", NOON + HOUR), [], "of a run long ago");
});

test("internalLogHours 0: nothing is written, the last five minutes are in memory", async (context) => {
  const stateDir = folder(context);
  const { metrics: store } = metrics(stateDir, 0);
  for (let at = NOON; at < NOON + HOUR; at += 5_000) store.add(new Map([["web", sample(1, 1)]]), at);
  assert.deepEqual(readdirSync(stateDir), []);
  assert.equal((await store.read(["web"], {}, NOON + HOUR)).length, 61);
});

test("points that are too old are deleted with their files", async (context) => {
  const stateDir = folder(context);
  const store = new SeriesStore({ stateDir, hours: () => 24, report: assert.fail });
  for (let hour = 0; hour < 80; hour++) {
    store.append("minute", NOON + hour * HOUR, new Map([["web", point(0, hour)]]));
    store.append("fine", NOON + hour * HOUR, new Map([["web", point(0, hour)]]));
  }
  assert.ok(readdirSync(join(stateDir, "metrics")).length <= 5, readdirSync(join(stateDir, "metrics")).join(" "));
  const now = NOON + 79 * HOUR;
  const points = (await store.read(["web"], 0, Number.POSITIVE_INFINITY, now)).get("web") ?? [];
  assert.ok(points.every(({ at }) => at >= now - 24 * HOUR));
  assert.equal(points.length, 25);
});

test("the folder has a size limit: the oldest files are deleted", (context) => {
  const stateDir = folder(context);
  const store = new SeriesStore({ stateDir, hours: () => 366, report: assert.fail, limitBytes: 4_000 });
  const points = new Map(Array.from({ length: 100 }, (_, index) => [`web-${index}`, point(0, 1)]));
  for (let day = 0; day < 10; day++) store.append("minute", NOON + day * 24 * HOUR, points);
  const sizes = readdirSync(join(stateDir, "metrics")).map((name) => statSync(join(stateDir, "metrics", name)).size);
  assert.ok(sizes.length < 5 && sizes.length > 1, sizes.join(" "));
});

test("a block cut off by a kill is ignored, and later ones are read", async (context) => {
  const stateDir = folder(context);
  const options = { stateDir, hours: () => 24, report: assert.fail };
  new SeriesStore(options).append("fine", NOON, new Map([["web", point(0, 1)]]));
  const [name = ""] = readdirSync(join(stateDir, "metrics"));
  appendFileSync(join(stateDir, "metrics", name), Buffer.from("PMM1\x05\0\0\0torn", "latin1"));
  const next = new SeriesStore(options);
  next.append("fine", NOON + 5_000, new Map([["web", point(0, 2)]]));
  const points = (await next.read(["web"], 0, Number.POSITIVE_INFINITY, NOON + 6_000)).get("web");
  assert.deepEqual(
    points?.map(({ cpuPercent }) => cpuPercent),
    [1, 2],
  );
});

test("a write error is reported once, and writing is tried again", async (context) => {
  const stateDir = folder(context);
  writeFileSync(join(stateDir, "metrics"), "in the way");
  const problems: string[] = [];
  const store = new SeriesStore({ stateDir, hours: () => 24, report: (problem) => problems.push(problem) });
  for (let at = NOON; at < NOON + 15_000; at += 5_000) store.append("fine", at, new Map([["web", point(0, 1)]]));
  assert.equal(problems.length, 1);
  assert.match(problems[0] ?? "", /^Cannot keep metrics in .*; processes keep running$/);
  rmSync(join(stateDir, "metrics"));
  store.append("fine", NOON + 20_000, new Map([["web", point(0, 1)]]));
  assert.equal((await store.read(["web"], 0, Number.POSITIVE_INFINITY, NOON + 21_000)).get("web")?.length, 1);
  rmSync(join(stateDir, "metrics"), { recursive: true });
  store.append("fine", NOON + 30_000, new Map([["web", point(0, 1)]]));
  assert.equal(
    (await store.read(["web"], 0, Number.POSITIVE_INFINITY, NOON + 31_000)).get("web")?.length,
    1,
    "a removed folder is made again",
  );
});

test("values of a cluster are the sums of its instances", () => {
  const series = [[point(0, 10), point(60_000, 10)], [point(0, 5)]];
  assert.deepEqual(
    summed(series, 60_000).map(({ at, cpuPercent, memoryBytes, instances }) => [
      at,
      cpuPercent,
      memoryBytes,
      instances,
    ]),
    [
      [0, 15, 2_048, 2],
      [60_000, 10, 1_024, 1],
    ],
  );
});

test("a block whose time is damaged is left out", () => {
  const [damaged, sound] = [
    blockOf(Number.NaN, new Map([["web", point(1, 1)]])),
    blockOf(NOON, new Map([["web", point(NOON, 2)]])),
  ];
  assert.deepEqual(pointsIn(Buffer.concat([damaged, sound]), ["web"], 0, NOON + 1).get("web"), [point(NOON, 2)]);
});

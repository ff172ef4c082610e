import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { eventually } from "../../../test/support/procman-process.ts";
import { allPages, DAY, stateDir, TestStore, texts, WEB } from "../../../test/support/store-rig.ts";
import type { LogQuery } from "../contract/records.ts";
import { SegmentCompressor } from "./compressor.ts";
import { readLogs } from "./log-pages.ts";
import { repair, retire } from "./maintenance.ts";
import type { RecordSource } from "./record.ts";
import { logsFolder, remove, segmentFile, segmentsIn, unfinishedFile } from "./segment-files.ts";

const packer = (): SegmentCompressor => new SegmentCompressor(() => false);

type Written = { readonly segment: number; readonly end: number; readonly origin: RecordSource; readonly text: string };

const origin = fc.record({
  process: fc.constantFrom("web", "db", "pool-1", "a"),
  run: fc.constantFrom(1, 2),
  category: fc.constantFrom("stdout" as const, "stderr" as const),
  severity: fc.constantFrom("info" as const, "error" as const),
});
const line = fc.string({
  unit: fc.constantFrom("a", "A", "b", "ä", "Ä", " ", "\r", "\0", "€", "😀", "PML1"),
  maxLength: 12,
});
const write = fc.record({
  do: fc.constant("write" as const),
  origin,
  lines: fc.array(line, { minLength: 1, maxLength: 5 }),
});
const step = fc.oneof(
  { weight: 6, arbitrary: write },
  fc.record({ do: fc.constant("large" as const), origin, bytes: fc.nat(600_000) }),
  fc.record({ do: fc.constant("kill" as const), cut: fc.nat(300) }),
  fc.record({ do: fc.constantFrom("handover" as const, "pack" as const, "unindex" as const) }),
);
const query: fc.Arbitrary<LogQuery> = fc.record(
  {
    processes: fc.subarray(["web", "db", "pool", "pool-1", "none"]),
    severity: fc.constantFrom("info" as const, "error" as const),
    categories: fc.subarray(["stdout" as const, "stderr" as const, "service" as const]),
    search: fc.constantFrom("a", "AB", "ä", "a😀", "€", "x"),
    limit: fc.constantFrom(1, 2, 3, 7, 1000),
    order: fc.constantFrom("asc" as const, "desc" as const),
  },
  { requiredKeys: ["limit"] },
);

function isWanted(
  { origin: of, text }: Written,
  { processes = [], severity, categories = [], search = "" }: LogQuery,
): boolean {
  const names = [of.process, of.process === "pool-1" ? "pool" : ""];
  if (processes.length > 0 && !processes.some((name) => names.includes(name))) return false;
  if (severity === "error" && of.severity !== "error") return false;
  if (categories.length > 0 && !categories.includes(of.category)) return false;
  return text.toLowerCase().includes(search.toLowerCase());
}

test("after any writes, kills, hand-overs and compressions, each query finds exactly what was stored", async (context) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 25 }),
      fc.array(query, { minLength: 1, maxLength: 4 }),
      async (steps, queries) => {
        const dir = stateDir(context);
        const folder = logsFolder(dir);
        let writing = new TestStore(dir);
        let written: Written[] = [];
        const own = (): number | undefined => segmentsIn(folder).findLast(({ stage }) => stage === "open")?.number;
        const add = async (by: RecordSource, lines: readonly string[]): Promise<void> => {
          // An instance, if the id looks like one.
          const whole = by.process === "pool-1" ? { ...by, instance: 1 } : by;
          writing.lines(whole, ...lines);
          await writing.settled();
          const segment = own() as number;
          const end = statSync(segmentFile(folder, { number: segment, stage: "open" })).size;
          written.push(...lines.map((text) => ({ segment, end, origin: by, text })));
        };
        for (const each of steps) {
          const segment = own();
          if (each.do === "write") await add(each.origin, each.lines);
          else if (each.do === "large") await add(each.origin, ["a".repeat(each.bytes)]);
          else if (each.do === "pack") await packer().run(folder);
          else if (each.do === "unindex" && segment !== undefined)
            rmSync(join(folder, `${segment}.index`), { force: true });
          else if (each.do === "handover") {
            writing.store.end();
            writing = new TestStore(dir);
          } else if (each.do === "kill" && segment !== undefined) {
            const path = segmentFile(folder, { number: segment, stage: "open" });
            const size = Math.max(0, statSync(path).size - each.cut);
            truncateSync(path, size);
            written = written.filter((entry) => entry.segment !== segment || entry.end <= size);
            repair(folder, segment);
            writing = new TestStore(dir);
          }
        }
        for (const asked of queries) {
          const expected = written.filter((entry) => isWanted(entry, asked)).map(({ text }) => text);
          const entries = (await allPages(dir, asked)).map(({ text }) => text);
          assert.deepEqual(entries, asked.order === "asc" ? expected : expected.reverse());
        }
        writing.store.end();
        rmSync(dir, { recursive: true, force: true });
      },
    ),
    { numRuns: 60 },
  );
});

test("a record torn at any byte is not shown, and is cut off by the repair", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, "first", "second");
  await writing.settled();
  const [{ number } = { number: 0 }] = segmentsIn(writing.folder);
  const open = segmentFile(writing.folder, { number, stage: "open" });
  const whole = statSync(open).size;
  writing.lines(WEB, "third");
  await writing.settled();
  const bytes = readFileSync(open);
  writing.store.end();
  for (let size = bytes.length - 1; size >= whole; size -= 1) {
    for (const damage of [
      bytes.subarray(0, size),
      Buffer.concat([bytes.subarray(0, size), Buffer.alloc(bytes.length - size)]),
    ]) {
      remove(writing.folder, number);
      writeFileSync(open, damage);
      assert.deepEqual(await texts(dir), ["first", "second"]);
      repair(writing.folder, number);
      assert.equal(statSync(segmentFile(writing.folder, { number, stage: "log" })).size, whole);
      assert.deepEqual(await texts(dir), ["first", "second"]);
    }
  }
});

test("a segment that was created and never written is deleted by the repair", (context) => {
  const folder = logsFolder(stateDir(context));
  mkdirSync(folder);
  writeFileSync(segmentFile(folder, { number: 5, stage: "open" }), "PML");
  repair(folder, 5);
  assert.deepEqual(readdirSync(folder), []);
});

test("segments that are too old are deleted, then the oldest that exceed the size; cursors continue at the oldest that is left", async (context) => {
  const dir = stateDir(context);
  for (const text of ["one", "two", "three"]) {
    const { store, ...writing } = new TestStore(dir);
    store.addMessage({ category: "service", severity: "info", at: Date.now(), text: text.repeat(1000) });
    store.end();
    assert.deepEqual(writing.reports, []);
  }
  const folder = logsFolder(dir);
  const numbers = segmentsIn(folder).map(({ number }) => number);
  const { next = "" } = await readLogs(dir, { order: "asc", limit: 1 });
  const short = async (query?: LogQuery): Promise<readonly string[]> =>
    (await texts(dir, query)).map((text) => text.slice(0, 3));
  retire(folder, { hours: 1, bytes: 1e9 }, Date.now());
  assert.deepEqual(await short(), ["one", "two", "thr"]);
  retire(folder, { hours: 1, bytes: 10_000 }, Date.now());
  assert.deepEqual(await short(), ["two", "thr"]);
  const old = Date.now() / 1000 - 3700;
  utimesSync(segmentFile(folder, { number: numbers[1] ?? 0, stage: "log" }), old, old);
  retire(folder, { hours: 1, bytes: 1e9 }, Date.now());
  assert.deepEqual(await short(), ["thr"]);
  assert.deepEqual(await short({ order: "asc", cursor: next }), ["thr"]);
  assert.deepEqual(readdirSync(folder).length, 3);
});

test("a segment that another running logger compresses is left to it, however old its file looks; that of a killed logger is replaced", async (context) => {
  const dir = stateDir(context);
  const { store } = new TestStore(dir);
  store.addMessage({ category: "service", severity: "info", at: Date.now(), text: "kept" });
  store.end();
  const folder = logsFolder(dir);
  const number = segmentsIn(folder)[0]?.number ?? 0;
  const other = spawn("sleep", ["1000"]);
  context.after(() => other.kill("SIGKILL"));
  const half = unfinishedFile(folder, number, `${other.pid}-0a0b`);
  writeFileSync(half, "half");
  utimesSync(half, 1, 1);
  await packer().run(folder);
  assert.deepEqual([segmentsIn(folder)[0]?.stage, readFileSync(half, "utf8")], ["log", "half"]);
  const ended = once(other, "exit");
  other.kill("SIGKILL");
  await ended;
  await packer().run(folder);
  assert.deepEqual([segmentsIn(folder)[0]?.stage, existsSync(half)], ["log.gz", false]);
  assert.deepEqual(await texts(dir), ["kept"]);
});

test("with 0 hours nothing is written, and existing segments are deleted", async (context) => {
  const dir = stateDir(context);
  const former = new TestStore(dir);
  former.lines(WEB, "former");
  former.store.end();
  const writing = new TestStore(dir, { ...DAY, hours: 0 });
  writing.lines(WEB, "line");
  writing.store.addMessage({ category: "service", severity: "info", at: 0, text: "said" });
  await eventually(() => (readdirSync(writing.folder).length === 0 ? true : undefined));
  assert.deepEqual(await texts(dir), []);
  writing.store.end();
});

test("a removed folder is created again", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, "before");
  await writing.settled();
  rmSync(writing.folder, { recursive: true });
  await eventually(() => {
    writing.lines(WEB, "after");
    return existsSync(writing.folder) ? true : undefined;
  });
  await writing.settled();
  assert.deepEqual(await texts(dir), ["after"]);
  writing.store.end();
});

test("lines that can't be written are counted, reported once, and noted in the store when it works again", async (context) => {
  const dir = stateDir(context);
  writeFileSync(logsFolder(dir), "in the way");
  const writing = new TestStore(dir);
  writing.lines(WEB, "lost", "lost too");
  writing.lines(WEB, "and this");
  assert.deepEqual(writing.reports, ["EEXIST"].includes(writing.reports[0] ?? "") ? ["EEXIST"] : ["ENOTDIR"]);
  rmSync(logsFolder(dir));
  await eventually(() => {
    writing.lines(WEB, "again");
    return writing.reports.length > 1 ? true : undefined;
  });
  await writing.settled();
  const lost = Number(/^recovered (\d+) /.exec(writing.reports[1] ?? "")?.[1]);
  assert.ok(lost >= 3);
  const [{ text, severity } = { text: "", severity: "" }, ...rest] = (await readLogs(dir, { order: "asc" })).entries;
  assert.match(text, new RegExp(`^${lost} lines \\(\\d+ bytes\\) were not stored: `));
  assert.equal(severity, "warn");
  assert.deepEqual(
    rest.map((entry) => entry.text),
    ["again"],
  );
  writing.store.end();
});

test("a folder that can't be listed ends nothing, and maintenance says so once", async (context) => {
  const dir = stateDir(context);
  // As for lack of descriptors, `readdir` throws what isn't "not there": the link leads to itself.
  symlinkSync("logs", logsFolder(dir));
  await packer().run(logsFolder(dir));
  const writing = new TestStore(dir);
  await eventually(() => writing.reports.length > 0 || undefined);
  writing.store.settings = DAY;
  rmSync(logsFolder(dir));
  await eventually(() => {
    writing.lines(WEB, "again");
    return readdirSync(dir).includes("logs") || undefined;
  });
  assert.deepEqual(writing.reports, ["ELOOP"]);
  writing.store.end();
});

test("the store works again as soon as it can, also after the wall clock was set back by hours", async (context) => {
  const dir = stateDir(context);
  writeFileSync(logsFolder(dir), "in the way");
  const writing = new TestStore(dir);
  context.after(() => writing.store.end());
  writing.lines(WEB, "lost");
  assert.equal(writing.reports.length, 1);
  rmSync(logsFolder(dir));
  context.mock.timers.enable({ apis: ["Date"], now: Date.now() - 5 * 3_600_000 });
  await eventually(() => {
    writing.lines(WEB, "again");
    return writing.reports.length > 1 ? true : undefined;
  });
  await writing.settled();
  // A removed segment is noticed, too.
  rmSync(logsFolder(dir), { recursive: true });
  await eventually(() => {
    writing.lines(WEB, "more");
    return existsSync(logsFolder(dir)) ? true : undefined;
  });
});

test("the wall clock jumps by hours, ahead and back, while segments change: no segment is overwritten, every line is there once, in order", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  context.after(() => writing.store.end());
  const [start, HOUR_MS] = [Date.now(), 3_600_000];
  const written: string[] = [];
  context.mock.timers.enable({ apis: ["Date"], now: start });
  for (const hours of [0, 5, -3, 2, -20, 0, 7, 6, 5, -1]) {
    context.mock.timers.setTime(start + hours * HOUR_MS);
    const lines = Array.from({ length: 50 }, (_, index) => `line ${written.length + index}`);
    writing.lines(WEB, ...lines);
    written.push(...lines);
    await writing.settled();
  }
  assert.deepEqual(await texts(dir), written);
  assert.equal(
    readdirSync(logsFolder(dir)).filter((name) => /^\d+\.(open|log|log\.gz)$/.test(name)).length,
    10,
    "one for each hour",
  );
  assert.deepEqual(writing.reports, []);
});

test("after a partial write the file has only whole records, and every line is stored or counted", async (context) => {
  const dir = stateDir(context);
  const script = `
    import { TestStore, WEB } from ${JSON.stringify(new URL("../../../test/support/store-rig.ts", import.meta.url).href)};
    process.on("SIGXFSZ", () => undefined);
    const writing = new TestStore(${JSON.stringify(dir)});
    let total = 0;
    for (const end = Date.now() + 20000; writing.reports.length < 2 && Date.now() < end; ) {
      const lines = Array.from({ length: total % 3 === 0 ? 30 : 1 }, () => String(total++).padEnd(999, "x"));
      writing.lines(WEB, ...lines);
      await writing.settled();
      if (total > 400) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    writing.store.end();
    console.log(JSON.stringify([...writing.reports, total]));
    process.exit(0);`;
  const file = join(dir, "writer.mts");
  writeFileSync(file, script);
  const command = `ulimit -f 200; exec "${process.execPath}" --import tsx "${file}"`;
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", command], { cwd: process.cwd() });
  const [problem, recovered, total] = JSON.parse(stdout) as [string, string, number];
  assert.equal(problem, "EFBIG");
  const lost = Number(/^recovered (\d+) /.exec(recovered)?.[1]);
  assert.ok(lost > 0);
  const stored = (await allPages(dir, { order: "asc", limit: 10_000 })).filter(({ category }) => category === "stdout");
  assert.ok(stored.every(({ text }) => text.length === 999));
  assert.equal(stored.length + lost, total);
});

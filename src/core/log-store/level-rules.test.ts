/** Severities that lines say, in queries of the store. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { allPages, DAY, stateDir, TestStore, texts, WEB } from "../../../test/support/store-rig.ts";
import type { LevelRules } from "../contract/levels.ts";
import { SegmentCompressor } from "./compressor.ts";
import { followLogs } from "./follow.ts";
import { lastLines, readLogs } from "./log-pages.ts";
import type { RecordSource } from "./record.ts";
import { indexFile, logsFolder, segmentsIn } from "./segment-files.ts";
import { SegmentReader } from "./segment-reader.ts";

const ERR: RecordSource = { ...WEB, category: "stderr", severity: "error" };

const [FATAL, SLOW, FINE, CHATTY] = ['{"level":60,"msg":"a"}', '{"level":"warn"}', '{"lvl":"info"}', "<7>chatty"];

async function compress(dir: string): Promise<void> {
  await new SegmentCompressor(() => false).run(logsFolder(dir));
}

test("the severity of a line is what it says, else that of its stream, in each stage of a segment", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, FATAL, "plain", SLOW);
  writing.lines(WEB, CHATTY);
  writing.lines(ERR, FINE, "oops");
  writing.store.addMessage({ ...WEB, category: "log", severity: "debug", at: Date.now(), text: FATAL });
  await writing.settled();
  const check = async (stage: string): Promise<void> => {
    assert.equal(segmentsIn(logsFolder(dir))[0]?.stage, stage);
    const found = (severity: "debug" | "info" | "warn" | "error", more: object = {}): Promise<readonly string[]> =>
      texts(dir, { order: "asc", severity, ...more });
    assert.deepEqual(await found("error"), [FATAL, "oops"]);
    assert.deepEqual(await found("warn"), [FATAL, SLOW, "oops"]);
    assert.deepEqual(await found("info"), [FATAL, "plain", SLOW, FINE, "oops"]);
    assert.deepEqual(await found("debug"), [FATAL, "plain", SLOW, CHATTY, FINE, "oops", FATAL]);
    assert.deepEqual(await found("error", { categories: ["stdout"] }), [FATAL]);
    assert.deepEqual(await found("warn", { search: "LEVEL" }), [FATAL, SLOW]);
    const { entries } = await readLogs(dir, { order: "asc" });
    assert.deepEqual(
      entries.map(({ severity, category }) => `${severity} ${category}`),
      ["error stdout", "info stdout", "warn stdout", "debug stdout", "info stderr", "error stderr", "debug log"],
    );
    const last = await lastLines(dir, { process: "web", run: 1, count: 2 });
    assert.deepEqual(
      last.map(({ severity }) => severity),
      ["info", "error"],
    );
  };
  await check("open");
  writing.store.end();
  await check("log");
  await compress(dir);
  await check("log.gz");
});

test("a follower gets new lines that say they are severe enough", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, FATAL, "plain");
  const stop = new AbortController();
  const items = followLogs(dir, { severity: "warn" }, stop.signal);
  await writing.settled();
  const next = async (): Promise<string> => {
    const { value } = await items.next();
    return value?.type === "entry" ? `${value.entry.severity} ${value.entry.text}` : "";
  };
  assert.equal(await next(), `error ${FATAL}`);
  writing.lines(WEB, "plain again", FINE);
  writing.lines(WEB, SLOW);
  assert.equal(await next(), `warn ${SLOW}`);
  stop.abort();
  writing.store.end();
});

test("own rules come first: by a prefix, by a regular expression, or by the level in its first group", async (context) => {
  const dir = stateDir(context);
  const levels: LevelRules = [
    { prefix: "{", severity: "debug" },
    { prefix: "E ", severity: "error" },
    { regex: "^\\S+ (?i:slow)", severity: "warn" },
    { regex: "level=(\\w+)" },
  ];
  const writing = new TestStore(dir, { ...DAY, levels });
  writing.lines(WEB, FATAL, "E no", "10:00 SLOW", "t=1 level=fatal", "t=1 level=gold", "<4>ä", "E");
  await writing.settled();
  const check = async (): Promise<void> =>
    assert.deepEqual(
      (await readLogs(dir, { order: "asc" })).entries.map(({ severity }) => severity),
      ["debug", "error", "warn", "error", "info", "warn", "info"],
    );
  await check();
  assert.deepEqual(await texts(dir, { severity: "error", order: "asc" }), ["E no", "t=1 level=fatal"]);
  writing.store.end();
  await compress(dir);
  await check();
  assert.deepEqual(await texts(dir, { severity: "error", order: "asc" }), ["E no", "t=1 level=fatal"]);
});

test("with levels off the stream alone counts, and indexes say nothing of levels", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir, { ...DAY, levels: false });
  writing.lines(WEB, FATAL);
  writing.lines(ERR, FINE);
  writing.store.end();
  await compress(dir);
  assert.deepEqual(await texts(dir, { severity: "warn" }), [FINE]);
  assert.deepEqual(
    (await readLogs(dir, { order: "asc" })).entries.map(({ severity }) => severity),
    ["info", "error"],
  );
  const { number } = segmentsIn(logsFolder(dir))[0] ?? assert.fail();
  assert.doesNotMatch(readFileSync(indexFile(logsFolder(dir), number), "utf8"), /said/);
});

test("changed rules hold for what is stored, too; without rules no file says so", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  const file = join(writing.folder, "levels.json");
  writing.lines(WEB, "W slow", FATAL);
  writing.store.end();
  await compress(dir);
  assert.equal(existsSync(file), false);
  assert.deepEqual(await texts(dir, { severity: "warn" }), [FATAL]);
  const changing = new TestStore(dir, { ...DAY, levels: [{ prefix: "W ", severity: "warn" }] });
  assert.deepEqual(await texts(dir, { severity: "warn" }), [FATAL, "W slow"]);
  writeFileSync(file, "[{");
  assert.deepEqual(await texts(dir, { severity: "warn" }), [FATAL], "a damaged file hides no line");
  changing.store.settings = { ...DAY, levels: false };
  assert.deepEqual(await texts(dir, { severity: "warn" }), []);
  changing.store.settings = DAY;
  assert.equal(existsSync(file), false);
  assert.deepEqual(await texts(dir, { severity: "warn" }), [FATAL]);
  changing.store.end();
  assert.deepEqual(changing.reports, []);
});

test("a query reads no compressed block whose lines all say that they are less severe", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  const filler = "x".repeat(100_000);
  for (let number = 0; number < 30; number += 1) {
    writing.lines(WEB, `{"level":"${number === 17 ? "error" : "info"}","n":${number},"x":"${filler}"}`);
    writing.lines(ERR, `{"level":"debug","n":${number}}`);
  }
  writing.store.end();
  const read = context.mock.method(SegmentReader.prototype, "read").mock;
  const found = async (): Promise<readonly string[]> =>
    (await allPages(dir, { severity: "warn" })).map(({ text }) => text.slice(0, 23));
  const expected = ['{"level":"error","n":17'];
  assert.deepEqual(await found(), expected);
  assert.ok(read.callCount() > 5, "all blocks");
  await compress(dir);
  read.resetCalls();
  assert.deepEqual(await found(), expected);
  assert.equal(read.callCount(), 1);
});

test("an index with damage in what it says of levels hides no line", async (context) => {
  const dir = stateDir(context);
  const writing = new TestStore(dir);
  writing.lines(WEB, FATAL, FINE);
  writing.store.end();
  await compress(dir);
  const { number } = segmentsIn(logsFolder(dir))[0] ?? assert.fail();
  const index = indexFile(logsFolder(dir), number);
  const sound = readFileSync(index, "utf8");
  for (const said of ['{"by":"other","ids":[]}', '{"ids":[[1]]}', "null", "7", '{"by":"1-x"}']) {
    writeFileSync(index, sound.replace(/"said":\{[^}]*\}/, `"said":${said}`));
    assert.deepEqual(await texts(dir, { severity: "error" }), [FATAL], said);
  }
});

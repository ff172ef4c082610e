/** The log check of all fault tests: it finds each kind of planted damage, and accepts what procman's marks excuse. */
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { bytesOf, lineOf, rawLineOf } from "../programs/numbered-lines.mjs";
import { checkLog } from "../support/line-check.ts";

const MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";
const line = (number: number, run = "r1"): string => lineOf("web", run, number);
const lines = (from: number, to: number, run = "r1"): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => line(from + index, run));
const knows = (printed: number, more: object = {}) => ({ id: "web", run: "r1", printed, isCut: false, ...more });

function check(context: TestContext, text: readonly (string | Buffer)[], runs: Parameters<typeof checkLog>[1]) {
  const folder = mkdtempSync(join(tmpdir(), "procman-check-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "web.log");
  for (const each of text) appendFileSync(file, typeof each === "string" ? `${each}\n` : each);
  return checkLog(file, runs);
}

test("a log with every line once and in order has no finding, with interleaved runs, long lines and all alphabets", (context) => {
  const mixed = lines(1, 2_000).flatMap((each, index) => (index < 500 ? [each, line(index + 1, "r2")] : [each]));
  const { findings, lines: count, bytes } = check(context, mixed, [knows(2_000), { ...knows(500), run: "r2" }]);
  assert.deepEqual(findings, []);
  assert.equal(count, 2_500);
  assert.equal(bytes, bytesOf("web", "r1", 1, 2_000) + bytesOf("web", "r2", 1, 500));
});

const text = lines(1, 100);
const without = (from: number, to: number): string[] => text.filter((_, index) => index + 1 < from || index + 1 > to);
const withLineReplaced = (number: number, by: string | Buffer): (string | Buffer)[] =>
  text.map((each, index) => (index + 1 === number ? by : each));
const PLANTED: Readonly<
  Record<
    string,
    {
      readonly log: readonly (string | Buffer)[];
      readonly printed?: number;
      readonly isCut?: boolean;
      readonly says: RegExp;
    }
  >
> = {
  "one line missing": { log: without(50, 50), says: /^missing: web r1: 50 to 50, before .*:50$/ },
  "the first line missing": { log: without(1, 1), says: /^missing: .*1 to 1/ },
  "the last lines missing": { log: without(99, 100), says: /^missing: .*99 to 100, its last/ },
  "the last lines of a killed run missing": {
    log: without(99, 100),
    isCut: true,
    says: /^missing: .*99 to 100, its last/,
  },
  "all of a run missing": { log: [], says: /^missing: .*1 to 100/ },
  "one line doubled": {
    log: [...text.slice(0, 60), line(60), ...text.slice(60)],
    says: /^doubled: web r1 60 at .*:61$/,
  },
  "an old block doubled": { log: [...text, ...lines(10, 12)], says: /^doubled: .* 10 at/ },
  "two lines swapped": {
    log: [...lines(1, 9), line(11), line(10), ...lines(12, 100)],
    says: /^disorder: web r1 10 at .*:11 after 11$/,
  },
  "a character changed": { log: withLineReplaced(40, line(40).replace("#", "+")), says: /^damaged: .*:40/ },
  "a multi-byte character cut": {
    log: withLineReplaced(1, Buffer.concat([Buffer.from(line(1)).filter((_, at) => at !== 16), Buffer.from("\n")])),
    says: /^damaged/,
  },
  "a line cut in two": {
    log: withLineReplaced(70, `${line(70).slice(0, 30)}\n${line(70).slice(30)}`),
    says: /^damaged: .*:70/,
  },
  "two lines on one": { log: withLineReplaced(70, line(70) + line(71)), says: /^damaged: .*:70/ },
  "an empty line": { log: withLineReplaced(70, `${line(70)}\n`), says: /^damaged: .*:71: ""/ },
  "more lines than were printed": { log: text, printed: 90, says: /^damaged: .*100 lines, though it printed 90/ },
  "a cut end of a run that wasn't killed": { log: [...text, line(101).slice(0, 20)], says: /^damaged: .*:101/ },
  "a gap before the mark": {
    log: [...lines(1, 10), ...lines(12, 50), MARK, ...lines(51, 100)],
    says: /^missing: .*11 to 11/,
  },
  "a second gap behind one mark": {
    log: [...lines(1, 50), MARK, ...lines(53, 70), ...lines(73, 100)],
    says: /^missing: .*71 to 72/,
  },
  "a doubled line behind the mark": { log: [...lines(1, 50), MARK, ...lines(50, 100)], says: /^doubled: .* 50 at/ },
  "a piece of no line after the mark": {
    log: [...lines(1, 50), MARK, "nonsense", ...lines(53, 100)],
    says: /^damaged: .*nonsense/,
  },
  "a piece before the mark that does not go on": {
    log: [...lines(1, 50), line(53).slice(0, 30), MARK, ...lines(53, 100)],
    says: /^damaged: .*:51/,
  },
};

for (const [name, { log, printed = 100, isCut = false, says }] of Object.entries(PLANTED))
  test(`a planted defect is found: ${name}`, (context) => {
    const { findings } = check(context, log, [knows(printed, { isCut })]);
    assert.ok(
      findings.some((finding) => says.test(finding)),
      findings.join("\n") || "nothing was found",
    );
  });

test("a planted defect is found: more bytes missing at a mark than a killed logger can have held", (context) => {
  const few = check(context, [...lines(1, 50), MARK, ...lines(200, 300)], [knows(300)]);
  assert.deepEqual(few.findings, [], "64 KiB are excused");
  assert.equal(few.excusedBytes, bytesOf("web", "r1", 51, 199));
  const many = check(context, [...lines(1, 50), MARK, ...lines(400, 500)], [knows(500)]);
  assert.match(many.findings[0] ?? "", /^missing: .*51 to 399/);
  const twice = check(context, [...lines(1, 50), MARK, MARK, ...lines(400, 500)], [knows(500)]);
  assert.deepEqual(twice.findings, [], "two loggers were killed");
});

test("a planted defect is found: lines missing at the mark of another run, of which fewer readers were killed", (context) => {
  const log = [...lines(1, 50), MARK, ...lines(53, 70), MARK, ...lines(72, 100)];
  assert.deepEqual(check(context, log, [knows(100, { readersKilled: 2 })]).findings, []);
  assert.match(check(context, log, [knows(100, { readersKilled: 1 })]).findings[0] ?? "", /^missing: .*71 to 71/);
  assert.match(
    check(context, [MARK, ...lines(2, 9)], [knows(9, { readersKilled: 0 })]).findings[0] ?? "",
    /^missing: .*1 to 1/,
  );
});

test("a mark excuses the line that was cut in the file, and the rest of the line that was cut in the reader", (context) => {
  const [before, after] = [line(51).slice(0, 33), line(60).slice(21)];
  const { findings, excusedBytes } = check(
    context,
    [...lines(1, 50), before, MARK, after, ...lines(61, 100)],
    [knows(100)],
  );
  assert.deepEqual(findings, []);
  assert.ok(excusedBytes > 0 && excusedBytes < bytesOf("web", "r1", 51, 60));
  const lastBytes = check(context, [...lines(1, 99), MARK, line(100).slice(40)], [knows(100)]);
  assert.deepEqual(lastBytes.findings, [], "also at the end of the log");
});

test("a killed run may end within a line, an unread one may lack its last 64 KiB, and no more", (context) => {
  const cut = check(
    context,
    [...text, line(101).slice(0, 20), ...lines(1, 10, "r2")],
    [knows(100, { isCut: true }), { ...knows(10), run: "r2" }],
  );
  assert.deepEqual(cut.findings, []);
  const unread = check(context, lines(1, 20), [knows(100, { isUnread: true })]);
  assert.deepEqual(unread.findings, []);
  const tooMuch = check(context, lines(1, 20), [knows(400, { isUnread: true })]);
  assert.match(tooMuch.findings[0] ?? "", /^missing/);
});

test("rotated and compressed files belong to the log, in order", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-check-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const of = (from: number, to: number): string => `${lines(from, to).join("\n")}\n`;
  writeFileSync(join(folder, "web.log.20261121T100000000Z.gz"), gzipSync(of(1, 400)));
  writeFileSync(join(folder, "web.log.20261121T100001000Z"), of(401, 800));
  writeFileSync(join(folder, "web.log"), of(801, 1_000));
  assert.deepEqual(checkLog(join(folder, "web.log"), [knows(1_000)]).findings, []);
  writeFileSync(join(folder, "web.log.20261121T100001000Z"), of(401, 799));
  assert.match(checkLog(join(folder, "web.log"), [knows(1_000)]).findings[0] ?? "", /^missing: .*800 to 800/);
});

test("each line has the specified bytes (latin1), without a newline", () => {
  for (let number = 1; number < 2_000; number += 1) {
    const text = lineOf("web", "r1", number);
    assert.ok(!text.includes("\n"));
    assert.equal(Buffer.from(text).toString("latin1"), rawLineOf("web", "r1", number));
  }
});

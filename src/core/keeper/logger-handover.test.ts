import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { handoverFile, type LoggerMessage } from "../ipc/logger-protocol.ts";
import { clearHandovers, readHandover, UnreadLines } from "./logger-handover.ts";

test("hand-overs of loggers: the latest that names a run counts, a killed logger may have read any run; then they are removed", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-handover-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const begun = (out: string): object => ({ captures: { "web#1": { out, err: "" } } });
  writeFileSync(handoverFile(folder, 11), JSON.stringify(begun("b2xk")));
  writeFileSync(handoverFile(folder, 12), JSON.stringify(begun("bmV3")));
  const handover = readHandover(folder, [11, 12]);
  assert.deepEqual(handover("web#1"), { out: "bmV3", err: "" });
  assert.deepEqual(handover("mail#1"), { out: "", err: "" }, "drained by then");
  writeFileSync(`${handoverFile(folder, 13)}.tmp`, '{"captures":{"web#1":');
  assert.equal(readHandover(folder, [13])("web#1"), "killed", "killed while it wrote");
  clearHandovers(folder, [12]);
  assert.deepEqual(readdirSync(folder), ["handover-12.json"]);
  rmSync(folder, { recursive: true });
  clearHandovers(folder, []);
});

test("a damaged hand-over is that of a killed logger", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-handover-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const text of [
    "",
    '{"captures":{"web#1":{"out":"b2',
    "null",
    "5",
    "{}",
    '{"captures":{"web#1":{"out":5,"err":""}}}',
    '{"captures":{"web#1":null}}',
  ]) {
    writeFileSync(handoverFile(folder, 11), text);
    assert.equal(readHandover(folder, [11])("web#1"), "killed", text);
  }
});

const line = (text: string): LoggerMessage => ({ t: "say", at: 1, severity: "info", text });

test("lines are kept in order for each logger that is started, until one has answered", () => {
  const lines = new UnreadLines();
  lines.add(line("a"));
  assert.deepEqual(lines.all, [line("a")]);
  lines.add(line("b"));
  assert.deepEqual(lines.all, [line("a"), line("b")]);
  lines.clear();
  assert.deepEqual(lines.all, []);
});

test("their number is limited, and the keeper reports how many are lost", () => {
  const reported: string[] = [];
  const lines = new UnreadLines((problem) => reported.push(problem));
  for (let number = 0; number < 10_003; number += 1) lines.add(line(`${number}`));
  assert.equal(lines.all.length, 10_000);
  lines.clear();
  lines.clear();
  assert.equal(reported.length, 1);
  assert.match(reported[0] ?? "", /3 lines of procman itself are lost/);
});

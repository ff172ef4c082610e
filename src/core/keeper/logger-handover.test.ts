import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { handoverFile } from "../ipc/logger-protocol.ts";
import { clearHandovers, readHandover } from "./logger-handover.ts";

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

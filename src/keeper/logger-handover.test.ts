import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { handoverFile } from "../ipc/logger-protocol.ts";
import { clearHandovers, readHandover } from "./logger-handover.ts";

test("hand-overs of loggers: the latest that names a run counts, a killed logger may have read any run; then they are removed", (context) => {
  const home = mkdtempSync(join(tmpdir(), "procman-handover-"));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const begun = (out: string): object => ({ captures: { "web#1": { out, err: "" } } });
  writeFileSync(handoverFile(home, 11), JSON.stringify(begun("b2xk")));
  writeFileSync(handoverFile(home, 12), JSON.stringify(begun("bmV3")));
  const handover = readHandover(home, [11, 12]);
  assert.deepEqual(handover("web#1"), { out: "bmV3", err: "" });
  assert.deepEqual(handover("mail#1"), { out: "", err: "" }, "drained by then");
  writeFileSync(`${handoverFile(home, 13)}.tmp`, '{"captures":{"web#1":');
  assert.equal(readHandover(home, [13])("web#1"), "killed", "killed while it wrote");
  clearHandovers(home, [12]);
  assert.deepEqual(readdirSync(home), ["handover-12.json"]);
  rmSync(home, { recursive: true });
  clearHandovers(home, []);
});

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { handoverFile } from "../contract/logger-protocol.ts";
import { takeHandover } from "./handover.ts";

test("3.2 what loggers left: the latest that knows of a run counts, one that was killed may have read any, and no file stays", (context) => {
  const home = mkdtempSync(join(tmpdir(), "procman-handover-"));
  context.after(() => rmSync(home, { recursive: true }));
  const begun = (out: string): object => ({ captures: { "web#1": { out, err: "" } } });
  writeFileSync(handoverFile(home, 11), JSON.stringify(begun("b2xk")));
  writeFileSync(handoverFile(home, 12), JSON.stringify(begun("bmV3")));
  const handover = takeHandover(home, [11, 12]);
  assert.deepEqual(handover("web#1"), { out: "bmV3", err: "" });
  assert.deepEqual(handover("mail#1"), { out: "", err: "" }, "drained by then");
  assert.deepEqual(readdirSync(home), []);
  writeFileSync(`${handoverFile(home, 13)}.tmp`, '{"captures":{"web#1":');
  assert.equal(takeHandover(home, [13])("web#1"), "killed", "killed while it wrote");
  assert.deepEqual(readdirSync(home), []);
});

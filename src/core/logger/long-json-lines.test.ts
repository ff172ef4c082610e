/** Lines of JSON that are longer than a stored line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allPages, stateDir, TestStore, WEB } from "../../../test/support/store-rig.ts";
import { RecordHeader } from "../log-store/record.ts";
import { HEAD_ROOM, LineSplitter, MAX_LINE_BYTES } from "./line-splitter.ts";

test("of a line of 10 MB of JSON no byte is lost; its first piece has the level, the others that of the stream", async (context) => {
  const dir = stateDir(context);
  const { store, ...writing } = new TestStore(dir);
  const header = new RecordHeader(WEB, false);
  const splitter = new LineSplitter((lines) => store.add(header, lines));
  const line = `{"level":"error","status":500,"a":"${"x".repeat(10_000_000)}"}`;
  const chunk = Buffer.concat([Buffer.alloc(HEAD_ROOM), Buffer.from(`${line}\n{"level":"warn","status":500}\n`)]);
  splitter.push(chunk, HEAD_ROOM, chunk.length);
  store.end();
  const entries = await allPages(dir, { order: "asc" });
  const pieces = Math.ceil(line.length / MAX_LINE_BYTES);
  assert.deepEqual(
    entries.map(({ severity }) => severity),
    ["error", ...Array.from({ length: pieces - 1 }, () => "info"), "warn"],
  );
  const text = entries
    .slice(0, -1)
    .map((entry) => entry.text.replace(/ …\[procman: line cut at \d+ bytes, continues\]$/, ""))
    .join("");
  assert.ok(text === line);
  const found = await allPages(dir, { where: ["status=500"] });
  assert.deepEqual(
    found.map((entry) => entry.text),
    ['{"level":"warn","status":500}'],
    "what was cut isn't JSON",
  );
  assert.deepEqual(writing.reports, []);
});

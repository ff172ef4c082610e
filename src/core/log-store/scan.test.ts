import assert from "node:assert/strict";
import { test } from "node:test";
import { stateDir, TestStore, WEB } from "../../../test/support/store-rig.ts";
import { StoreCursor } from "./cursor.ts";
import { LogMatcher } from "./filter.ts";
import { RecordHeader } from "./record.ts";
import { backwards } from "./scan.ts";
import { SegmentReader } from "./segment-reader.ts";
import { SegmentSet } from "./segment-set.ts";

test("a disk that can't be read is reported once, damage is not; other blocks are still shown", async (context) => {
  const { store, folder, ...rig } = new TestStore(stateDir(context));
  store.add(new RecordHeader(WEB, false), Buffer.from("one\n"));
  store.end();
  assert.deepEqual(rig.reports, []);
  const written: string[] = [];
  context.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  const read = context.mock.method(SegmentReader.prototype, "read");
  const scan = async (failure?: Error): Promise<number> => {
    if (failure !== undefined) read.mock.mockImplementationOnce(() => Promise.reject(failure));
    const segments = new SegmentSet(folder);
    let count = 0;
    for await (const { matches } of backwards({ segments, filter: new LogMatcher({}), position: new StoreCursor() }))
      count += matches.length;
    await segments.close();
    return count;
  };
  assert.equal(await scan(Object.assign(new Error("incorrect header check"), { code: "Z_DATA_ERROR" })), 0);
  assert.deepEqual(written, []);
  const failed = Object.assign(new Error("EIO: i/o error, read"), { code: "EIO", syscall: "read" });
  for (let round = 0; round < 3; round++) assert.equal(await scan(failed), 0);
  assert.equal(written.length, 1);
  assert.match(
    written[0] ?? "",
    /^procman: Cannot read all of the stored log: EIO: i\/o error, read \(segment \d+\); entries are missing\n$/,
  );
  assert.equal(await scan(), 1);
});

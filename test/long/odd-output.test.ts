/** Output that is not a text of lines, while service and keeper are killed and all parts upgraded: every byte is in the log file, in order. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { cutMark, MAX_LINE_BYTES } from "../../src/core/logger/line-splitter.ts";
import { folderFor, startRig, successor } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const PROGRAM = fileURLToPath(new URL("../programs/print-odd.mjs", import.meta.url));
const MEGABYTES = 100;
const END = Buffer.from("\nfinished\n");

/** Without procman's marks. */
function bytesOf(file: string): Buffer {
  const [bytes, mark] = [readFileSync(file), Buffer.from(cutMark(MAX_LINE_BYTES))];
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, from)) {
    parts.push(bytes.subarray(from, at));
    from = at + mark.length;
  }
  return Buffer.concat([...parts, bytes.subarray(from)]);
}

const hash = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
const endsWell = (file: string): boolean => existsSync(file) && readFileSync(file).subarray(-END.length).equals(END);

test(`${MEGABYTES} MB without a newline, binary, halves of characters, progress bars, and /dev/stdout opened again: no byte is lost over kills and upgrades`, async (context) => {
  const folder = folderFor(context);
  const [log, copy] = [join(folder, "logs/odd.log"), join(folder, "copy")];
  const cmd = `${process.execPath} ${PROGRAM} ${copy} ${MEGABYTES}`;
  const rig = await startRig(context, folder, [
    { id: "odd", cmd, autostart: true, restart: "always", logger: { stdout: "logs/odd.log", rotate: false } },
  ]);
  const { pid } = await rig.until("odd", ({ status }) => status === "running");
  let rounds = 0;
  for (; !endsWell(copy) || rounds < 2; rounds += 1) {
    for (const part of ["service", "keeper"] as const) {
      const before = rig.procman.parts()[part];
      rig.killPart(part);
      await successor(rig.procman, part, before);
      await rig.records();
    }
    assert.equal(await rig.procman.upgrade(), 0);
  }
  context.diagnostic(`${rounds} rounds`);
  await eventually(() => endsWell(log) || undefined);
  const [written, printed] = [bytesOf(log), readFileSync(copy)];
  assert.equal(written.length, printed.length);
  assert.equal(hash(written), hash(printed));
  assert.equal((await rig.until("odd", ({ status }) => status === "running")).pid, pid);
  assert.deepEqual(await rig.verdict(), []);
});

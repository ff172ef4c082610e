import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { LoggerRig, until } from "../../../test/support/logger-rig.ts";

const LINES = 400_000;
const rotation = { sizeBytes: 100_000, ageMs: 0, totalBytes: 1e9, gzip: true };

/**
 * The lines of the log file and of the rotated ones, by their first letter. A file that is cut off fails. A logger that
 * is killed right after its compression leaves the plain file beside the compressed one, until another logger opens the
 * log file.
 */
function linesIn(folder: string) {
  const files = readdirSync(folder).filter((name) => /^shared\.log(\.\d{8}T\d{9}Z(\.gz)?)?$/.test(name));
  const bytes = files.map((name) => {
    const content = readFileSync(join(folder, name));
    const plain = name.endsWith(".gz") ? gunzipSync(content) : content;
    return files.includes(`${name}.gz`) ? Buffer.alloc(0) : plain;
  });
  const lines = bytes.flatMap((each) => each.toString().split("\n").filter(Boolean));
  return { a: lines.filter((line) => line.startsWith("a ")), b: lines.filter((line) => line.startsWith("b ")) };
}

const printed = (name: string): readonly string[] =>
  Array.from({ length: LINES }, (_, index) => `${name} ${String(index + 1).padStart(7, "0")}`);

test("two loggers write, rotate and compress one file, and one is killed: the other's lines are all there once, no file is cut off", async (context) => {
  const rig = new LoggerRig();
  context.after(() => rig.end());
  const stdout = join(rig.dir, "shared.log");
  const loggers: ChildProcess[] = [];
  context.after(() => {
    for (const each of loggers) each.kill("SIGKILL");
  });
  const ends: Promise<unknown>[] = [];
  for (const name of ["a", "b"]) {
    const run = rig.run(name);
    loggers.push(rig.start());
    rig.send(rig.open(run, { stdout, rotation }));
    ends.push(once(rig.child(run, `seq -f '${name} %07.0f' 1 ${LINES}`), "exit"));
  }
  const compressed = (): number => readdirSync(rig.dir).filter((name) => name.endsWith(".gz")).length;
  await until(() => compressed() > 10);
  loggers[1]?.kill("SIGKILL");
  await ends[0];
  loggers[0]?.send([{ t: "ended", key: "a" }]);
  await rig.waitFor("drained", "a");
  const exited = once(loggers[0] as ChildProcess, "exit");
  loggers[0]?.send([{ t: "close" }]);
  await exited;
  const { a } = linesIn(rig.dir);
  assert.equal(a.length, LINES);
  assert.deepEqual(new Set(a), new Set(printed("a")));
  assert.deepEqual(
    rig.received.filter(({ t }) => t === "problem"),
    [],
  );
});

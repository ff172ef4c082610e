import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { LoggerRig, numbers, read, sizeOf, until } from "../../../test/support/logger-rig.ts";
import { readLogs } from "../log-store/log-pages.ts";

const MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";

let rig: LoggerRig;

/**
 * Numbered lines may be missing only at a mark. Next to it, a line torn by the kill shows its end (after the mark) or
 * its beginning (before it), never a mixture.
 */
function inspect(lines: readonly string[]): { readonly whole: number; readonly marks: number; readonly lost: number } {
  let [whole, marks, lost, before] = [0, 0, 0, 0];
  let mayMiss = false;
  for (const [index, line] of lines.entries()) {
    if (line === MARK) {
      marks += 1;
      mayMiss = true;
      continue;
    }
    const isBesideMark = lines[index - 1] === MARK || lines[index + 1] === MARK;
    if (line.length !== 7 && isBesideMark) continue;
    const missing = Number(line) - before - 1;
    if (line.length !== 7 || !(missing === 0 || (missing > 0 && mayMiss))) assert.fail(`"${line}" after ${before}`);
    [whole, lost, before] = [whole + 1, lost + missing, Number(line)];
    mayMiss = false;
  }
  return { whole, marks, lost };
}

describe("logger process after faults", () => {
  beforeEach(() => {
    rig = new LoggerRig();
  });
  afterEach(() => rig.end());

  it("recovers when the log folder is deleted", async () => {
    rig.start();
    const stdout = join(rig.dir, "logs/o.log");
    const run = rig.run("web");
    rig.send(rig.open(run, { stdout }));
    const child = rig.child(run, "while read line; do echo $line; done");
    child.stdin?.write("before\n");
    await until(() => existsSync(stdout) && read(stdout) === "before\n");
    rmSync(join(rig.dir, "logs"), { recursive: true });
    await until(() => {
      child.stdin?.write("after\n");
      return existsSync(stdout);
    });
    child.stdin?.end();
    await once(child, "exit");
    await rig.drained(run);
    assert.match(read(stdout), /^(after\n)+$/);
  });

  it("makes only the writer to a full disk wait", async () => {
    rig.start();
    const [full, other] = [rig.run("full"), rig.run("other")];
    const stdout = join(rig.dir, "o.log");
    rig.send(rig.open(full, { stdout: "/dev/full" }), rig.open(other, { stdout }));
    const stopped = rig.child(full, "seq -w 1 1000000");
    await rig.waitFor("problem");
    await once(rig.child(other, "seq -w 1 1000000"), "exit");
    await rig.drained(other);
    assert.ok(read(stdout) === numbers(1, 1_000_000));
    assert.equal(stopped.exitCode, null, "the writer waits on its pipe");
    assert.equal(rig.received.filter(({ t }) => t === "problem").length, 1);
  });

  it("killed five times under a flood, tears and repeats no line, and loses no more than the marks say", async () => {
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("flood");
    const last = 5_000_000;
    rig.start();
    rig.send(rig.open(run, { stdout }));
    const child = rig.child(run, `seq -w 1 ${last}`);
    const exited = once(child, "exit");
    for (let kill = 1; kill <= 5; kill += 1) {
      await until(() => sizeOf(stdout) > kill * 4e6);
      assert.equal(child.exitCode, null);
      await rig.kill();
      rig.start();
      rig.send(rig.open(run, { stdout }, "killed"));
    }
    await exited;
    await rig.drained(run);
    const { whole, marks, lost } = inspect(read(stdout).split("\n").slice(0, -1));
    assert.equal(marks, 5);
    assert.equal(whole + lost, last);
    assert.ok(lost * 8 <= 5 * (65_536 + 16), `${lost} lines lost`);
  });

  it("has the mark in the log store, too, before the configuration is known", async () => {
    rig.start();
    const run = rig.run("web");
    rig.send({ t: "home", folder: join(rig.dir, "run") }, rig.open(run, { store: { run: 1 } }, "killed"));
    await once(rig.child(run, "echo after"), "exit");
    await rig.drained(run);
    const { entries } = await readLogs(rig.dir, { order: "asc" });
    assert.deepEqual(
      entries.map(({ text, severity, process, run: number }) => ({ text, severity, process, run: number })),
      [
        { text: MARK.slice("[procman: ".length, -1), severity: "warn", process: "web", run: 1 },
        { text: "after", severity: "info", process: "web", run: 1 },
      ],
    );
  });

  it("outlives its keeper until the last writer has ended, whatever signals it gets", async () => {
    const logger = rig.start();
    const stdout = join(rig.dir, "o.log");
    const [run, over] = [rig.run("web"), rig.run("over")];
    await once(rig.child(over, "echo over"), "exit");
    rig.send(rig.open(run, { stdout }), rig.open(over, { stdout }));
    const child = rig.child(run, "while read line; do echo $line; done");
    child.stdin?.write("before\n");
    await until(() => existsSync(stdout) && read(stdout).includes("before\n"));
    const exited = once(logger, "exit");
    logger.disconnect();
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2"] as const) logger.kill(signal);
    child.stdin?.end("after\n");
    const [code] = await exited;
    assert.equal(code, 0);
    assert.deepEqual(read(stdout).split("\n").sort(), ["", "after", "before", "over"]);
  });
});

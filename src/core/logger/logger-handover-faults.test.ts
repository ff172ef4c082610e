import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { flood, inspectFlood } from "../../../test/support/flood-rig.ts";
import { LoggerRig, numbers, read, sizeOf, until } from "../../../test/support/logger-rig.ts";
import { assertWithin } from "../../../test/support/machine-pace.ts";
import { smallDisk } from "../../../test/support/skip.ts";

let rig: LoggerRig;

describe("hand-over of the logger after faults", () => {
  beforeEach(() => {
    rig = new LoggerRig();
  });
  afterEach(() => rig.end());

  it("takes bounded time with a stopped terminal", async () => {
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("shown");
    rig.start("pipe");
    rig.send(rig.open(run, { console: true, stdout }));
    rig.child(run, "seq -w 1 1000000");
    await until(() => sizeOf(stdout) > 450_000);
    const begin = Date.now();
    const exited = once(rig.logger, "exit");
    rig.logger.kill("SIGUSR1");
    await exited;
    assertWithin(5_000, Date.now() - begin, "the hand-over");
    assert.deepEqual(Object.keys(JSON.parse(read(rig.handoverFile)).captures), ["shown"]);
    assert.ok(numbers(1, 1_000_000).startsWith(read(stdout)));
  });

  it("fails if the record can't be written: the logger reports it, continues reading, and can be asked again", async () => {
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("web");
    const home = join(rig.dir, "gone");
    rig.start();
    rig.send({ t: "home", folder: home }, rig.open(run, { stdout }));
    const child = rig.child(run, "printf 'half '; echo ready >&2; while read line; do echo $line; done");
    await until(() => existsSync(stdout) && read(stdout) === "ready\n");
    rig.logger.kill("SIGUSR1");
    const { file, code, message } = await rig.waitFor("problem");
    assert.deepEqual([file, code], [join(home, `handover-${rig.logger.pid}.json`), "ENOENT"]);
    assert.equal(message, "Cannot hand over to the next logger: no such file or directory; this one continues");
    child.stdin?.write("line\n");
    await until(() => read(stdout) === "ready\nhalf line\n");
    mkdirSync(home);
    const exited = once(rig.logger, "exit");
    rig.logger.kill("SIGUSR1");
    assert.deepEqual(await exited, [0, null]);
    assert.deepEqual(JSON.parse(read(file)), { captures: { web: { out: "", err: "" } } });
  });

  it("is delayed, without stopping to read, while lines wait for a file; it is reported once, and a second signal changes nothing", async () => {
    const [blocked, before, free] = [
      join(rig.dir, "blocked.log"),
      join(rig.dir, "before.log"),
      join(rig.dir, "free.log"),
    ];
    const [waiting, other] = [rig.run("waiting"), rig.run("other")];
    rig.start();
    rig.send(rig.open(other, { stdout: free }), rig.open(waiting, { stdout: blocked }));
    const echo = rig.child(other, "while read line; do echo $line; done");
    const { child, stop } = flood(rig, { ...waiting, err: "/dev/null" });
    await until(() => sizeOf(blocked) > 300_000);
    // A folder in place of the file, whose path is checked while it is written to.
    renameSync(blocked, before);
    mkdirSync(blocked);
    await rig.waitFor("problem");
    const deferrals = (): readonly unknown[] =>
      rig.received.filter((each) => each.t === "problem" && each.code === "EAGAIN");
    rig.logger.kill("SIGUSR1");
    await until(() => deferrals().length > 0);
    rig.logger.kill("SIGUSR1");
    echo.stdin?.write("goes on\n");
    await until(() => sizeOf(free) > 0);
    assert.deepEqual(deferrals(), [
      {
        t: "problem",
        file: rig.handoverFile,
        code: "EAGAIN",
        message: `Cannot hand over to the next logger yet: lines are waiting for ${blocked}; it will once they are written`,
      },
    ]);
    assert.equal(rig.logger.exitCode, null);
    rmSync(blocked, { recursive: true });
    const { captures } = await rig.handedOver();
    rig.start();
    rig.send(
      ...[waiting, other].map((run) => rig.open(run, { stdout: run === waiting ? blocked : free }, captures[run.key])),
    );
    const exited = once(child, "exit");
    stop();
    await exited;
    await rig.drained(waiting);
    inspectFlood(read(before) + read(blocked));
    assert.equal(read(free), "goes on\n");
  });

  it("on a full disk happens once there is room again, before anything else is read", async (context) => {
    const disk = smallDisk(context, "size=256k");
    if (disk === undefined) return;
    const [stdout, filler] = [join(disk, "o.log"), join(disk, "filler")];
    const run = rig.run("web");
    try {
      writeFileSync(filler, Buffer.alloc(200_000));
      rig.start();
      rig.send({ t: "home", folder: disk }, rig.open(run, { stdout }));
      const child = rig.child(run, "seq -w 1 30000");
      const { code } = await rig.waitFor("problem");
      assert.equal(code, "ENOSPC");
      rig.logger.kill("SIGUSR1");
      await until(() => rig.received.some((each) => each.t === "problem" && each.code === "EAGAIN"));
      const exited = once(rig.logger, "exit");
      rmSync(filler);
      assert.deepEqual(await exited, [0, null]);
      assert.equal(child.exitCode, null);
      const { captures } = JSON.parse(read(join(disk, `handover-${rig.logger.pid}.json`)));
      rig.start();
      rig.send(rig.open(run, { stdout }, captures.web));
      await once(child, "exit");
      await rig.drained(run);
      assert.ok(read(stdout) === numbers(1, 30_000).replaceAll(/^00/gm, ""));
    } finally {
      await rig.kill();
    }
  });

  it("writes no partial record if the run folder is full", async (context) => {
    const disk = smallDisk(context, "size=256k");
    if (disk === undefined) return;
    const run = rig.run("web");
    try {
      rig.start();
      rig.send({ t: "home", folder: disk }, rig.open(run, { stdout: join(rig.dir, "o.log") }));
      await until(() => existsSync(join(rig.dir, "o.log")));
      assert.throws(() => writeFileSync(join(disk, "filler"), Buffer.alloc(300_000)), { code: "ENOSPC" });
      rig.logger.kill("SIGUSR1");
      const { code } = await rig.waitFor("problem");
      assert.equal(code, "ENOSPC");
      assert.deepEqual(readdirSync(disk), ["filler"]);
      assert.equal(rig.logger.exitCode, null);
    } finally {
      await rig.kill();
    }
  });
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { flood, inspectFlood } from "../../../test/support/flood-rig.ts";
import { LoggerRig, numbers, read, sizeOf, until } from "../../../test/support/logger-rig.ts";

let rig: LoggerRig;

const begunOf = (base64: string | undefined): string => Buffer.from(base64 ?? "", "base64").toString();

describe("hand-over of the logger", () => {
  beforeEach(() => {
    rig = new LoggerRig();
  });
  afterEach(() => rig.end());

  it("loses, repeats, splits and marks no line in ten hand-overs under a flood of two streams", async () => {
    const [stdout, stderr] = [join(rig.dir, "o.log"), join(rig.dir, "e.log")];
    const run = rig.run("flood");
    rig.start();
    rig.send(rig.open(run, { stdout, stderr }));
    const { child, stop } = flood(rig, run);
    const exited = once(child, "exit");
    let begun = 0;
    for (let turn = 1; turn <= 10; turn += 1) {
      const before = sizeOf(stdout);
      await until(() => sizeOf(stdout) > before + 300_000);
      const { captures } = await rig.handOver();
      assert.deepEqual(Object.keys(captures), ["flood"]);
      begun += begunOf(captures.flood?.out).length;
      rig.start();
      rig.send(rig.open(run, { stdout, stderr }, captures.flood));
    }
    stop();
    await exited;
    await rig.drained(run);
    assert.ok(begun > 0, "a line was handed over in its middle");
    inspectFlood(read(stdout));
    inspectFlood(read(stderr));
  });

  it("joins the two parts of a line, such as a prompt or half a character", async () => {
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("web");
    rig.start();
    rig.send(rig.open(run, { stdout }));
    const child = rig.child(
      run,
      "printf 'n\\303' >&2; echo shown; read line; printf '\\244chste\\r\\n' >&2; printf 'no newline'",
    );
    await until(() => existsSync(stdout) && read(stdout) === "shown\n");
    const { captures } = await rig.handOver();
    assert.deepEqual(Buffer.from(captures.web?.err ?? "", "base64"), Buffer.from("n\u00c3", "latin1"));
    assert.equal(statSync(rig.handoverFile).mode & 0o777, 0o600);
    assert.equal(read(stdout), "shown\n");
    const exited = once(child, "exit");
    child.stdin?.end("\n");
    await exited;
    rig.start();
    rig.send(rig.open(run, { stdout }, captures.web));
    await rig.drained(run);
    assert.deepEqual(read(stdout).split("\n").sort(), ["", "no newline", "nächste\r", "shown"]);
  });

  it("names only the runs that are not drained; a run whose end was not reported is drained by the next logger", async () => {
    const [stdout, stderr] = [join(rig.dir, "o.log"), join(rig.dir, "e.log")];
    const [over, quiet, half] = [rig.run("over"), rig.run("quiet"), rig.run("half")];
    rig.start();
    rig.send(...[over, quiet, half].map((run) => rig.open(run, { stdout, stderr })));
    await once(rig.child(over, "echo over"), "exit");
    await rig.drained(over);
    const child = rig.child(half, "echo out; exec >/dev/null; read line; echo err >&2");
    await until(() => read(stdout).includes("out\n"));
    const { captures } = await rig.handOver();
    assert.deepEqual({ ...captures }, { quiet: { out: "", err: "" }, half: { out: "", err: "" } });
    rig.start();
    rig.send(...[quiet, half].map((run) => rig.open(run, { stdout, stderr }, captures[run.key])));
    const exited = once(child, "exit");
    child.stdin?.end("\n");
    await exited;
    await rig.drained(half);
    assert.deepEqual([read(stdout), read(stderr)], ["over\nout\n", "err\n"]);
  });

  it("works without a keeper, and the next logger continues reading", async () => {
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("flood");
    rig.start();
    rig.send(rig.open(run, { stdout }));
    const { child, stop } = flood(rig, { ...run, err: "/dev/null" });
    await until(() => sizeOf(stdout) > 300_000);
    rig.logger.disconnect();
    const { captures } = await rig.handOver();
    rig.start();
    rig.send(rig.open(run, { stdout }, captures.flood));
    const exited = once(child, "exit");
    stop();
    await exited;
    await rig.drained(run);
    inspectFlood(read(stdout));
  });

  it("records after an end without a keeper that nothing is missing; removes the file of an earlier logger with this pid", async () => {
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("web");
    const home = join(rig.dir, "home");
    const logger = rig.start();
    const file = join(home, `handover-${logger.pid}.json`);
    mkdirSync(home);
    writeFileSync(file, "of another one");
    rig.send({ t: "home", folder: home }, rig.open(run, { stdout }));
    const child = rig.child(run, "echo one; read line; echo two");
    await until(() => existsSync(stdout) && read(stdout) === "one\n");
    assert.equal(existsSync(file), false);
    const exited = once(logger, "exit");
    logger.disconnect();
    child.stdin?.end("\n");
    await exited;
    assert.deepEqual(JSON.parse(read(file)), { captures: {} });
    assert.equal(read(stdout), "one\ntwo\n");
  });

  it("loses no line with a slow console", async () => {
    const { stdout } = rig.start("pipe");
    const run = rig.run("web");
    rig.send(rig.open(run, { console: true }));
    const child = rig.child(run, "seq -w 1 1000000");
    const exited = once(child, "exit");
    let text = "";
    const take = (data: Buffer): void => {
      text += data.toString("latin1");
    };
    stdout?.on("data", take);
    await until(() => text.length > 300_000);
    const { captures } = await rig.handOver();
    rig.start("pipe").stdout?.on("data", take);
    rig.send(rig.open(run, { console: true }, captures.web));
    await exited;
    await rig.drained(run);
    await rig.close();
    assert.ok(text.replaceAll("web     | ", "") === numbers(1, 1_000_000));
  });
});

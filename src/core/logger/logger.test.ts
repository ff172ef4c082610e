import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { LoggerRig, numbers, read, until } from "../../../test/support/logger-rig.ts";
import { VERSION } from "../base/version.ts";
import type { ToLogger } from "../ipc/logger-protocol.ts";
import { cutMark, MAX_LINE_BYTES } from "./line-splitter.ts";

const STAMP = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";

let rig: LoggerRig;

describe("logger process", () => {
  beforeEach(() => {
    rig = new LoggerRig();
  });
  afterEach(() => rig.end());

  it("reports first that it is ready, with its version", async () => {
    rig.start();
    await rig.waitFor("ready");
    assert.deepEqual(rig.received, [{ t: "ready", version: VERSION }]);
  });

  it("writes both streams of a run to their files, complete and in order, and reports when everything is written", async () => {
    rig.start();
    const run = rig.run("web");
    const [stdout, stderr] = [join(rig.dir, "logs/o.log"), join(rig.dir, "logs/e.log")];
    rig.send(rig.open(run, { stdout, stderr }));
    await once(rig.child(run, "seq -w 1 1000000; printf 'oops\\r\\n\\377no newline' >&2"), "exit");
    await rig.drained(run);
    assert.ok(read(stdout) === numbers(1, 1_000_000));
    assert.deepEqual(readFileSync(stderr), Buffer.from("oops\r\n\u00ffno newline\n", "latin1"));
    assert.equal(await rig.close(), 0);
  });

  it("keeps lines whole when many streams share a file", async () => {
    rig.start();
    const stdout = join(rig.dir, "all.log");
    const ids = ["a", "b", "c", "d"];
    const runs = ids.map((id) => rig.run(id));
    rig.send(...runs.map((run) => rig.open(run, { stdout })));
    const script =
      "for i in 1 2 3 4 5; do seq -f 'KEY.o %.0f' 1 2000; seq -f 'KEY.e %.0f' 1 2000 >&2; printf half; sleep 0; echo ' line'; done";
    await Promise.all(runs.map((run) => once(rig.child(run, script.replaceAll("KEY", run.key)), "exit")));
    await Promise.all(runs.map((run) => rig.drained(run)));
    const lines = read(stdout).split("\n").slice(0, -1);
    for (const source of ids.flatMap((id) => [`${id}.o`, `${id}.e`])) {
      const own = lines.filter((line) => line.startsWith(`${source} `)).map((line) => Number(line.slice(4)));
      assert.deepEqual(
        own,
        Array.from({ length: 10_000 }, (_, index) => (index % 2000) + 1),
      );
    }
    assert.equal(lines.filter((line) => line === "half line").length, 20);
    assert.equal(lines.length, 80_020);
  });

  it("adds a time stamp, the id in a shared file, and a mark for errors among output", async () => {
    rig.start();
    const stdout = join(rig.dir, "all.log");
    const [one, two] = [rig.run("one"), rig.run("two")];
    rig.send(rig.open(one, { stdout, decorateFiles: true }), rig.open(two, { stdout, decorateFiles: true }));
    await once(rig.child(one, "echo out; echo err >&2"), "exit");
    await rig.drained(one);
    await once(rig.child(two, "echo out"), "exit");
    await rig.drained(two);
    const lines = read(stdout).trimEnd().split("\n");
    assert.match(lines.at(-1) ?? "", new RegExp(`^${STAMP} two out$`));
    assert.deepEqual(
      lines
        .slice(0, 2)
        .map((line) => line.slice(25))
        .sort(),
      ["one ! err", "one out"],
    );
  });

  it("cuts a line of 100 MB, loses no byte and doesn't grow", async () => {
    rig.start();
    const stdout = join(rig.dir, "long.log");
    const run = rig.run("long");
    rig.send(rig.open(run, { stdout }));
    await until(() => existsSync(stdout));
    const memory = (): number => Number(/VmHWM:\s+(\d+)/.exec(read(`/proc/${rig.logger.pid}/status`))?.[1]);
    const before = memory();
    await once(rig.child(run, "head -c 100000000 /dev/zero | tr '\\0' x"), "exit");
    await rig.drained(run);
    const pieces = read(stdout).split(cutMark(MAX_LINE_BYTES));
    assert.equal(pieces.length, Math.ceil(100e6 / MAX_LINE_BYTES));
    assert.ok(pieces.slice(0, -1).every((piece) => piece.length === MAX_LINE_BYTES));
    assert.ok(pieces.join("") === `${"x".repeat(100e6)}\n`);
    assert.ok(memory() - before < 25_000, `grew by ${memory() - before} KiB`);
  });

  it("ends the capture when the last grandchild closes its output, not when the run's leader exits", async () => {
    rig.start();
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("parent");
    rig.send(rig.open(run, { stdout }));
    const go = rig.run("go").out;
    await once(rig.child(run, `(read line <"${go}"; echo "grandchild $line") & echo parent`), "exit");
    await until(() => existsSync(stdout) && read(stdout) === "parent\n");
    rig.send({ t: "ended", key: "parent" }, { t: "reopen" });
    assert.deepEqual(
      rig.received.map(({ t }) => t),
      ["ready"],
    );
    writeFileSync(go, "writes\n");
    await rig.waitFor("drained", "parent");
    assert.equal(read(stdout), "parent\ngrandchild writes\n");
  });

  it("drains a run whose writers had all exited before it was opened", async () => {
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("gone");
    await once(rig.child(run, "seq -w 1 1000"), "exit");
    rig.start();
    rig.send(rig.open(run, { stdout }), { t: "ended", key: "gone" });
    await rig.waitFor("drained", "gone");
    assert.equal(read(stdout), numbers(1, 1000).replaceAll(/^000/gm, ""));
  });

  it("treats a missing FIFO as drained and reports it", async () => {
    rig.start();
    const run = { key: "none", out: join(rig.dir, "no.out"), err: join(rig.dir, "no.err"), held: [] };
    rig.send(rig.open(run, { stdout: join(rig.dir, "o.log") }));
    await rig.waitFor("drained", "none");
    const problem = await rig.waitFor("problem");
    assert.deepEqual([problem.file, problem.code], [run.out, "ENOENT"]);
  });

  it("opens a FIFO by its other name if its file was just removed", async () => {
    rig.start();
    const run = rig.run("late");
    const stdout = join(rig.dir, "o.log");
    const exited = once(rig.child(run, "echo all of it"), "exit");
    await exited;
    for (const file of [run.out, run.err]) rmSync(file);
    const [out = "", err = ""] = run.held.map((fd) => `/proc/${process.pid}/fd/${fd}`);
    rig.send({ ...(rig.open(run, { stdout }) as Extract<ToLogger, { t: "open" }>), held: { out, err } });
    await rig.drained(run);
    assert.equal(read(stdout), "all of it\n");
    assert.deepEqual(
      rig.received.filter(({ t }) => t === "problem"),
      [],
    );
  });

  it("reads a removed FIFO through the keeper's descriptor, independently of other openings", async () => {
    rig.start();
    const run = rig.run("web");
    const [stdout, stderr] = [join(rig.dir, "o.log"), join(rig.dir, "e.log")];
    const child = rig.child(run, "read line; seq -w 1 1000000; echo err >&2");
    const [out, err] = run.held.map((fd) => `/proc/${process.pid}/fd/${fd}`) as [string, string];
    await until(() => readlinkSync(`/proc/${child.pid}/fd/2`) === run.err);
    for (const file of [run.out, run.err]) rmSync(file);
    rig.send(rig.open({ ...run, out, err }, { stdout, stderr }));
    await until(() => existsSync(stderr));
    const exited = once(child, "exit");
    child.stdin?.end("\n");
    await exited;
    await rig.drained(run);
    assert.ok(read(stdout) === numbers(1, 1_000_000));
    assert.equal(read(stderr), "err\n");
  });

  it("rotates under load with compression and loses no line", async () => {
    rig.start();
    const stdout = join(rig.dir, "logs/o.log");
    const run = rig.run("web");
    rig.send(rig.open(run, { stdout, rotation: { sizeBytes: 500_000, ageMs: 0, totalBytes: 1e9, gzip: true } }));
    await once(rig.child(run, "seq -w 1 1000000"), "exit");
    await rig.drained(run);
    await rig.close();
    const names = readdirSync(join(rig.dir, "logs")).sort();
    assert.ok(names.some((name) => name.endsWith(".gz")) && names.length >= 16);
    assert.ok(!names.some((name) => name.endsWith(".tmp")));
    const rotated = names.slice(1).map((name) => readFileSync(join(rig.dir, "logs", name)));
    const text = rotated
      .map((bytes, index) => (names[index + 1]?.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString())
      .join("");
    assert.ok(text + read(stdout) === numbers(1, 1_000_000));
  });

  it("writes the remaining output when it closes, including a line without newline", async () => {
    rig.start();
    const stdout = join(rig.dir, "o.log");
    const run = rig.run("web");
    rig.send(rig.open(run, { stdout }));
    const child = rig.child(run, "echo one; printf prompt; echo ready >&2; read line");
    await until(() => existsSync(stdout) && read(stdout).endsWith("ready\n"));
    assert.equal(await rig.close(), 0);
    assert.deepEqual(read(stdout).split("\n").sort(), ["", "one", "prompt", "ready"]);
    assert.equal(child.exitCode, null);
  });
});

import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { flood, inspectFlood } from "../../../test/support/flood-rig.ts";
import { LoggerRig, read, sizeOf, until } from "../../../test/support/logger-rig.ts";

let rig: LoggerRig;

describe("route of a run's output", () => {
  beforeEach(() => {
    rig = new LoggerRig();
  });
  afterEach(() => rig.end());

  it("changes between two lines of a flood", async () => {
    rig.start();
    const file = (name: string): string => join(rig.dir, name);
    const run = rig.run("web");
    rig.send(rig.open(run, { stdout: file("o1"), stderr: file("e1") }));
    const { child, stop } = flood(rig, run);
    for (const [number, next] of [
      ["1", { stdout: file("o2"), stderr: file("e1") }],
      ["2", { stdout: file("o3"), stderr: file("e3"), decorateFiles: false }],
    ] as const) {
      await until(() => sizeOf(file(`o${number}`)) > 300_000);
      rig.send({ t: "route", key: "web", capture: rig.capture("web", next) });
    }
    await until(() => sizeOf(file("o3")) > 300_000);
    const exited = once(child, "exit");
    stop();
    await exited;
    await rig.drained(run);
    assert.ok(["o1", "o2", "e1"].every((name) => read(file(name)).endsWith("\n")));
    inspectFlood(read(file("o1")) + read(file("o2")) + read(file("o3")));
    inspectFlood(read(file("e1")) + read(file("e3")));
  });

  it("writes a line that was begun before whole to the new destination, also to the console", async () => {
    const logger = rig.start("pipe");
    const shown = Promise.all([logger.stdout?.toArray(), logger.stderr?.toArray()]);
    const [first, second] = [join(rig.dir, "1.log"), join(rig.dir, "2.log")];
    const run = rig.run("web");
    rig.send(rig.open(run, { stdout: first }));
    const child = rig.child(run, "printf 'half ' >&2; echo go; read line; echo line >&2");
    await until(() => sizeOf(first) > 0);
    rig.send({
      t: "route",
      key: "web",
      capture: rig.capture("web", { stdout: first, stderr: second, decorateFiles: true, console: true }),
    });
    await until(() => existsSync(second));
    const exited = once(child, "exit");
    child.stdin?.end("\n");
    await exited;
    await rig.drained(run);
    await rig.close();
    assert.equal(read(first), "go\n");
    assert.match(read(second), /^\S+Z half line\n$/);
    assert.deepEqual(
      (await shown).map((chunks) => chunks?.join("")),
      ["", "web     ! half line\n"],
    );
  });

  it("frees a run from a file that it is waiting for; the waiting lines still reach the file", async () => {
    rig.start();
    const [first, before, second] = [join(rig.dir, "1.log"), join(rig.dir, "before.log"), join(rig.dir, "2.log")];
    const run = rig.run("web");
    rig.send(rig.open(run, { stdout: first, stderr: "/dev/null" }));
    const { child, stop } = flood(rig, run);
    await until(() => sizeOf(first) > 300_000);
    renameSync(first, before);
    mkdirSync(first);
    await rig.waitFor("problem");
    rig.send({ t: "route", key: "web", capture: rig.capture("web", { stdout: second, stderr: "/dev/null" }) });
    await until(() => sizeOf(second) > 300_000);
    rmSync(first, { recursive: true });
    const { lostLines } = await rig.waitFor("recovered");
    const exited = once(child, "exit");
    stop();
    await exited;
    await rig.drained(run);
    assert.equal(lostLines, 0);
    inspectFlood(read(before) + read(first) + read(second));
  });
});

/** Others rename a log file and put a folder, a FIFO or a loop of links in its place, while parts of procman are killed and upgraded. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  type FaultRig,
  folderFor,
  program,
  startRig,
  successor,
  waitForGrowth,
  waitForOutput,
} from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const OBSTACLES: Readonly<Record<string, (path: string) => unknown>> = {
  folder: (path) => mkdirSync(path),
  FIFO: (path) => execFileSync("mkfifo", [path], { stdio: "pipe" }),
  "loop of links": (path) => symlinkSync(path, path),
  nothing: () => undefined,
};

const ACTS: Readonly<Record<string, (rig: FaultRig) => Promise<unknown>>> = {
  service: (rig) => replaced(rig, "service"),
  keeper: (rig) => replaced(rig, "keeper"),
  upgrade: (rig) => rig.procman.upgrade(),
};

async function replaced(rig: FaultRig, part: "service" | "keeper"): Promise<void> {
  const before = rig.procman.parts()[part];
  rig.killPart(part);
  await successor(rig.procman, part, before);
  await rig.records();
}

/** The renamed files count for the verdict, as rotated ones. The logger may make a new file before the obstacle is there. */
function replace(path: string, index: number, put: (path: string) => unknown): void {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    renameSync(path, `${path}.2026010${index + 1}T0000000${String(attempt).padStart(2, "0")}Z`);
    try {
      put(path);
      return;
    } catch (error) {
      if (!existsSync(path)) throw error;
    }
  }
  throw new Error(`the logger is always quicker than this test: ${path}`);
}

for (const [act, doIt] of Object.entries(ACTS))
  test(`a log file is replaced by ${Object.keys(OBSTACLES).join(", ")}, and each time there is this: ${act}. No line is lost`, async (context) => {
    const folder = folderFor(context);
    const cmd = program(folder, "printer", "print", 20_000, 50);
    const processes = [{ id: "print", cmd, autostart: true, restart: "always", logger: { stdout: "logs/print.log" } }];
    const rig = await startRig(context, folder, processes);
    const path = join(folder, "logs/print.log");
    for (const [index, [name, put]] of Object.entries(OBSTACLES).entries()) {
      await waitForGrowth(rig, "print", 50_000);
      const printed = rig.output().length - 1;
      replace(path, index, put);
      if (name !== "nothing")
        await eventually(() =>
          rig
            .output()
            .slice(printed)
            .find((line) => /Cannot write .*print\.log/.test(line)),
        );
      const acting = doIt(rig);
      // The old logger hands over once it can write.
      if (act !== "upgrade") await acting;
      if (name !== "nothing") rmSync(path, { recursive: true });
      await acting;
      await eventually(() => existsSync(path) || undefined);
    }
    await waitForOutput(rig, /Cannot write .*print\.log/);
    await waitForGrowth(rig, "print", 50_000);
    assert.deepEqual(await rig.verdict(), []);
  });

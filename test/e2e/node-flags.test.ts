/** procman under flags with which Node forbids more than usual; docs/guide/environment.md has the results. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { cleanEnvironment, eventually, type Procman, processExit, startProcman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

/** Newer versions have another name for it, and one more flag. */
const HAS = process.allowedNodeEnvironmentFlags;
const PERMISSION = [
  HAS.has("--permission") ? "--permission" : "--experimental-permission",
  ...["--allow-fs-read=*", "--allow-fs-write=*", "--allow-child-process", "--allow-worker"],
  ...(HAS.has("--allow-net") ? ["--allow-net"] : []),
];
const FLAGS: readonly (readonly [name: string, flags: readonly string[]])[] = [
  ["--throw-deprecation", ["--throw-deprecation"]],
  ["--frozen-intrinsics", ["--frozen-intrinsics"]],
  ["the permission model", PERMISSION],
];
const WEB = { id: "web", cmd: 'echo "run $PROCMAN_RUN_ID"; exec sleep 1000', autostart: true, restart: "always" };

/** A program that starts another by these lines of a shell script. */
function script(context: TestContext, line: string): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-flags-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "node");
  writeFileSync(file, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  return file;
}

/** The output of a command under these flags. */
function command(procman: Procman, flags: readonly string[], ...args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...flags, BIN, ...args],
      { cwd: procman.folder, env: cleanEnvironment() },
      (error, out, err) => (error === null ? resolve(out) : reject(new Error(`procman ${args.join(" ")}: ${err}`))),
    );
  });
}

/** Checks that a process is restarted, commands are answered, output is stored, and everything ends in order. */
async function worksUnder(procman: Procman, flags: readonly string[]): Promise<void> {
  const pid = Number(/pid (\d+)/.exec(await procman.line(/web +\| started/))?.[1]);
  const seen = procman.lines.length;
  process.kill(pid, "SIGKILL");
  await procman.line(/web +\| .*\(pid \d+\)/, seen);
  await processExit(pid);
  await eventually(() => (existsSync(join(procman.stateDir, "endpoint.json")) ? true : undefined));
  assert.match(await command(procman, flags, "status"), /web +running/);
  assert.match(await command(procman, flags, "logs", "web"), /run .*\n(?:.*\n)*.*run /);
  assert.equal(await procman.stop(), 0);
}

for (const [name, flags] of FLAGS) {
  test(`keeper and commands run under ${name}`, async (context) => {
    const launcher = script(context, `node=$1; shift; exec "$node" ${flags.map((flag) => `'${flag}'`).join(" ")} "$@"`);
    const procman = await startProcman(context, [WEB], { launcher: [launcher] });
    await worksUnder(procman, flags);
    assert.doesNotMatch(procman.lines.join("\n"), /DeprecationWarning|at .*\.cjs:\d/);
  });

  test(`service and logger run under ${name}`, async (context) => {
    const node = script(context, `exec '${process.execPath}' ${flags.map((flag) => `'${flag}'`).join(" ")} "$@"`);
    const procman = await startProcman(context, [WEB]);
    await procman.line(/web +\| started/);
    await eventually(() => (existsSync(join(procman.stateDir, "endpoint.json")) ? true : undefined));
    const former = [procman.helper("service"), procman.helper("logger")];
    // The request of `procman upgrade`, with another Node.
    writeFileSync(join(procman.stateDir, "upgrade.json"), JSON.stringify({ id: "flags", node, folder: dirname(BIN) }));
    process.kill(procman.pid, "SIGUSR1");
    const report = await eventually(() => {
      const file = join(procman.stateDir, "upgraded.json");
      return existsSync(file) ? readFileSync(file, "utf8") : undefined;
    });
    assert.match(report, /"ok":true/);
    for (const pid of former) await processExit(pid);
    for (const part of ["service", "logger"] as const) await eventually(() => procman.helperIfUp(part));
    await worksUnder(procman, []);
    assert.doesNotMatch(procman.lines.join("\n"), /DeprecationWarning|at .*\.cjs:\d/);
  });
}

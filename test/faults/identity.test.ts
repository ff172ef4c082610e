/** Which processes are those of a run: those that look dead are not started twice, and other programs with their pids are left alone. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { folderFor, startRig, successor } from "../support/fault-rig.ts";
import { cleanEnvironment, eventually } from "../support/procman-process.ts";
import { skip } from "../support/skip.ts";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

test("a process whose first thread has ended, so that it looks like a zombie, is adopted and not started twice", async (context) => {
  const folder = folderFor(context);
  const cmd = `python3 ${path("../programs/end-first-thread.py")} lock starts`;
  const rig = await startRig(context, folder, [{ id: "headless", cmd, autostart: true, restart: "always" }]);
  const { pid = 0 } = await rig.until("headless", ({ status }) => status === "running");
  await eventually(() => /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8")) || undefined);
  for (const part of ["keeper", "everything"] as const) {
    const { keeper } = rig.procman.parts();
    rig.killPart(part);
    if (part === "everything") rig.procman.start();
    await successor(rig.procman, "keeper", keeper);
    assert.equal(
      (await rig.until("headless", ({ status }) => status === "running")).pid,
      pid,
      `after a kill of ${part}`,
    );
  }
  assert.equal(readFileSync(join(folder, "starts"), "utf8"), `${pid}\n`);
  await rig.act("headless", "stop");
  await rig.until("headless", ({ status }) => status === "stopped");
  assert.deepEqual(await rig.verdict(), []);
});

/** Runs a script of this folder in PID namespaces one after another, each with its own /proc. undefined: not allowed here. */
async function inNamespace(context: TestContext, ...args: readonly string[]): Promise<string | undefined> {
  const own = ["--pid", "--fork", "--kill-child", "--mount", "--mount-proc"];
  const run = promisify(execFile);
  try {
    await run("unshare", [...own, "true"]);
  } catch (error) {
    if (process.env.CI === "true") throw error;
    return skip(context, `no PID namespace can be made here: ${(error as Error).message}`);
  }
  // The shell is the init of the namespace, and reaps.
  const script = ["sh", "-c", '"$@"; exit $?', "sh", process.execPath, "--import", "tsx", ...args];
  const { stdout } = await run("unshare", [...own, ...script], { env: cleanEnvironment() });
  return stdout;
}

test("programs that have got the pids of ended runs, and their groups and sessions, are neither adopted nor signalled", async (context) => {
  const findings = await inNamespace(context, path("foreign-pid.ts"), folderFor(context));
  if (findings !== undefined) assert.deepEqual(JSON.parse(findings), []);
});

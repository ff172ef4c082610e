/** Skips tests that this machine can't run. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Skips the test, with a message on standard error. */
export function skip(context: TestContext, why: string): undefined {
  console.error(`!!! SKIPPED: ${why}`);
  context.skip(why);
  return undefined;
}

/** A tmpfs for one test; undefined: not allowed here, and the test is skipped. */
export function smallDisk(context: TestContext, options: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "procman-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    if (process.env.CI === "true") throw error;
    return skip(context, `no tmpfs can be mounted here: ${(error as Error).message}`);
  }
  context.after(() => {
    execFileSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

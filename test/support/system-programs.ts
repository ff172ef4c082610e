/** Finds system programs that tests need. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { skip } from "./skip.ts";

export const SYSTEM_PATHS: readonly string[] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** Whether the program is missing; then the test is skipped. */
export function isMissing(context: TestContext, program: string): boolean {
  const folders = [...(process.env.PATH ?? "").split(":"), ...SYSTEM_PATHS];
  const missing = (process.env.PROCMAN_TEST_MISSING ?? "").split(" ").includes(program);
  if (!missing && folders.some((folder) => existsSync(join(folder, program)))) return false;
  skip(context, `${program} is not installed`);
  return true;
}

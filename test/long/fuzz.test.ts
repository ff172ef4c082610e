/** A short run of each target of `npm run fuzz`. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../support/product.ts";

test("odd configurations, records, stored logs, requests and answers do no harm, in two seconds of each", async (context) => {
  const run = promisify(execFile)(process.execPath, [join(ROOT, "scripts/fuzz.mjs"), "--minutes=0.033"], { cwd: ROOT });
  const { stdout, stderr } = await run.catch((error: { readonly stdout: string; readonly stderr: string }) => error);
  context.diagnostic(stdout);
  assert.match(stdout, /no harm was found\n$/, `${stdout}\n${stderr}`);
});

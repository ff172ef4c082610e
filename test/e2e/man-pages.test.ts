/** The programs that show man pages find no fault in those of the package. test/pages installs the package globally and runs `man`. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DIST } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

const FOLDER = join(DIST, "man");
const PAGES = readdirSync(FOLDER).map((name) => join(FOLDER, name));

/** What the program says about all pages. */
function faultsBy(program: string, ...options: readonly string[]): string {
  const { error, stdout, stderr } = spawnSync(program, [...options, ...PAGES], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" },
    maxBuffer: 2 ** 26,
  });
  if (error !== undefined) throw error;
  // With -Z groff prints the pages on standard output, mandoc its findings.
  return `${options.includes("-Z") ? "" : stdout}${stderr}`;
}

test("groff formats each man page without a warning", (context) => {
  if (isMissing(context, "man")) return;
  assert.equal(faultsBy("man", "--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l"), "");
});

test("mandoc, which other systems have, finds no fault in the man pages", (context) => {
  if (isMissing(context, "mandoc")) return;
  assert.equal(faultsBy("mandoc", "-T", "lint", "-W", "warning"), "");
});

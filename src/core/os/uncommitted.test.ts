/** What Git says of files. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isMissing } from "../../../test/support/system-programs.ts";
import { uncommittedText } from "./uncommitted.ts";

test("a committed file may be replaced, a changed or staged one not; one that Git doesn't know may", async (context) => {
  if (isMissing(context, "git")) return;
  const folder = mkdtempSync(join(tmpdir(), "procman-git-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "sub/a b.json");
  mkdirSync(join(folder, "sub"));
  writeFileSync(file, "one");
  assert.equal(await uncommittedText(file), undefined, "no repository");
  const git = (...args: readonly string[]): unknown =>
    execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.org", ...args]);
  git("init", "-q");
  assert.equal(await uncommittedText(file), undefined, "untracked");
  git("add", ".");
  const changed = "has changes that are not committed";
  assert.equal(await uncommittedText(file), changed, "staged");
  git("commit", "-qm", "one");
  assert.equal(await uncommittedText(file), undefined, "committed");
  writeFileSync(file, "two");
  assert.equal(await uncommittedText(file), changed, "changed");
  writeFileSync(join(folder, ".git/config"), "[core");
  assert.match((await uncommittedText(file)) ?? "", /^can't be looked up: git says "/);
});

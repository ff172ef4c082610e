import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { checkStateFolder, makeStateFolder } from "./state-folder.ts";

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-state-folder-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const refused = (pattern: RegExp) => ({ code: "state-folder", message: pattern });

test("a state folder of another user is refused, with the user to ask as", (context) => {
  const stateDir = join(folderOf(context), ".procman/shop");
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  checkStateFolder(stateDir);
  const own = process.geteuid?.() ?? 0;
  assert.throws(
    () => checkStateFolder(stateDir, own + 1),
    refused(/^Cannot use the state folder \S+shop: it belongs to \S+, not to .*; run this as/),
  );
});

test("a state folder in which other users may write is refused, also one that is made now", (context) => {
  const stateDir = join(folderOf(context), ".procman/shop");
  makeStateFolder(stateDir);
  assert.equal(statSync(stateDir).mode & 0o777, 0o700);
  for (const mode of [0o770, 0o707]) {
    chmodSync(stateDir, mode);
    assert.throws(() => makeStateFolder(stateDir), refused(/other users may write in it.*"chmod go-w \S+shop"/));
  }
  chmodSync(stateDir, 0o755);
  makeStateFolder(stateDir);
});

test("a folder above it that belongs to another user is refused, except beside the configuration", (context) => {
  const root = folderOf(context);
  const own = process.geteuid?.() ?? 0;
  const [other, beside] = [own + 1, join(root, ".procman/shop")];
  makeStateFolder(join(root, "shop"));
  makeStateFolder(beside);
  if (own !== 0) return;
  for (const folder of [root, join(root, ".procman")]) chownSync(folder, other, other);
  assert.throws(
    () => checkStateFolder(join(root, "shop")),
    refused(/ belongs to .*, who could replace it; set PROCMAN_STATE_DIR/),
  );
  checkStateFolder(beside);
});

test("a missing state folder is not a fault", (context) => {
  checkStateFolder(join(folderOf(context), ".procman/none"));
});

test("root is told how to ask as the user of a state folder, and not to start another one", (context) => {
  if (process.geteuid?.() !== 0) return context.skip("only root may give a folder to another user");
  const stateDir = join(folderOf(context), ".procman/shop");
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const nobody = 65_534;
  chownSync(stateDir, nobody, nobody);
  assert.throws(
    () => checkStateFolder(stateDir),
    refused(/it belongs to the user nobody, not to root; run this as the user nobody: "sudo -u nobody procman [^"]+"$/),
  );
});

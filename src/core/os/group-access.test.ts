import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { folderClosedTo, groupSocketOf, mayGiveTo } from "./group-access.ts";

/** A group that nobody here is in. */
const STRANGERS = 54_321;

function projectIn(context: TestContext): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "procman-home-")));
  context.after(() => rmSync(root, { recursive: true }));
  chmodSync(root, 0o755);
  mkdirSync(join(root, "shop/.procman"), { recursive: true, mode: 0o700 });
  chmodSync(join(root, "shop"), 0o755);
  return join(root, "shop");
}

test("the socket lies beside the state folder, under a name that no state folder has", () => {
  assert.equal(groupSocketOf("/srv/shop/.procman/shop"), "/srv/shop/.procman/shop@group.sock");
});

test("a folder on the way that the group may not enter is named; .procman is opened by procman itself", (context) => {
  const project = projectIn(context);
  const stateDir = join(project, ".procman/shop");
  assert.equal(folderClosedTo(STRANGERS, stateDir), undefined);
  chmodSync(dirname(project), 0o750);
  assert.equal(folderClosedTo(STRANGERS, stateDir), dirname(project));
  assert.equal(folderClosedTo(process.getgid?.() ?? 0, stateDir), undefined, "its own group may enter");
  assert.equal(folderClosedTo(STRANGERS, join(project, "state/shop")), undefined, "a folder that isn't there yet");
  chmodSync(dirname(project), 0o755);
  chmodSync(project, 0o700);
  assert.equal(folderClosedTo(STRANGERS, join(project, ".procman/shop")), project);
  assert.equal(folderClosedTo(STRANGERS, join(project, "shop")), project);
});

test("a folder with an access control list may be open to the group", (context) => {
  const project = projectIn(context);
  try {
    execFileSync("setfacl", ["-m", `g:${STRANGERS}:x`, project], { stdio: "pipe" });
  } catch {
    context.diagnostic("there is no setfacl here, or no access control lists");
    return;
  }
  chmodSync(project, 0o750);
  assert.equal(folderClosedTo(STRANGERS, join(project, ".procman/shop")), undefined);
});

test("a file may be given to a group of one's own; root may give it to any", () => {
  for (const gid of process.getgroups?.() ?? []) assert.ok(mayGiveTo(gid));
  assert.equal(mayGiveTo(STRANGERS), process.getuid?.() === 0);
});

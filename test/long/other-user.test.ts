import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folderOf, otherUser, runAs, sharedFolder, spawnAs } from "../support/other-user.ts";
import { eventually } from "../support/procman-process.ts";

test("a command as another user has the rights of that user alone", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const folder = sharedFolder(context, nobody);
  writeFileSync(join(folder, "root-only"), "secret", { mode: 0o600 });
  const { out } = await runAs(
    nobody,
    ["sh", "-c", "id -u; id -G; cat root-only 2>/dev/null || echo denied; touch nobody/own && ls nobody"],
    {
      cwd: folder,
    },
  );
  assert.deepEqual(out.trim().split("\n"), [String(nobody.uid), String(nobody.gid), "denied", "own"]);
});

test("a program that another user runs is there until the test ends", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const child = spawnAs(context, nobody, ["sh", "-c", "echo up; sleep 600"]);
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += String(chunk);
  });
  await eventually(() => (output === "up\n" ? true : undefined));
  assert.equal(child.exitCode, null);
});

test("a user has no access to the private folder of another one", async (context) => {
  const [nobody, daemon] = [otherUser(context), otherUser(context, "daemon")];
  if (nobody === undefined || daemon === undefined) return;
  const secret = folderOf(daemon, join(sharedFolder(context), "private"), 0o700);
  assert.equal((await runAs(daemon, ["ls", secret])).code, 0);
  assert.notEqual((await runAs(nobody, ["ls", secret])).code, 0);
});

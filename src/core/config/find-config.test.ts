import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { locate } from "./find-config.ts";

function folderWith(context: TestContext, config: object): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-locate-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "procman.json"), JSON.stringify(config));
  return folder;
}

test("a name that leads out of its folder is refused before anything is read or written there", (context) => {
  for (const name of ["../../../escaped", "..", "a/b", "", "Shop"]) {
    const folder = folderWith(context, { name });
    assert.throws(() => locate(undefined, folder), {
      code: "configuration-invalid",
      message: `Cannot use "name" in ${join(folder, "procman.json")}: found ${JSON.stringify(name)}; allowed: 1 to 64 characters from a-z, 0-9, ".", "_" and "-".`,
    });
  }
  assert.equal(locate(undefined, folderWith(context, { name: "shop.1" })).name, "shop.1");
});

test("a state folder that other users may change is refused", (context) => {
  const folder = folderWith(context, { name: "shop" });
  mkdirSync(join(folder, ".procman/shop"), { recursive: true });
  chmodSync(join(folder, ".procman/shop"), 0o777);
  assert.throws(() => locate(undefined, folder), { code: "state-folder", message: /other users may write in it/ });
});

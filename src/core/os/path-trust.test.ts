import assert from "node:assert/strict";
import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { changeableByOthers, foldersTo } from "./path-trust.ts";

const NOBODY = 65_534;
const AS_ROOT = { skip: process.getuid?.() !== 0 && "only root may change owners" };

/** A folder with empty files. */
function folderWith(context: TestContext, ...names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-trust-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "");
  }
  return folder;
}

test("what only root can change is trusted, links of root included", AS_ROOT, (context) => {
  const folder = folderWith(context, "etc/procman.json", "real/procman.json");
  symlinkSync("../real", join(folder, "etc/current"));
  for (const name of ["etc/procman.json", "etc/current/procman.json", "etc/../real/procman.json"])
    assert.equal(changeableByOthers(join(folder, name)), undefined, name);
});

test("each link on the way counts, with the folders above it, also one that leads back to root", AS_ROOT, (context) => {
  const folder = folderWith(context, "etc/x", "alice/x", "releases/procman.json");
  symlinkSync("../alice/current/procman.json", join(folder, "etc/procman.json"));
  symlinkSync(join(folder, "releases"), join(folder, "alice/current"));
  const asked = (): string | undefined => changeableByOthers(join(folder, "etc/procman.json"));
  assert.equal(asked(), undefined);
  lchownSync(join(folder, "alice/current"), NOBODY, NOBODY);
  assert.match(asked() ?? "", /alice\/current belongs to /);
  lchownSync(join(folder, "alice/current"), 0, 0);
  chownSync(join(folder, "alice"), NOBODY, NOBODY);
  assert.match(asked() ?? "", /alice belongs to /);
  symlinkSync("b", join(folder, "a"));
  symlinkSync("a", join(folder, "b"));
  assert.throws(() => changeableByOthers(join(folder, "a")), { code: "ELOOP" });
});

test(
  "rights of others and of groups count, but for a trusted group and folders that are trusted as they are",
  AS_ROOT,
  (context) => {
    const folder = folderWith(context, "conf.d/x.json");
    const [place, file] = [join(folder, "conf.d"), join(folder, "conf.d/x.json")];
    const trust = { uids: [0], gids: [0] };
    chmodSync(place, 0o775);
    assert.match(changeableByOthers(file) ?? "", /^other users may write in \S+conf\.d$/);
    assert.equal(changeableByOthers(file, trust), undefined);
    chmodSync(place, 0o757);
    assert.match(changeableByOthers(file, trust) ?? "", /^other users may write in \S+conf\.d$/);
    assert.equal(changeableByOthers(file, { ...trust, folders: foldersTo(place) }), undefined);
  },
);

test(
  "in a sticky folder, a folder of root can't be replaced, but a file or a link can have been moved there",
  AS_ROOT,
  (context) => {
    const folder = folderWith(context, "open/x.json", "open/own/x.json");
    symlinkSync("own", join(folder, "open/link"));
    chmodSync(join(folder, "open"), 0o1777);
    assert.equal(changeableByOthers(join(folder, "open/own/x.json")), undefined);
    for (const name of ["x.json", "link/x.json"])
      assert.match(changeableByOthers(join(folder, "open", name)) ?? "", /^other users may write in \S+open$/);
  },
);

import assert from "node:assert/strict";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFound } from "./careful-files.ts";
import { UnsafePathError, walkTo } from "./path-walk.ts";

const isRoot = process.getuid?.() === 0;
/** Any user but root. */
const USER = isRoot ? 65534 : (process.getuid?.() ?? 0);

const root = mkdtempSync(join(tmpdir(), "procman-walk-"));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

/** A folder of a user who isn't root. */
function foreignFolder(mode = 0o755): string {
  const folder = join(root, String(count++));
  mkdirSync(folder);
  if (isRoot) chownSync(folder, USER, USER);
  chmodSync(folder, mode);
  return folder;
}

function content(path: string): string {
  const found = walkTo(path, { isCareful: true });
  try {
    return readFileSync(openFound(found, 0).fd, "utf8");
  } finally {
    found.close();
  }
}

const unsafe = (pattern: RegExp) => (error: unknown) => error instanceof UnsafePathError && pattern.test(error.message);

describe("walk as root", () => {
  it("follows links of root in folders of root", { skip: !isRoot }, () => {
    writeFileSync(join(root, "file"), "text");
    symlinkSync(join(root, "file"), join(root, "absolute"));
    symlinkSync(`../${root.split("/").at(-1)}/file`, join(root, "relative"));
    assert.deepEqual([content(join(root, "absolute")), content(join(root, "relative"))], ["text", "text"]);
  });

  it("gives the same file as the plain path", () => {
    const file = join(foreignFolder(), "a");
    writeFileSync(file, "text");
    assert.equal(content(file), "text");
    assert.equal(content(join(root, "..", root.split("/").at(-1) ?? "", file.slice(root.length + 1))), "text");
  });

  it("refuses a link of another user to a file of root", () => {
    const link = join(foreignFolder(), "a");
    symlinkSync("/etc/passwd", link);
    assert.throws(
      () => content(link),
      unsafe(
        /\/a is a link that the user nobody can change; as root, procman follows it only into a folder of that user/,
      ),
    );
  });

  it("refuses a folder that is a link of another user to a folder of root", () => {
    const link = join(foreignFolder(), "logs");
    symlinkSync("/etc", link);
    assert.throws(() => content(join(link, "passwd")), unsafe(/\/logs is a link/));
  });

  it("refuses a link of root in a folder that other users may change", { skip: !isRoot }, () => {
    const link = join(foreignFolder(0o777), "a");
    symlinkSync("/etc/passwd", link);
    assert.throws(() => content(link), unsafe(/a link that other users can change/));
  });

  it("follows a link of a user into a folder of the same user", () => {
    const [releases, file] = [foreignFolder(), "app.log"];
    writeFileSync(join(releases, file), "mine");
    symlinkSync(releases, join(foreignFolder(), "current"));
    assert.equal(content(join(root, String(count - 1), "current", file)), "mine");
  });

  it("refuses links that lead back to themselves", () => {
    const folder = foreignFolder();
    symlinkSync(join(folder, "b"), join(folder, "a"));
    symlinkSync("a", join(folder, "b"));
    assert.throws(() => content(join(folder, "a")), { code: "ELOOP" });
  });

  it("refuses a file with a second name in a folder of another user", () => {
    const folder = foreignFolder();
    writeFileSync(join(folder, "a"), "");
    linkSync(join(folder, "a"), join(folder, "b"));
    assert.throws(() => content(join(folder, "a")), unsafe(/it has a second name/));
  });

  it("refuses a file of a third user", { skip: !isRoot }, () => {
    const file = join(foreignFolder(), "a");
    writeFileSync(file, "");
    chownSync(file, 1, 1);
    assert.throws(() => content(file), unsafe(/it belongs to \S+, and .* to/));
  });

  it("stays in the folder that it has found when a link takes its place", () => {
    const folder = foreignFolder();
    mkdirSync(join(folder, "logs"));
    if (isRoot) chownSync(join(folder, "logs"), USER, USER);
    const found = walkTo(join(folder, "logs/a"), { isCareful: true });
    rmSync(join(folder, "logs"), { recursive: true });
    symlinkSync(root, join(folder, "logs"));
    assert.throws(() => openFound(found, 0o101, 0o600), { code: "ENOENT" });
    found.close();
    assert.deepEqual(readdirSync(root).includes("a"), false);
  });

  it("names the last link itself on request", () => {
    const folder = foreignFolder();
    symlinkSync("/etc/passwd", join(folder, "a"));
    const found = walkTo(join(folder, "a"), { isCareful: true, keepsLastLink: true });
    assert.ok(lstatSync(found.entry(found.name)).isSymbolicLink());
    found.close();
  });

  it("makes missing folders, only on request", () => {
    const path = join(foreignFolder(), "x/y/a");
    assert.throws(() => walkTo(path, { isCareful: true }), { code: "ENOENT" });
    walkTo(path, { isCareful: true, makeFolders: 0o750 }).close();
    assert.equal(statSync(join(path, "..")).mode & 0o777, 0o750);
  });

  it("takes /dev/stdout as it is", () => {
    const found = walkTo("/dev/stdout", { isCareful: true });
    assert.equal(found.entry(found.name), "/dev/stdout");
  });

  it("takes /dev/stdout behind a link of root, and refuses it behind one of another user", () => {
    const link = join(foreignFolder(), "a");
    symlinkSync("/dev/stdout", link);
    assert.throws(() => walkTo(link, { isCareful: true }), unsafe(/a is a link/));
    if (!isRoot) return;
    symlinkSync("/dev/stdout", join(root, "out"));
    const found = walkTo(join(root, "out"), { isCareful: true });
    assert.equal(found.entry(found.name), "/dev/stdout");
  });

  it("holds no descriptor after an error or close", () => {
    const link = join(foreignFolder(), "a");
    symlinkSync("/etc/passwd", link);
    const before = readdirSync("/dev/fd").length;
    assert.throws(() => content(link));
    assert.throws(() => walkTo(join(link, "none/a"), { isCareful: true }));
    walkTo("/etc/passwd", { isCareful: true }).close();
    assert.equal(readdirSync("/dev/fd").length, before);
  });
});

describe("walk without root", () => {
  it("follows all links, and makes missing folders", () => {
    const folder = foreignFolder();
    symlinkSync("/etc/passwd", join(folder, "a"));
    const found = walkTo(join(folder, "a"), { isCareful: false });
    assert.equal(found.name, "passwd");
    walkTo(join(folder, "new/a"), { isCareful: false, makeFolders: 0o700 }).close();
    assert.ok(statSync(join(folder, "new")).isDirectory());
  });
});

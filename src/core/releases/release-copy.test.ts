/** Folders, archives and commits become releases; what leads out of a release does not. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Header } from "tar";
import { contentsOfArchive, unpack } from "./archive.ts";
import { checkContents, type Entry } from "./release-contents.ts";
import { archiveCommit, checkRoom, commitOf, contentsOf, copyFolder, finishCopy } from "./release-copy.ts";
import { currentRelease, linkTarget, newReleaseId, releaseIds, switchLink, targetFor } from "./release-folder.ts";

const { signal } = new AbortController();

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-release-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Member = {
  readonly path: string;
  readonly type?: "File" | "SymbolicLink" | "Link" | "CharacterDevice" | "FIFO";
  readonly linkpath?: string;
};

/** An archive as nobody's tar would make it. */
function archiveOf(folder: string, members: readonly Member[]): string {
  const blocks = members.flatMap(({ path, type = "File", linkpath = "" }) => {
    const header = Buffer.alloc(512);
    const text = type === "File" ? path : "";
    new Header({ path, type, linkpath, mode: 0o644, size: text.length, uid: 0, gid: 0, mtime: new Date(0) }).encode(
      header,
      0,
    );
    const content = Buffer.alloc(Math.ceil(text.length / 512) * 512);
    content.write(text);
    return [header, content];
  });
  const file = join(folder, "archive.tar");
  writeFileSync(file, Buffer.concat([...blocks, Buffer.alloc(1_024)]));
  return file;
}

test("a folder is copied with modes and links, but without .git and what is left out; nothing runs as another user", async (context) => {
  const folder = folderFor(context);
  const from = join(folder, "from");
  for (const place of ["", "bin", ".git", "releases"]) mkdirSync(join(from, place));
  writeFileSync(join(from, "bin/run"), "run\n");
  chmodSync(join(from, "bin/run"), 0o4755);
  chmodSync(join(from, "bin"), 0o750);
  writeFileSync(join(from, ".git/config"), "");
  symlinkSync("bin/run", join(from, "start"));
  symlinkSync("missing", join(from, "later"));
  const entries = await contentsOf(from, [join(from, "releases")]);
  assert.equal(checkContents(entries), 4);
  const to = join(folder, "to");
  await copyFolder(from, to, { entries, signal });
  await finishCopy(to, entries, undefined);
  assert.deepEqual((await contentsOf(to, [])).map(({ path }) => path).sort(), ["bin", "bin/run", "later", "start"]);
  assert.equal(readlinkSync(join(to, "start")), "bin/run");
  assert.deepEqual(
    ["bin/run", "bin"].map((path) => statSync(join(to, path)).mode & 0o7777),
    [0o755, 0o750],
  );
});

const BAD: readonly (readonly [Member, RegExp])[] = [
  [{ path: "../evil" }, /"\.\.\/evil" has "\.\."/],
  [{ path: "a/../../evil" }, /has "\.\." in its path/],
  [{ path: "/tmp/evil" }, /"\/tmp\/evil" is an absolute path/],
  [{ path: "disk", type: "CharacterDevice" }, /"disk" is a device/],
  [{ path: "pipe", type: "FIFO" }, /"pipe" is a FIFO/],
  [
    { path: "out", type: "SymbolicLink", linkpath: "../../etc" },
    /"out" is a link to "\.\.\/\.\.\/etc", which leads out/,
  ],
  [{ path: "out", type: "SymbolicLink", linkpath: "/etc" }, /leads out of the release/],
  [{ path: "same", type: "Link", linkpath: "../../etc/passwd" }, /leads out of the release/],
  [{ path: "same", type: "Link", linkpath: "missing" }, /"same" is a link to "missing", which isn't a file/],
  [{ path: "VERSION/evil" }, /"VERSION\/evil" lies in "VERSION", which isn't a folder/],
  [{ path: "bad\ufffd" }, /has a name that isn't UTF-8/],
];

for (const [member, message] of BAD)
  test(`refused in an archive: ${JSON.stringify(member)}`, async (context) => {
    const file = archiveOf(folderFor(context), [{ path: "VERSION" }, member]);
    const entries = await contentsOfArchive(file);
    assert.throws(() => checkContents(entries), message);
  });

test("an archive is unpacked, with links inside", async (context) => {
  const folder = folderFor(context);
  const file = archiveOf(folder, [
    { path: "./app/main.js" },
    { path: "same", type: "Link", linkpath: "app/main.js" },
    { path: "app/up", type: "SymbolicLink", linkpath: "../same" },
  ]);
  const entries = await contentsOfArchive(file);
  checkContents(entries);
  const to = join(folder, "to");
  await unpack(file, to, signal);
  await finishCopy(to, entries, undefined);
  for (const path of ["app/main.js", "same", "app/up"])
    assert.equal(readFileSync(join(to, path), "utf8"), "./app/main.js");
});

test("refused: no archive, a cut one, one without a file, and a folder without one", async (context) => {
  const folder = folderFor(context);
  const file = archiveOf(folder, [{ path: "VERSION" }]);
  writeFileSync(join(folder, "cut.tar"), readFileSync(file).subarray(0, 700));
  writeFileSync(join(folder, "text"), "x".repeat(2_000));
  await assert.rejects(contentsOfArchive(join(folder, "text")), /it isn't an archive of tar; allowed: \.tar/);
  await assert.rejects(contentsOfArchive(join(folder, "cut.tar")));
  writeFileSync(join(folder, "empty.tar"), Buffer.alloc(10_240));
  assert.deepEqual(await contentsOfArchive(join(folder, "empty.tar")), []);
  rmSync(join(folder, "empty.tar"));
  const empty: readonly Entry[] = await contentsOf(join(folder, "."), [
    file,
    join(folder, "cut.tar"),
    join(folder, "text"),
  ]);
  assert.throws(() => checkContents(empty), /there is no file in it/);
});

test("what can't be read in a folder is named", async (context) => {
  const from = folderFor(context);
  writeFileSync(Buffer.concat([Buffer.from(`${from}/bad`), Buffer.from([0xff])]), "");
  await assert.rejects(contentsOf(from, []), /^Error: "bad\ufffd" has a name that isn't UTF-8; rename it/);
});

test("a link that leads out by way of another one is found when the copy is complete", async (context) => {
  const folder = folderFor(context);
  const from = join(folder, "from");
  mkdirSync(join(from, "x/y"), { recursive: true });
  mkdirSync(join(from, "z"));
  writeFileSync(join(from, "VERSION"), "1\n");
  symlinkSync("../../z", join(from, "x/y/d"));
  symlinkSync("x/y/d/../..", join(from, "e"));
  const entries = await contentsOf(from, []);
  checkContents(entries);
  const to = join(folder, "to");
  await copyFolder(from, to, { entries, signal });
  await assert.rejects(finishCopy(to, entries, undefined), /"e" is a link that leads out of the release/);
});

test("more than the disk has room for is refused", async (context) => {
  await assert.rejects(
    checkRoom(folderFor(context), 1e18),
    /needs 1000000000000\.0 MB, and .* has room for \d+\.\d MB/,
  );
});

test("a commit becomes a release; what isn't one is said", async (context) => {
  const folder = folderFor(context);
  const run = (...args: readonly string[]): void =>
    void execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org", ...args]);
  run("init", "-q");
  writeFileSync(join(folder, "VERSION"), "1\n");
  run("add", "VERSION");
  run("commit", "-qm", "one");
  run("tag", "v1");
  writeFileSync(join(folder, "VERSION"), "2\n");
  const commit = await commitOf("v1", folder);
  assert.match(commit, /^[0-9a-f]{40}$/);
  const archive = join(folder, "v1.tar");
  await archiveCommit(commit, folder, archive);
  await unpack(archive, join(folder, "to"), signal);
  assert.equal(readFileSync(join(folder, "to/VERSION"), "utf8"), "1\n");
  const [bare, inside] = [join(folder, "bare.git"), join(folder, "inside")];
  run("clone", "-q", "--bare", folder, bare);
  mkdirSync(inside);
  for (const [index, repository] of [bare, inside, join(folder, ".git")].entries()) {
    await archiveCommit(await commitOf("v1", repository), repository, archive);
    await unpack(archive, join(folder, `to-${index}`), signal);
    assert.equal(readFileSync(join(folder, `to-${index}`, "VERSION"), "utf8"), "1\n", repository);
  }
  run("tag", "tree", "v1^{tree}");
  await assert.rejects(commitOf("tree", folder), /"tree" in .* is a tree; allowed: a commit/);
  await assert.rejects(commitOf("v2", folder), /there is no commit, tag or branch "v2"/);
  await assert.rejects(commitOf("--help", folder), /there is no commit, tag or branch "--help"/);
  await assert.rejects(commitOf("v1", "/"), /no Git repository at \//);
});

test("the link is switched in one step, and goes", (context) => {
  const folder = folderFor(context);
  const link = join(folder, "current");
  const releases = join(folder, "releases");
  for (const id of ["20260101-000000", "20260102-000000-abc1234"]) mkdirSync(join(releases, id), { recursive: true });
  mkdirSync(join(releases, "other"));
  assert.deepEqual(releaseIds(releases), ["20260102-000000-abc1234", "20260101-000000"]);
  assert.equal(currentRelease(releases, link), undefined);
  switchLink(link, targetFor(link, join(releases, "20260101-000000")));
  assert.deepEqual(
    [readlinkSync(link), currentRelease(releases, link)],
    ["releases/20260101-000000", "20260101-000000"],
  );
  switchLink(link, "/somewhere/else");
  assert.deepEqual([linkTarget(link), currentRelease(releases, link)], ["/somewhere/else", undefined]);
  switchLink(link, undefined);
  assert.equal(existsSync(link), false);
  mkdirSync(link);
  assert.throws(() => linkTarget(link), /current is not a link; move it away/);
});

test("ids tell time and commit, and none is given twice", (context) => {
  const folder = folderFor(context);
  const now = new Date("2026-11-27T23:15:09.123Z");
  assert.equal(newReleaseId(folder, now, "0123456789abcdef"), "20261127-231509-0123456");
  mkdirSync(join(folder, "20261127-231509"));
  assert.equal(newReleaseId(folder, now), "20261127-231509-2");
});

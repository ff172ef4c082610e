/** Uploads to another machine, by a real sshd: contents, failures, and `procman deploy --host`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type SshHost, sshHost } from "../../src/satellites/hosts/ssh.ts";
import { removeUpload, removeUploadOf, uploadTo } from "../../src/satellites/hosts/upload.ts";
import { homeOf, type Outcome, procman } from "../support/cli.ts";
import { eventually, folderWith } from "../support/procman-process.ts";
import { type SshServer, sshServer } from "../support/ssh-server.ts";
import { isMissing } from "../support/system-programs.ts";

/** A folder with what a release may have, and what procman leaves out. */
function buildIn(folder: string): string {
  const build = join(folder, "my build");
  for (const place of ["bin", "empty", ".git", "releases", "releases/20261127-231500", ".procman/x", "sub/.git"])
    mkdirSync(join(build, place), { recursive: true });
  writeFileSync(join(build, "bin/it's"), "run\n");
  chmodSync(join(build, "bin/it's"), 0o755);
  // To rsync the first two could be comments, to tar the third an option.
  for (const name of ["#notes", ";notes", "-rf", " blank\nline"]) writeFileSync(join(build, name), name);
  writeFileSync(join(build, "@big"), Buffer.alloc(300_000, "abc"));
  for (const left of [".git/config", ".procman/x/notes", "releases/20261127-231500/old"])
    writeFileSync(join(build, left), "");
  writeFileSync(join(build, "sub/.git/kept"), "");
  symlinkSync("releases/20261127-231500", join(build, "current"));
  symlinkSync("bin/it's", join(build, "start"));
  return build;
}

function hostOf({ user, port, program }: SshServer, name = "web1"): SshHost {
  const host = sshHost({ name, url: `ssh://${user}@127.0.0.1:${port}`, program });
  assert.ok(host !== undefined);
  return host;
}

/** Calls it as a command would be: ssh finds the key, and there is rsync only if it is meant to be. */
async function withPrograms(
  context: TestContext,
  { env }: SshServer,
  way: "rsync" | "tar",
  work: () => Promise<void>,
): Promise<void> {
  const before = process.env.PATH;
  const folder = join(folderWith(context, { processes: [] }), "bin");
  mkdirSync(folder);
  for (const name of ["ssh", "ps"]) symlinkSync(programFile(name), join(folder, name));
  process.env.PROCMAN_SSH = env.PROCMAN_SSH;
  if (way === "tar") process.env.PATH = folder;
  try {
    await work();
  } finally {
    process.env.PATH = before;
    delete process.env.PROCMAN_SSH;
  }
}

function programFile(name: string): string {
  const folder = (process.env.PATH ?? "").split(delimiter).find((each) => existsSync(join(each, name)));
  return join(folder ?? "", name);
}

const uploadsOf = ({ stateHome }: SshServer): readonly string[] => readdirSync(join(stateHome, "procman/uploads"));

for (const way of ["rsync", "tar"] as const)
  test(`by ${way}: a folder arrives with modes and links, in a private place, without what procman and Git have in it`, async (context) => {
    if (way === "rsync" && isMissing(context, "rsync")) return;
    const server = await sshServer(context);
    const build = buildIn(folderWith(context, { processes: [] }));
    const host = hostOf(server);
    let path = "";
    await withPrograms(context, server, way, async () => {
      path = await uploadTo(host, { folder: build }, "r1");
    });
    assert.equal(path, join(server.stateHome, "procman/uploads/r1/folder"));
    assert.deepEqual(readdirSync(path, { recursive: true }).sort(), [
      " blank\nline",
      "#notes",
      "-rf",
      ";notes",
      "@big",
      "bin",
      "bin/it's",
      "empty",
      "start",
      "sub",
      "sub/.git",
      "sub/.git/kept",
    ]);
    assert.equal(readlinkSync(join(path, "start")), "bin/it's");
    assert.equal(readFileSync(join(path, "start"), "utf8"), "run\n");
    assert.equal(statSync(join(path, "bin/it's")).mode & 0o777, 0o755);
    for (const place of ["procman/uploads", "procman/uploads/r1"])
      assert.equal(statSync(join(server.stateHome, place)).mode & 0o777, 0o700);
    await withPrograms(context, server, way, () => removeUpload(host, path));
    assert.deepEqual(uploadsOf(server), []);
  });

test("an archive arrives as it is; an upload with the same id is replaced", async (context) => {
  const server = await sshServer(context);
  const folder = folderWith(context, { processes: [] });
  const tarball = join(folder, "a.tar.gz");
  await withPrograms(context, server, "rsync", async () => {
    for (const text of ["first", "second"]) {
      writeFileSync(tarball, text);
      const path = await uploadTo(hostOf(server), { tarball }, "r1");
      assert.deepEqual([path.endsWith("/r1/archive"), readFileSync(path, "utf8")], [true, text]);
      assert.equal(statSync(path).mode & 0o777, 0o600);
    }
  });
  assert.deepEqual(uploadsOf(server), ["r1"]);
  // By the id alone, also where there is none.
  await withPrograms(context, server, "rsync", async () => {
    await removeUploadOf(hostOf(server), "r2");
    assert.deepEqual(uploadsOf(server), ["r1"]);
    await removeUploadOf(hostOf(server), "r1");
  });
  assert.deepEqual(uploadsOf(server), []);
});

test("refused before anything is sent: an empty folder, a device, a link that leads out, nothing", async (context) => {
  const server = await sshServer(context);
  const folder = folderWith(context, { processes: [] });
  const empty = join(folder, "empty");
  mkdirSync(empty);
  await withPrograms(context, server, "rsync", async () => {
    const upload = () => uploadTo(hostOf(server), { folder: empty }, "r1");
    await assert.rejects(upload(), /empty: there is no file in it/);
    writeFileSync(join(empty, "VERSION"), "1");
    symlinkSync("/etc/passwd", join(empty, "out"));
    await assert.rejects(upload(), /"out" is a link to "\/etc\/passwd", which/);
    await assert.rejects(
      uploadTo(hostOf(server), { tarball: join(folder, "none.tar") }, "r1"),
      /none.tar: no such file or directory/,
    );
  });
  assert.equal(existsSync(server.stateHome), false);
});

for (const way of ["rsync", "tar"] as const)
  test(`by ${way}: a stop, and a host that goes away amid an upload`, async (context) => {
    if (way === "rsync" && isMissing(context, "rsync")) return;
    const server = await sshServer(context);
    const folder = folderWith(context, { processes: [] });
    const build = join(folder, "build");
    mkdirSync(build);
    writeFileSync(join(build, "VERSION"), "1");
    execFileSync("/usr/bin/truncate", ["-s", "3G", join(build, "big")]);
    const begun = (id: string) =>
      eventually(() => existsSync(join(server.stateHome, "procman/uploads", id, "folder")) || undefined);
    await withPrograms(context, server, way, async () => {
      const stop = new AbortController();
      const stopped = uploadTo(hostOf(server), { folder: build }, "r1", { signal: stop.signal });
      await begun("r1");
      stop.abort();
      await assert.rejects(stopped, /Cannot upload to web1: it was stopped; nothing has changed there/);
      assert.deepEqual(uploadsOf(server), []);
      const broken = assert.rejects(
        uploadTo(hostOf(server), { folder: build }, "r2"),
        /Cannot upload to web1: the connection broke: .*repeat it when web1 can be reached/,
      );
      await begun("r2");
      await server.stop();
      await broken;
    });
  });

test("where the user may not write: the message names folder, host and remedy", async (context) => {
  const server = await sshServer(context);
  const folder = folderWith(context, { processes: [] });
  writeFileSync(join(folder, "a.tar"), "x");
  // A file where a folder must be made: refused to every user.
  writeFileSync(server.stateHome, "");
  await withPrograms(context, server, "tar", () =>
    assert.rejects(
      uploadTo(hostOf(server), { tarball: join(folder, "a.tar") }, "r1"),
      /Cannot upload to web1: mkdir: .*state.*: Not a directory/,
    ),
  );
});

test("a write that fails there, of which rsync passes on no message: the remedy is there all the same", async (context) => {
  const server = await sshServer(context);
  const build = buildIn(folderWith(context, { processes: [] }));
  const programs = folderWith(context, { processes: [] });
  const rsync = '#!/bin/sh\ntest "$1" = --version && echo "rsync  version 3.2.7" && exit\ncat > /dev/null\nexit 11\n';
  writeFileSync(join(programs, "rsync"), rsync, { mode: 0o755 });
  await withPrograms(context, server, "rsync", async () => {
    process.env.PATH = `${programs}${delimiter}${process.env.PATH}`;
    await assert.rejects(
      uploadTo(hostOf(server), { folder: build }, "r1"),
      /Cannot upload to web1: .*uploads\/r1 can't be written to, mostly because it has no room; make room there/,
    );
  });
  assert.deepEqual(uploadsOf(server), []);
});

test("procman deploy --host uploads a folder, an archive or a commit of this machine, and leaves nothing behind", async (context) => {
  const server = await sshServer(context);
  const web = { id: "web", cmd: "sleep 1000", cwd: "current", autostart: true, minUptimeMs: 50 };
  const { folder: there } = homeOf(context, [web], { releases: {} });
  await procman(there, ["run", "--detach"]);
  const { folder: here } = homeOf(context, []);
  const run = (...args: readonly string[]): Promise<Outcome> => procman(here, args, server.env);
  const url = `ssh://${server.user}@127.0.0.1:${server.port}${there}`;
  assert.equal((await run("host", "add", "web1", url, "--program", server.program)).code, 0);
  mkdirSync(join(here, "build"));
  writeFileSync(join(here, "build/VERSION"), "1\n");
  const versionThere = (): string => readFileSync(join(there, "current/VERSION"), "utf8").trim();
  const deploy = async (...args: readonly string[]): Promise<string> => {
    const { code, out, err } = await run("deploy", ...args, "--host", "web1");
    assert.equal(code, 0, err);
    return out;
  };
  assert.match(await deploy("./build", "--dry-run"), /copy \S+\/build on \S+ \(0\.0 MB\) to /);
  assert.deepEqual(uploadsOf(server), []);
  assert.match(await deploy("./build", "--wait"), /Release \S+ is in use/);
  assert.equal(versionThere(), "1");
  await eventually(() => uploadsOf(server).length === 0 || undefined);
  execFileSync("tar", ["-C", join(here, "build"), "--transform", "s/$//", "-cf", join(here, "b.tar"), "."]);
  writeFileSync(join(here, "build/VERSION"), "2\n");
  assert.match(await deploy("b.tar"), /Deployment 2 of \S+ has begun/);
  assert.match(await deploy("--wait"), /is in use/);
  assert.equal(versionThere(), "1");
  const git = (...args: readonly string[]): void =>
    void execFileSync("git", ["-C", here, "-c", "user.name=a", "-c", "user.email=a@example.org", ...args]);
  git("init", "-q");
  writeFileSync(join(here, "VERSION"), "3\n");
  git("add", "VERSION");
  git("commit", "-qm", "three");
  git("tag", "v3");
  assert.match(await deploy("v3", "--wait"), /is in use/);
  assert.equal(versionThere(), "3");
  assert.match((await run("releases", "--host", "web1")).out, /current .* v3 \([0-9a-f]{12}\) of \S+ on \S+/);
  assert.match(await deploy(join(here, "build"), "--on-host", "--wait"), /is in use/);
  assert.equal(versionThere(), "2");
  await eventually(() => uploadsOf(server).length === 0 || undefined);
  const missing = await run("deploy", "./nothing", "--host", "web1");
  assert.match(missing.err, /there is no \S+\/nothing on this machine; what is on web1 needs --on-host/);
  const relative = await run("deploy", "build", "--on-host", "--host", "web1");
  assert.deepEqual(
    [relative.code, /"build": with --on-host it must be an absolute path/.test(relative.err)],
    [64, true],
  );
  assert.match((await run("deploy", "./build", "--on-host")).err, /--on-host needs a source, and --host/);
});

test("an upload that procman there refuses is removed there", async (context) => {
  const server = await sshServer(context);
  const { folder: there } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  await procman(there, ["run", "--detach"]);
  const { folder: here } = homeOf(context, []);
  writeFileSync(join(here, "VERSION"), "1\n");
  const run = (...args: readonly string[]): Promise<Outcome> => procman(here, args, server.env);
  const url = `ssh://${server.user}@127.0.0.1:${server.port}${there}`;
  await run("host", "add", "web1", url, "--program", server.program);
  const { code, err } = await run("deploy", ".", "--host", "web1");
  assert.deepEqual([code, /Cannot deploy: /.test(err)], [1, true], err);
  assert.deepEqual(uploadsOf(server), []);
});

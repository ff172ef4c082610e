import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { type OtherUser, otherUser, runAs, sharedFolder } from "../support/other-user.ts";
import { eventually, startProcman } from "../support/procman-process.ts";

const SECRET = "only root may read this";

type Place = { readonly user: OtherUser; readonly own: string; readonly secret: string };

/** A folder of nobody, and a file of root beside it. undefined: the test is skipped. */
function place(context: TestContext): Place | undefined {
  const user = otherUser(context);
  if (user === undefined) return undefined;
  const folder = sharedFolder(context, user);
  const secret = join(folder, "secret");
  writeFileSync(secret, `${SECRET}\n`, { mode: 0o600 });
  return { user, own: join(folder, user.name), secret };
}

/** Prints `usual`, and `attacker` again and again once the file `go` is there. */
function printer(own: string): string {
  return `echo usual; while :; do if [ -e ${own}/go ]; then echo attacker; fi; sleep 0.05; done`;
}

test("root's logger appends to a file in the folder of the user, and to nothing that the user links there", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own, secret } = found;
  const log = join(own, "web.log");
  const process = {
    id: "web",
    cmd: printer(own),
    cwd: "/",
    user: user.name,
    autostart: true,
    logger: { stdout: log },
  };
  const procman = await startProcman(context, [process]);
  await eventually(() => (existsSync(log) && readFileSync(log, "utf8") === "usual\n" ? true : undefined));
  await runAs(user, ["sh", "-c", `rm web.log && ln -s ${secret} web.log && touch go`], { cwd: own });
  await procman.line(
    /Cannot write \S*web\.log: \S*web\.log is a link that the user nobody can change; as root, procman follows it only into/,
  );
  await runAs(user, ["sh", "-c", "rm web.log"], { cwd: own });
  await eventually(() => (existsSync(log) && readFileSync(log, "utf8").startsWith("attacker\n") ? true : undefined));
  assert.equal(readFileSync(secret, "utf8"), `${SECRET}\n`);
});

test("root's logger refuses a folder that the user has replaced by a link", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own, secret } = found;
  const target = join(secret, "../roots");
  mkdirSync(target);
  await runAs(user, ["ln", "-s", target, "logs"], { cwd: own });
  const logger = { stdout: join(own, "logs/web.log") };
  const procman = await startProcman(context, [
    { id: "web", cmd: "echo line; sleep 600", cwd: "/", user: user.name, autostart: true, logger },
  ]);
  await procman.line(/Cannot write \S*web\.log: \S*\/logs is a link/);
  assert.deepEqual(readdirSync(target), []);
});

test("a user's own link to a folder of the same user leads the log there", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own } = found;
  await runAs(user, ["sh", "-c", "mkdir -p releases/5/logs && ln -s releases/5 current"], { cwd: own });
  const logger = { stdout: join(own, "current/logs/web.log") };
  await startProcman(context, [
    { id: "web", cmd: "echo line; sleep 600", cwd: "/", user: user.name, autostart: true, logger },
  ]);
  const real = join(own, "releases/5/logs/web.log");
  await eventually(() => (existsSync(real) && readFileSync(real, "utf8") === "line\n" ? true : undefined));
});

test("root's logger compresses rotated files of the user's folder, but no link and no second name of another file", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own, secret } = found;
  const loot = join(own, "loot.gz");
  const planted = join(own, "web.log.20200101T000000000Z");
  await runAs(user, ["sh", "-c", `touch loot.gz && ln -s ${secret} ${planted} && ln -s ${loot} ${planted}.gz.tmp`], {
    cwd: own,
  });
  // A second name, as on a machine without fs.protected_hardlinks.
  execFileSync("ln", [secret, join(own, "web.log.20200102T000000000Z")]);
  const logger = { stdout: join(own, "web.log"), rotate: { size: "1KB", gzip: true } };
  const cmd = "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done; sleep 600";
  const procman = await startProcman(context, [{ id: "web", cmd, cwd: "/", user: user.name, autostart: true, logger }]);
  await procman.line(/Cannot compress \S*web\.log: it has a second name \(hard link\), and other users may write in/);
  rmSync(join(own, "web.log.20200102T000000000Z"));
  procman.child.kill("SIGUSR2");
  const isPacked = (): boolean => readdirSync(own).some((name) => /^web\.log\.(?!2020)\d{8}T\d{9}Z\.gz$/.test(name));
  await eventually(() => (isPacked() ? true : undefined));
  assert.equal(readFileSync(loot).length, 0);
  for (const name of readdirSync(own).filter((each) => each.endsWith(".gz") && each !== "loot.gz"))
    assert.doesNotMatch(gunzipSync(readFileSync(join(own, name))).toString(), new RegExp(SECRET));
});

test("a pid file in the user's folder replaces links and overwrites nothing behind them", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own, secret } = found;
  await runAs(user, ["sh", "-c", `ln -s ${secret} web.pid; ln -s ${secret} web.pid.tmp; mkfifo fifo`], { cwd: own });
  const pidFile = join(own, "web.pid");
  const procman = await startProcman(context, [
    { id: "web", cmd: "sleep 600", cwd: "/", user: user.name, autostart: true, pidFile },
    {
      id: "linked",
      cmd: "sleep 600",
      cwd: "/",
      user: user.name,
      autostart: true,
      pidFile: join(own, "folder/linked.pid"),
    },
  ]);
  await procman.line(/linked *\| started/);
  await procman.line(/web *\| started/);
  await eventually(() => (/^\d+\n$/.test(readFileSync(pidFile, "utf8")) ? true : undefined));
  assert.equal(statSync(pidFile).mode & 0o777, 0o644);
  assert.equal(readFileSync(secret, "utf8"), `${SECRET}\n`);
  assert.ok(existsSync(join(own, "folder/linked.pid")));
});

test("a pid file is not written into a folder to which the user's link leads", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own, secret } = found;
  const target = join(secret, "../roots");
  mkdirSync(target);
  symlinkSync(target, join(own, "run"));
  const pidFile = join(own, "run/web.pid");
  const procman = await startProcman(context, [
    { id: "web", cmd: "sleep 600", cwd: "/", user: user.name, autostart: true, pidFile },
  ]);
  await procman.line(/Cannot write its pid file: \S*\/run is a link/);
  assert.deepEqual(readdirSync(target), []);
});

test("an env file that became a FIFO, a device or a link fails the start with its reason, and no other start waits for it", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own, secret } = found;
  await runAs(user, ["sh", "-c", `mkfifo fifo; ln -s /dev/zero zero; ln -s ${secret} key`], { cwd: own });
  const as = { cwd: "/", user: user.name, autostart: true };
  const procman = await startProcman(context, [
    { id: "fifo", cmd: "sleep 600", ...as, envFile: join(own, "fifo") },
    { id: "zero", cmd: "sleep 600", ...as, envFile: join(own, "zero") },
    { id: "key", cmd: "env; sleep 600", ...as, env: { K: { file: join(own, "key") } } },
    { id: "other", cmd: "echo K is $K; sleep 600", ...as, env: { K: { file: join(own, "good") } } },
  ]);
  await procman.line(/fifo +\| .*fifo can't be read: it is a FIFO, not a regular file/);
  await procman.line(/zero +\| .*zero can't be read: \S*zero is a link that the user nobody can change/);
  await procman.line(/key +\| .*key of its variable K can't be read: \S*key is a link that the user nobody can change/);
  await procman.line(/other +\| .*good of its variable K does not exist/);
  assert.ok(!procman.lines.some((line) => line.includes(SECRET)));
});

test("an env file of the user in the user's folder is read", async (context) => {
  const found = place(context);
  if (found === undefined) return;
  const { user, own } = found;
  writeFileSync(join(own, ".env"), "K=from the file\n", { mode: 0o600 });
  chownSync(join(own, ".env"), user.uid, user.gid);
  const web = {
    id: "web",
    cmd: 'echo "K is $K"; sleep 600',
    cwd: "/",
    user: user.name,
    autostart: true,
    envFile: join(own, ".env"),
  };
  const procman = await startProcman(context, [{ ...web, logger: { console: true } }]);
  await procman.line(/web +\| K is from the file/);
});

/** `"stdin"`: programs that end with their input, and those that read a file. */
import assert from "node:assert/strict";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procman as cli } from "../support/cli.ts";
import { api } from "../support/cluster-rig.ts";
import { otherUser } from "../support/other-user.ts";
import { folderWith, Procman } from "../support/procman-process.ts";

/** As `tailwindcss --watch`. */
const WATCHER = `process.stdin.on("end", () => process.exit(0)).on("data", (data) => console.log("read " + data));
console.log("watching");
setInterval(() => undefined, 1e6);`;
const common = { autostart: true, restart: "never", logger: { console: true } };
/** Of a process that is halted when it is to end. Seconds. */
const terminateTimeout = 1;

test("a program that ends with its input runs on, whatever of procman is killed; its next run begins with an empty input", async (context) => {
  const folder = folderWith(context, {
    processes: [
      { id: "open", cmd: "node watcher.cjs", stdin: true, terminateTimeout, ...common },
      { id: "shell", cmd: "cat; echo ended", stdin: true, ...common },
      { id: "closed", cmd: "node watcher.cjs", ...common },
    ],
  });
  writeFileSync(join(folder, "watcher.cjs"), WATCHER);
  const procman = new Procman(folder);
  await procman.line(/^closed +\| watching$/);
  await procman.line(/^closed +\| finished/);
  await procman.line(/^open +\| watching$/);
  const client = await api({ procman });
  const { pid } = await client.process("open");
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended/);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  const input = join(folder, ".procman/procman/run/stdin-open");
  writeFileSync(input, "typed");
  await procman.line(/^open +\| read typed$/);
  const after = await api({ procman });
  assert.deepEqual(await Promise.all(["open", "shell"].map(async (id) => (await after.process(id)).status)), [
    "running",
    "running",
  ]);
  assert.equal((await after.process("open")).pid, pid);
  process.kill(pid ?? 0, "SIGSTOP");
  writeFileSync(input, "unread");
  assert.equal((await cli(folder, ["restart", "open"])).code, 0);
  await procman.count(/^open +\| watching$/, 2);
  writeFileSync(input, "new");
  await procman.line(/^open +\| read new$/);
  assert.deepEqual(
    procman.lines.filter((line) => line.includes("unread")),
    [],
  );
  await procman.stopHolder();
});

test("a file as input is read from its start by each run, and then ends; another file is a restart, a missing one a failed start with the reason", async (context) => {
  const config = (file: string) => ({
    processes: [{ id: "setup", cmd: "cat; echo over; sleep 1000", stdin: { file }, ...common }],
  });
  const folder = folderWith(context, config("answers.txt"));
  writeFileSync(join(folder, "answers.txt"), "yes\n");
  writeFileSync(join(folder, "others.txt"), "no\n");
  const procman = new Procman(folder);
  await procman.line(/^setup +\| over$/);
  assert.equal((await cli(folder, ["restart", "setup"])).code, 0);
  await procman.count(/^setup +\| over$/, 2);
  writeFileSync(join(folder, "procman.json"), JSON.stringify(config("others.txt")));
  assert.match((await cli(folder, ["reload"])).out, /setup +restart +its stdin has changed/);
  await procman.count(/^setup +\| over$/, 3);
  assert.deepEqual(
    procman.lines.filter((line) => / (yes|no)$/.test(line)).map((line) => line.replace(/.*\| /, "")),
    ["yes", "yes", "no"],
  );
  rmSync(join(folder, "others.txt"));
  const { code, err } = await cli(folder, ["restart", "setup"]);
  assert.equal(code, 1);
  assert.match(err, /its input file \S+others\.txt does not exist, or procman's user can't reach it; create it or correct/);
  assert.equal((await (await api({ procman })).process("setup")).status, "errored");
});

test("a process of another user reads no file that its user may not read", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const reader = (id: string) => ({ id, cmd: "cat", cwd: "/", user: user.name, stdin: { file: id }, ...common });
  const folder = folderWith(context, { processes: [reader("open"), reader("secret")] });
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "open"), "for all\n");
  writeFileSync(join(folder, "secret"), "for root\n", { mode: 0o600 });
  const procman = new Procman(folder);
  await procman.line(/^open +\| for all$/);
  await procman.line(/^secret +\| Cannot start: its user can't read its input file \S+\/secret; give it the right/);
  await procman.line(/^secret +\| exited with code 78/);
  assert.ok(!procman.lines.some((line) => line.includes("for root")));
});

/** `"tty": true`: programs on a terminal. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { uidsOf } from "../../src/core/os/process-stat.ts";
import { terminalHolder } from "../../src/core/os/pseudo-terminal.ts";
import { procman as cli } from "../support/cli.ts";
import { api, clientOf, waitForRecord } from "../support/cluster-rig.ts";
import { otherUser } from "../support/other-user.ts";
import {
  eventually,
  folderWith,
  isAlive,
  type ProcessConfig,
  Procman,
  processExit,
  within,
} from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";

const common = { autostart: true, restart: "never", logger: { console: true }, tty: true };
/** Shells at a terminal ignore SIGTERM. */
const SHELL = {
  cmd: "bash --norc --noprofile --noediting -i",
  env: { PS1: "$ " },
  stopSignal: "SIGHUP",
  ...common,
} as const;

function start(context: TestContext, ...processes: readonly ProcessConfig[]): Procman {
  return new Procman(folderWith(context, { processes }));
}

/** Types into a process, as at its terminal. */
function type({ stateDir }: Procman, id: string, text: string): void {
  writeFileSync(join(stateDir, "run", `stdin-${id}`), text);
}

async function pidOf(procman: Procman, id: string): Promise<number> {
  const { pid } = await waitForRecord(await clientOf(procman.stateDir), id, (record) => record.pid !== undefined);
  return pid ?? 0;
}

/** The process that holds the terminal of a run. */
async function holderOf(pid: number): Promise<number> {
  return eventually(() => terminalHolder(pid), { what: `a terminal of ${pid}` });
}

test("shell, REPLs and an editor on terminals go on, whatever of procman is killed: same pids, input and output", async (context) => {
  if (["bash", "python3", "vim"].some((program) => isMissing(context, program))) return;
  const folder = folderWith(context, {
    processes: [
      { id: "shell", ...SHELL },
      { id: "python", cmd: "python3 -i -q", ...common },
      { id: "node", cmd: "node -i", ...common },
      { id: "vim", cmd: "vim -u NONE -N text", ...common },
    ],
  });
  const text = join(folder, "text");
  writeFileSync(text, "");
  const procman = new Procman(folder);
  const ids = ["shell", "python", "node", "vim"];
  await procman.line(/^vim +\| started/);
  const pids = await Promise.all(ids.map((id) => pidOf(procman, id)));
  const holders = await Promise.all(pids.map(holderOf));
  let round = 0;
  const answer = async (): Promise<void> => {
    round += 1;
    type(procman, "shell", `echo is $((${round} + 40)) $$\n`);
    type(procman, "python", `print("is", ${round} + 40)\n`);
    type(procman, "node", `console.log("is " + (${round} + 40))\n`);
    await procman.line(new RegExp(`^shell +\\| .*is ${round + 40} ${pids[0]}\r$`));
    for (const id of ["python", "node"]) await procman.line(new RegExp(`^${id} +\\| .*is ${round + 40}\r$`));
    const isWritten = (): boolean => readFileSync(text, "utf8").includes(`line ${round}\n`);
    // What is typed before it has set up its terminal may be dropped.
    do type(procman, "vim", `\u001boline ${round}\u001b:w\r`);
    while (!(await within(1_000, isWritten)));
  };
  await answer();
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended/);
  await answer();
  process.kill(procman.helper("logger"), "SIGKILL");
  await answer();
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  await answer();
  assert.deepEqual(await Promise.all(ids.map((id) => pidOf(procman, id))), pids);
  await procman.stopHolder();
  for (const pid of [...pids, ...holders]) await processExit(pid);
});

test("exit code and signal are those of the program; one that can't be started ends with 127", async (context) => {
  const procman = start(
    context,
    { id: "code", cmd: "exit 143", ...common },
    { id: "signal", cmd: "kill -TERM $$; true", ...common },
    { id: "missing", cmd: "/no/program", ...common },
  );
  const client = await api({ procman });
  const ends = ["code", "signal", "missing"].map(async (id) => {
    const { cause } = await waitForRecord(client, id, (record) => record.cause?.end !== undefined);
    return [cause?.end?.kind, cause?.end?.code, cause?.end?.signal];
  });
  assert.deepEqual(await Promise.all(ends), [
    ["exit", 143, undefined],
    ["signal", undefined, "SIGTERM"],
    ["exit", 127, undefined],
  ]);
  await procman.line(/^missing +\| Cannot start \/no\/program: No such file or directory\r$/);
});

test("a stop ends the shell and the jobs of its terminal, also those in groups of their own, and what holds the terminal", async (context) => {
  if (isMissing(context, "bash")) return;
  const procman = start(context, { id: "shell", ...SHELL });
  await procman.line(/^shell +\| started/);
  const pid = await pidOf(procman, "shell");
  const holder = await holderOf(pid);
  type(procman, "shell", "sleep 1000 & echo job $!\n");
  const [, job] = /job (\d+)/.exec(await procman.line(/^shell +\| .*job \d+\r$/)) ?? [];
  type(procman, "shell", "sleep 1001\n");
  assert.ok(isAlive(Number(job)));
  const { code, err } = await cli(procman.folder, ["stop", "shell"]);
  assert.equal(code, 0, err);
  for (const each of [pid, Number(job), holder]) await processExit(each);
});

test("Ctrl-C at the terminal ends the job in the foreground, not the shell", async (context) => {
  if (isMissing(context, "bash")) return;
  const procman = start(context, { id: "shell", ...SHELL });
  await procman.line(/^shell +\| started/);
  type(procman, "shell", "cat\nbegin\n");
  // The echo, and the answer of what is in the foreground.
  await procman.count(/^shell +\| .*begin\r$/, 2);
  type(procman, "shell", "\u0003");
  // What is typed before it has ended is its input.
  await procman.line(/^shell +\| .*\^C\r$/);
  type(procman, "shell", "echo code $?\n");
  await procman.line(/^shell +\| .*code 130\r$/);
});

test("each of 20 instances has its terminal, is ready by a line in color, and leaves nothing behind", async (context) => {
  const cmd = 'printf "\\033[32mready\\033[0m\\n"; stty size; read line; echo got $line; exec sleep 1000';
  const procman = start(context, { id: "pool", cmd, ...common, cluster: { instances: 20 }, ready: { log: "^ready$" } });
  await procman.count(/^pool-\d+ +\| 24 80\r$/, 20);
  const ids = Array.from({ length: 20 }, (_, index) => `pool-${index + 1}`);
  const client = await api({ procman });
  for (const id of ids) await waitForRecord(client, id, ({ status }) => status === "running");
  const holders = await Promise.all(ids.map(async (id) => holderOf(await pidOf(procman, id))));
  assert.equal(new Set(holders).size, 20);
  type(procman, "pool-7", "this\n");
  await procman.line(/^pool-7 +\| got this\r$/);
  assert.ok(!procman.lines.some((line) => /got this\r$/.test(line) && !line.startsWith("pool-7")));
  await procman.stop();
  for (const holder of holders) await processExit(holder);
});

test("a run on a terminal whose records are lost is adopted with its output", async (context) => {
  const procman = start(context, { id: "cat", cmd: "echo begun; exec cat", ...common });
  await procman.line(/^cat +\| begun\r$/);
  const pid = await pidOf(procman, "cat");
  process.kill(procman.pid, "SIGSTOP");
  rmSync(join(procman.stateDir, "run/journal"));
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  type(procman, "cat", "after\n");
  await procman.count(/^cat +\| after\r$/, 2);
  assert.equal(await pidOf(procman, "cat"), pid);
  await procman.stopHolder();
});

test("a terminal of another user belongs to that user, also what holds it; it is typed into and resized, before and after a kill", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const cmd = "id -un; stat -c %U $(tty); while read word; do echo got $word; stty size; done";
  const procman = start(context, { id: "cat", cmd, cwd: "/", user: user.name, ...common });
  await procman.count(new RegExp(`^cat +\\| ${user.name}\r$`), 2);
  const pid = await pidOf(procman, "cat");
  const holder = await holderOf(pid);
  assert.equal(uidsOf(holder)?.effective, user.uid);
  await (await api({ procman })).input("cat", { text: "one\n", size: { rows: 30, columns: 100 } });
  await procman.line(/^cat +\| got one\r$/);
  await procman.line(/^cat +\| 30 100\r$/);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  await (await api({ procman })).input("cat", { text: "two\n", size: { rows: 1, columns: 1 } });
  await procman.line(/^cat +\| got two\r$/);
  await procman.line(/^cat +\| 1 1\r$/);
  await procman.stopHolder();
  for (const each of [pid, holder]) await processExit(each);
});

/** What a process of another user gets, writes or prints under root's procman: its input is its own, and no amount of text holds up others. */
import assert from "node:assert/strict";
import { chownSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { procman as command } from "../support/cli.ts";
import { otherUser, runAs, sharedFolder } from "../support/other-user.ts";
import { type Procman, startProcman } from "../support/procman-process.ts";

const VICTIM = {
  id: "victim",
  cmd: "exec sleep 1000",
  autostart: true,
  restart: "always",
  restartDelayMs: 0,
  restartLimit: 1_000,
};
/** On a loaded machine. It took 7 to 10 s beside a hook that prints, hours beside such an env file. Milliseconds. */
const SOON_MS = 5_000;
const GROWTH_KB = 60_000;

/** Root's procman with the victim, and `web` as nobody, whose folder is `own`. undefined: the test is skipped. */
async function startedWith(
  context: TestContext,
  web: (own: string) => object,
  texts: Readonly<Record<string, string>> = {},
) {
  const user = otherUser(context);
  if (user === undefined) return undefined;
  const own = join(sharedFolder(context, user), user.name);
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(own, name), text);
    chownSync(join(own, name), user.uid, user.gid);
  }
  const process = { id: "web", user: user.name, cwd: own, autostart: true, logger: { console: true }, ...web(own) };
  const procman = await startProcman(context, [VICTIM, process]);
  await procman.line(/^victim +\| started/);
  return { procman, user };
}

/** A killed process is back, and `status` says so. */
async function goesOn(procman: Procman): Promise<void> {
  const from = procman.lines.length;
  const [, pid = ""] =
    /pid (\d+)/.exec(procman.lines.filter((line) => /^victim +\| started/.test(line)).at(-1) ?? "") ?? [];
  const begin = performance.now();
  process.kill(Number(pid), "SIGKILL");
  await procman.line(/^victim +\| started \(pid/, from);
  assert.equal((await command(procman.folder, ["status", "victim"])).code, 0);
  const took = performance.now() - begin;
  assert.ok(took < SOON_MS, `${Math.round(took)} ms`);
}

test("a user's env file with hundreds of thousands of blanks in a line is read at once", async (context) => {
  const [inside, behind] = [" ".repeat(100_000), " ".repeat(400_000)];
  const web = (own: string) => ({
    envFile: join(own, "values.env"),
    cmd: 'echo "$(printf %s "$A" | wc -c) $B $C"; exec sleep 1000',
  });
  const started = await startedWith(context, web, {
    "values.env": `A=a${inside}b\nB=b${behind}# comment\nC=c${behind}\n`,
  });
  if (started === undefined) return;
  await started.procman.line(/^web +\| 100002 b c$/);
  await goesOn(started.procman);
});

test("a user's hook that prints without end delays neither a restart nor `status`, and the service stays small", async (context) => {
  const started = await startedWith(context, () => ({ cmd: "exec sleep 1000", hooks: { beforeStart: "yes" } }));
  if (started === undefined) return;
  const { procman } = started;
  await procman.line(/^web +\| beforeStart: y$/);
  const resident = (): number =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${procman.helper("service")}/status`, "utf8"))?.[1]);
  await goesOn(procman);
  const before = resident();
  for (let round = 0; round < 5; round += 1) await goesOn(procman);
  assert.ok(resident() < before + GROWTH_KB, `${before} kB, then ${resident()} kB`);
});

test("with `stdin`, a program of another user reads what root writes to its input, also as /dev/stdin; that user reaches no other way there", async (context) => {
  const started = await startedWith(context, () => ({
    stdin: true,
    cmd: "read line; echo got $line; read line </dev/stdin; id -un; echo got $line; exec sleep 1000",
  }));
  if (started === undefined) return;
  const { procman, user } = started;
  await procman.line(/^web +\| started/);
  const input = join(procman.stateDir, "run/stdin-web");
  writeFileSync(input, "typed\n");
  await procman.line(/^web +\| got typed$/);
  writeFileSync(input, "fed\n");
  await procman.line(/^web +\| got fed$/);
  await procman.line(new RegExp(`^web +\\| ${user.name}$`));
  assert.notEqual((await runAs(user, ["sh", "-c", `echo forged >> ${input}`])).code, 0);
});

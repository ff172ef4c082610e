/** What a command says while it waits, and when its waiting is interrupted. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, keeperIn, procman } from "../support/cli.ts";
import { processExit, startProcman } from "../support/procman-process.ts";
import { RunningCommand, TERMINAL } from "../support/running-command.ts";

/** Ends a second after its SIGTERM at the earliest, and only when the file `go` is there. */
const SLOW = {
  id: "slow",
  cmd: "trap 'while [ ! -e go ]; do sleep 0.1; done; exit 0' TERM; echo up; while :; do sleep 0.1; done",
  autostart: true,
  restart: "never",
  terminateTimeout: 60,
};

test("Ctrl-C while restart waits says that the restart continues, and it does", async (context) => {
  const { folder } = homeOf(context, [SLOW]);
  await procman(folder, ["run", "--detach"]);
  const command = new RunningCommand(folder, ["restart", "slow"], TERMINAL);
  await command.shows(/restarting slow … \d+ s/);
  command.child.stdin?.write("\u0003");
  assert.equal(await command.exitCode(), 130);
  assert.match(
    command.out,
    /procman: stopped waiting; procman continues restarting slow, "procman status" shows the states\r\n$/,
  );
  assert.match((await procman(folder, ["status"])).out, /slow +stopping .* then it starts again/);
  writeFileSync(join(folder, "go"), "");
  const logs = new RunningCommand(folder, ["logs", "slow", "--category", "stdout", "-f"]);
  await logs.shows(/\| up\n.*\| up\n/);
  logs.child.kill();
});

test("terminate shows on a terminal that it waits; an interrupted one says that the end continues", async (context) => {
  const { folder, state } = homeOf(context, [SLOW]);
  await procman(folder, ["run", "--detach"]);
  const command = new RunningCommand(folder, ["terminate"], TERMINAL);
  await command.shows(/ending test … \d+ s/);
  command.child.stdin?.write("\u0003");
  assert.equal(await command.exitCode(), 130);
  assert.match(
    command.out,
    /procman: stopped waiting; the end of test continues, "procman status" shows what is left\r\n$/,
  );
  writeFileSync(join(folder, "go"), "");
  await processExit(keeperIn(state));
});

test("run says what the first and the second Ctrl-C do, before they do it", async (context) => {
  const run = await startProcman(context, [SLOW], { config: { logger: { console: true } } });
  await run.line(/slow +\| up/);
  run.child.kill("SIGINT");
  await run.line(/\| stopping everything \(SIGINT\); the next SIGINT or SIGTERM kills what still runs$/);
  await run.line(/slow +\| still stopping /);
  run.child.kill("SIGINT");
  await run.line(/^procman: SIGINT while everything is being stopped: killing what still runs$/);
  assert.deepEqual(await run.exit(), { code: 0, signal: null });
});

/** `killMode`: who gets the stop signal, with programs that stop their children themselves. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { procman as cli } from "../support/cli.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { folderWith, Procman, processExit } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";

const PROGRAMS = fileURLToPath(new URL("../programs", import.meta.url));
const loud = { autostart: true, logger: { console: true } };

test('a ProcessPoolExecutor ends in order with killMode "leader", by stop, restart, the end of procman, and after a kill of procman; by default its jobs are lost', async (context) => {
  if (isMissing(context, "python3")) return;
  const pool = (id: string) => ({
    id,
    cmd: `python3 ${PROGRAMS}/finish-pool.py ${id}.gate`,
    ...loud,
    terminateTimeout: 20,
  });
  const processes = [pool("group"), { ...pool("leader"), killMode: "leader" }, { ...pool("last"), killMode: "leader" }];
  const folder = folderWith(context, { processes });
  const open = (id: string): void => writeFileSync(join(folder, `${id}.gate`), "");
  const procman = new Procman(folder);
  await procman.count(/\| working$/, 3);

  const lost = cli(folder, ["stop", "group"]);
  await procman.line(/group +\| lost BrokenProcessPool$/);
  await lost;

  const restart = cli(folder, ["restart", "leader"]);
  await procman.line(/leader +\| finishing$/);
  open("leader");
  assert.equal((await restart).code, 0);
  await procman.line(/leader +\| ended in order$/);
  assert.equal(procman.lines.filter((line) => /leader +\| result done$/.test(line)).length, 2);

  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  const end = procman.stopHolder();
  await procman.line(/last +\| finishing$/);
  open("last");
  await end;
  await procman.line(/last +\| ended in order$/);
  assert.ok(!procman.lines.some((line) => /(?:last|leader) +\| lost/.test(line)));
});

test("a prefork master behind the load balancer ends its workers in order; what it leaves behind is ended after it", async (context) => {
  if (isMissing(context, "python3")) return;
  const cluster = { instances: 2, startPort: await freeRange(), commonPort: await freePort() };
  const web = { id: "web", cmd: `python3 ${PROGRAMS}/prefork.py`, killMode: "leader", cluster, ...loud };
  const folder = folderWith(context, { processes: [web] });
  const procman = new Procman(folder);
  const left = (await procman.count(/\| workers are up, beside \d+$/, 2)).map((line) =>
    Number(/beside (\d+)/.exec(line)?.[1]),
  );
  const { code, err } = await cli(folder, ["stop", "web"]);
  assert.equal(code, 0, err);
  await procman.count(/\| master: workers ended with \[0, 0\]$/, 2);
  await procman.count(/\| worker [12] ended in order$/, 4);
  for (const pid of left) await processExit(pid);
  assert.equal(await procman.stop(), 0);
});

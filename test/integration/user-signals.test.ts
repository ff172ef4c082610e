/** SIGUSR1 and SIGUSR2, sent to a process of procman by mistake: no debugger opens, and the process lives on. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { NO_DEBUGGER } from "../../src/core/os/no-debugger.ts";
import { freePort } from "../support/free-ports.ts";
import { childrenOf, commandLineOf } from "../support/proc-files.ts";
import { cleanEnvironment, eventually, startProcman } from "../support/procman-process.ts";
import { DIST } from "../support/product.ts";

const folder = mkdtempSync(join(tmpdir(), "procman-signals-"));
after(() => rmSync(folder, { recursive: true }));

/** Ends the program at the first module that it loads, and tells which signals it handles then. */
const PRELOAD = join(folder, "preload.cjs");
writeFileSync(
  PRELOAD,
  `const Module = require("node:module"), load = Module._load;
   Module._load = function (id, parent, ...rest) {
     if (parent === undefined || parent === null || parent.filename === __filename || parent.id === "internal/preload") return load.call(this, id, parent, ...rest);
     require("node:fs").writeSync(1, ["SIGUSR1", "SIGUSR2"].filter((signal) => process.listenerCount(signal) > 0).join());
     process.exit(0);
   };`,
);

for (const name of ["procman.cjs", "service.cjs", "logger.cjs", "balancer.cjs", "opener.cjs", "turn-away.cjs"])
  test(`${name} handles SIGUSR1 and SIGUSR2 before anything else`, async () => {
    const child = spawn(process.execPath, ["--require", PRELOAD, join(DIST, name), "run"], {
      cwd: folder,
      env: cleanEnvironment(),
    });
    let handled = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (handled += text));
    await once(child, "close");
    assert.equal(handled, "SIGUSR1,SIGUSR2");
  });

test("SIGUSR1 before the first statement opens no debugger in a process that procman starts", async () => {
  const program = join(folder, "no-handler.cjs");
  writeFileSync(program, `setInterval(() => undefined, 1000); require("node:fs").writeSync(1, "up");`);
  const child = spawn(process.execPath, [NO_DEBUGGER, program], { env: cleanEnvironment() });
  let printed = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text));
  await once(child.stdout, "data");
  child.kill("SIGUSR1");
  await eventually(() => /inspector on .* failed/.test(printed) || undefined);
  assert.doesNotMatch(printed, /listening/);
  child.kill("SIGKILL");
  await once(child, "close");
});

test("service, balancer and its further processes outlive SIGUSR1 and SIGUSR2, and none of procman's processes opens a debugger", async (t) => {
  const [startPort, commonPort] = [await freePort(), await freePort()];
  const server = `require("node:http").createServer((_, r) => r.end("ok")).listen(process.env.PROCMAN_CLUSTER_PORT, () => console.log("up"))`;
  const cluster = { instances: 1, startPort, commonPort };
  const procman = await startProcman(t, [{ id: "web", cmd: `exec node -e '${server}'`, autostart: true, cluster }], {
    config: { logger: { console: true } },
  });
  const answer = async (): Promise<string> => (await fetch(`http://127.0.0.1:${commonPort}`)).text();
  await procman.line(/web-1 .*up/);
  await eventually(() => procman.helperIfUp("balancer"));
  while ((await answer().catch(() => "")) !== "ok") await setTimeout(20);
  const balancer = procman.helper("balancer");
  const parts = (): readonly number[] => [
    procman.helper("service"),
    procman.helper("balancer"),
    ...childrenOf(balancer),
  ];
  const [before, logger] = [parts(), procman.helper("logger")];
  assert.equal(before.length, 2 + Math.min(4, availableParallelism()) - 1);
  // Each ignores the signals from its first statement on.
  await eventually(() => before.every((pid) => /^procman[:[]/.test(commandLineOf(pid))) || undefined);
  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) for (const pid of before) process.kill(pid, signal);
  process.kill(logger, "SIGUSR2");
  // The keeper reopens the log files, and upgrades all parts to what they are.
  process.kill(procman.pid, "SIGUSR2");
  assert.equal(await answer(), "ok");
  assert.deepEqual(parts(), before);
  process.kill(procman.pid, "SIGUSR1");
  await procman.line(/upgrade: balancer/);
  assert.equal(await answer(), "ok");
  assert.deepEqual(
    procman.lines.filter((line) => /debugger|inspector/i.test(line)),
    [],
  );
});

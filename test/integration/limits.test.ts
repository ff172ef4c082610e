/** Limits and users of real programs. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, startProcman } from "../support/procman-process.ts";

/** The content of a file once it is complete. */
function text(folder: string, file: string): Promise<string> {
  const path = join(folder, file);
  return eventually(() => (existsSync(path) && readFileSync(path, "utf8").endsWith("\n") ? readFileSync(path, "utf8").trim() : undefined));
}

test("ulimits, umask and nice apply to the process, whose pid is the program's", async (context) => {
  const program =
    'require("fs").writeFileSync("limits", process.umask().toString(8) + " " + require("os").getPriority() + " " + process.pid + "\\n" + require("fs").readFileSync("/proc/self/limits", "utf8")); setInterval(() => 0, 1000)';
  const procman = await startProcman(context, [
    { id: "web", cmd: `node -e '${program}'`, autostart: true, ulimits: { nofile: 321, core: 0 }, umask: "027", nice: 3 },
  ]);
  const [, pid] = /started \(pid (\d+)\)/.exec(await procman.line(/web +\| started/)) ?? [];
  const limits = await text(procman.folder, "limits");
  assert.equal(limits.split("\n")[0], `27 3 ${pid}`);
  assert.match(limits, /Max open files +321 +321/);
  assert.match(limits, /Max core file size +0 +0/);
});

test("a limit that can't be set ends the run, and the log says why", async (context) => {
  const procman = await startProcman(
    context,
    [{ id: "web", cmd: "echo never", autostart: true, restart: "error", restartLimit: 0, ulimits: { nofile: 2 ** 52 } }],
    { config: { logger: { console: true } } },
  );
  await procman.line(/web +\| Cannot start: the limit nofile cannot be 4503599627370496/);
  await procman.line(/web +\| exited with code 78/);
});

test("a process and its probes run as the configured user", {
  skip: process.getuid?.() !== 0 && "only root may do that",
}, async (context) => {
  const ready = { exec: "test $(id -u) = 65534" };
  const cmd = "echo $(id -u) $(id -g) $USER; exec sleep 1000";
  const procman = await startProcman(context, [{ id: "web", cmd, cwd: "/", autostart: true, user: "nobody", ready }], {
    config: { logger: { console: true } },
  });
  await procman.line(/web +\| 65534 65534 nobody/);
  await procman.line(/web +\| ready after/);
});

test("a run that exceeds its memory limit is restarted by its policy, with the cause", async (context) => {
  const program = "const kept = []; setInterval(() => kept.length < 200 && kept.push(Buffer.alloc(1000000, 1)), 5)";
  const procman = await startProcman(context, [
    { id: "web", cmd: `node -e '${program}'`, autostart: true, restart: "error", restartLimit: 1, memoryLimit: "100MB" },
    { id: "small", cmd: "sleep 1000", autostart: true, memoryLimit: "100MB" },
  ]);
  await procman.line(/web +\| used too much memory \(\d+(\.\d)? MB, more than its 100 MB\); stopping/);
  await procman.line(/web +\| was ended by SIGTERM .*its one restart is used up/);
  assert.ok(!procman.lines.some((line) => /small +\| had too much/.test(line)));
});

test("a run that exceeds the kernel's memory limit is killed at once in a cgroup, else stopped as by a soft limit, which is reported once", async (context) => {
  const program = "const kept = []; setInterval(() => kept.length < 200 && kept.push(Buffer.alloc(1000000, 1)), 5)";
  const procman = await startProcman(context, [
    { id: "web", cmd: `node -e '${program}'`, autostart: true, restart: "error", restartLimit: 1, memoryMax: "100MB" },
    { id: "small", cmd: "sleep 1000", autostart: true, memoryMax: "100MB" },
  ]);
  const end = await procman.line(/web +\| (used too much memory \(.* more than its 100 MB\)|was ended by SIGKILL \(out of memory\))/);
  await procman.line(/web +\| was ended by SIG.*its one restart is used up/);
  const warnings = procman.lines.filter((line) => line.includes('Cannot enforce "memoryMax" by the kernel: '));
  assert.equal(warnings.length, end.includes("(out of memory)") ? 0 : 1);
  assert.ok(!procman.lines.some((line) => /small +\| (had too much|was ended)/.test(line)));
});

/** Limits and users of real programs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, startProcman } from "../support/procman-process.ts";

/** The content of a file once it is complete. */
function text(folder: string, file: string): Promise<string> {
  const path = join(folder, file);
  return eventually(() =>
    existsSync(path) && readFileSync(path, "utf8").endsWith("\n") ? readFileSync(path, "utf8").trim() : undefined,
  );
}

test("ulimits, umask and nice apply to the process, whose pid is the program's", async (context) => {
  const program =
    'require("fs").writeFileSync("limits", process.umask().toString(8) + " " + require("os").getPriority() + " " + process.pid + "\\n" + require("fs").readFileSync("/proc/self/limits", "utf8")); setInterval(() => 0, 1000)';
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: `node -e '${program}'`,
      autostart: true,
      ulimits: { nofile: 321, core: 0 },
      umask: "027",
      nice: 3,
    },
  ]);
  const [, pid] = /started \(pid (\d+)\)/.exec(await procman.line(/web +\| started/)) ?? [];
  const limits = await text(procman.folder, "limits");
  assert.equal(limits.split("\n")[0], `27 3 ${pid}`);
  assert.match(limits, /Max open files +321 +321/);
  assert.match(limits, /Max core file size +0 +0/);
});

test("oomScoreAdjust and ioNice apply to the process, whose pid is the program's, and to each restart of it", {
  skip: process.platform !== "linux" && "only Linux has them",
}, async (context) => {
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: "sleep 1000",
      autostart: true,
      restart: "always",
      oomScoreAdjust: 300,
      ioNice: { class: "best-effort", level: 6 },
    },
  ]);
  const started = (count: number): Promise<number> =>
    eventually(() => {
      const line = procman.lines.filter((each) => /web +\| started/.test(each))[count - 1];
      return line === undefined ? undefined : Number(/pid (\d+)/.exec(line)?.[1]);
    });
  const assertApplied = (pid: number): Promise<true> =>
    eventually(() => {
      const io = execFileSync("ionice", ["-p", String(pid)], { encoding: "utf8" }).trim();
      return readFileSync(`/proc/${pid}/oom_score_adj`, "utf8") === "300\n" && io === "best-effort: prio 6"
        ? true
        : undefined;
    });
  const first = await started(1);
  await assertApplied(first);
  assert.equal(readFileSync(`/proc/${first}/comm`, "utf8").trim(), "sleep");
  process.kill(first, "SIGKILL");
  await assertApplied(await started(2));
});

test("a CPU limit holds in a cgroup; without one the run starts, and the reason is logged once", async (context) => {
  const procman = await startProcman(context, [
    { id: "web", cmd: "sleep 1000", autostart: true, cpuQuota: 50 },
    { id: "small", cmd: "sleep 1000", autostart: true, cpuQuota: 50 },
  ]);
  await procman.line(/web +\| started/);
  const pid = Number(/pid (\d+)/.exec(await procman.line(/small +\| started/))?.[1]);
  const path = /^0::(.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, "utf8"))?.[1] ?? "";
  const limit = join("/sys/fs/cgroup", path, "cpu.max");
  if (path.endsWith("/small") && existsSync(limit)) assert.equal(readFileSync(limit, "utf8").trim(), "50000 100000");
  else await procman.line(/Cannot enforce "cpuQuota": .*; processes run without this limit/);
  assert.ok(procman.lines.filter((line) => line.includes('Cannot enforce "cpuQuota"')).length <= 1);
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
    {
      id: "web",
      cmd: `node -e '${program}'`,
      autostart: true,
      restart: "error",
      restartLimit: 1,
      memoryLimit: "100MB",
    },
    { id: "small", cmd: "sleep 1000", autostart: true, memoryLimit: "100MB" },
  ]);
  await procman.line(
    /web +\| used too much memory \(\d+(\.\d)? MB, more than its 100 MB(; RSS: \d+(\.\d)? MB)?\); stopping/,
  );
  await procman.line(/web +\| was killed by SIGTERM .*its one restart is used up/);
  assert.ok(!procman.lines.some((line) => /small +\| had too much/.test(line)));
});

test("a run that exceeds the kernel's memory limit is killed at once in a cgroup, else stopped as by a soft limit, which is reported once", async (context) => {
  const program = "const kept = []; setInterval(() => kept.length < 200 && kept.push(Buffer.alloc(1000000, 1)), 5)";
  const procman = await startProcman(context, [
    { id: "web", cmd: `node -e '${program}'`, autostart: true, restart: "error", restartLimit: 1, memoryMax: "100MB" },
    { id: "small", cmd: "sleep 1000", autostart: true, memoryMax: "100MB" },
  ]);
  const end = await procman.line(
    /web +\| (used too much memory \(.* more than its 100 MB.*\)|was killed by SIGKILL \(out of memory\))/,
  );
  await procman.line(/web +\| was killed by SIG.*its one restart is used up/);
  const warnings = procman.lines.filter((line) => line.includes('Cannot enforce "memoryMax" through the kernel: '));
  assert.equal(warnings.length, end.includes("(out of memory)") ? 0 : 1);
  assert.ok(!procman.lines.some((line) => /small +\| (had too much|was ended)/.test(line)));
});

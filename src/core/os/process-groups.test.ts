/** Which pids and process groups exist. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { groupLives, isTaken, livingGroups } from "./process-groups.ts";
import { signalIfThere } from "./process-signal.ts";

test("2.2 a group lives as long as one member, and a pid is taken while a process of any user has it", async (context) => {
  assert.ok(isTaken(process.pid) && isTaken(1));
  const child = spawn("/bin/sh", ["-c", "sleep 1000 & echo $!"], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { pid = 0 } = child;
  // Otherwise the grandchild would keep this process waiting for its output.
  context.after(() => {
    if (pid > 1) signalIfThere(-pid, "SIGKILL");
    child.stdout.destroy();
  });
  const over = once(child, "exit");
  const member = Number(String((await once(child.stdout, "data"))[0]));
  assert.ok(pid > 1 && member > 1);
  await over;
  assert.deepEqual([isTaken(pid), groupLives(pid), livingGroups().has(pid)], [false, true, true]);
  process.kill(member, "SIGKILL");
  // The zombie may stay where init doesn't reap orphans.
  while (livingGroups().has(pid)) await new Promise((resolve) => setTimeout(resolve, 1));
});

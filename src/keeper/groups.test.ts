/** Which pids and process groups are taken. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { signalIfThere } from "../os/signal.ts";
import { groupLives, isTaken, livingGroups, thrown } from "./groups.ts";

test("2.2 a group lives as long as one of its members, and a pid is taken while its process, or another user's, is there", async (context) => {
  assert.ok(isTaken(process.pid) && isTaken(1));
  const child = spawn("/bin/sh", ["-c", "sleep 1000 & echo $!"], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const { pid = 0 } = child;
  // What it has started would keep this process waiting for its output.
  context.after(() => {
    if (pid > 1) signalIfThere(-pid, "SIGKILL");
    child.stdout.destroy();
  });
  const over = once(child, "exit");
  const member = Number(String((await once(child.stdout, "data"))[0]));
  assert.ok(pid > 1 && member > 1);
  await over;
  assert.deepEqual([isTaken(pid), groupLives(pid), livingGroups().has(pid)], [false, true, true]);
  assert.deepEqual([isTaken(pid, thrown), isTaken(-pid, thrown), isTaken(process.pid, thrown)], [false, true, true]);
  process.kill(member, "SIGKILL");
  // Its zombie may stay, where nobody looks after orphans.
  while (livingGroups().has(pid)) await new Promise((resolve) => setTimeout(resolve, 1));
});

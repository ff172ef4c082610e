/** 2.2 `stop` says that a process is stopped only if nothing of it goes on. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { folderOf, otherUser, runAs, sharedFolder } from "../support/other-user.ts";
import { eventually, isAlive } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

/** Becomes root, as sudo does, and ignores what its starter could send to it. */
const PROGRAM = String.raw`
#include <stdio.h>
#include <unistd.h>
int main(int count, char **words) {
  if (setuid(0) != 0) return 1;
  FILE *file = fopen(words[1], "w");
  fprintf(file, "%d\n", getpid());
  fclose(file);
  for (;;) pause();
}`;

test("a program of root that a process of another user has started is told as left: by stop, the reason and the log", async (context) => {
  const user = otherUser(context);
  if (user === undefined || isMissing(context, "gcc")) return;
  const folder = sharedFolder(context, user);
  const own = folderOf(user, join(folder, "shop"));
  const [program, pidFile] = [join(folder, "root/become-root"), join(folder, "root/pid")];
  mkdirSync(join(folder, "root"));
  writeFileSync(`${program}.c`, PROGRAM);
  execFileSync("gcc", ["-o", program, `${program}.c`]);
  chmodSync(program, 0o4755);
  const web = { id: "web", cmd: `${program} ${pidFile} & exec sleep 600`, autostart: true, terminateTimeout: 1 };
  writeFileSync(join(own, "procman.json"), JSON.stringify({ name: "shop", processes: [web] }));
  const procman = (...args: readonly string[]): ReturnType<typeof runAs> =>
    runAs(user, [process.execPath, BIN, ...args], { cwd: own, env: { HOME: own } });
  assert.equal((await procman("run", "--detach")).code, 0);
  const pid = await eventually(() => (existsSync(pidFile) && Number(readFileSync(pidFile, "utf8"))) || undefined);
  context.after(() => process.kill(pid, "SIGKILL"));
  const left = /; 1 of its processes is left and can't be killed/;
  const stop = await procman("stop", "web");
  assert.equal(stop.code, 1, stop.out);
  assert.match(stop.err, /Cannot stop "web": it was stopped \(SIGTERM\); 1 of its processes is left/);
  assert.ok(isAlive(pid));
  const [record] = JSON.parse((await procman("status", "web", "--json")).out) as ProcessRecord[];
  assert.deepEqual([record?.status, left.test(record?.reason ?? "")], ["stopped", true]);
  const lifecycle = (await procman("logs", "--category", "lifecycle")).out;
  assert.equal((await procman("terminate")).code, 0);
  assert.match(lifecycle, left);
});

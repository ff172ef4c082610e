/** `"stdin": true`: programs that end with their input. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procman as cli } from "../support/cli.ts";
import { api } from "../support/cluster-rig.ts";
import { folderWith, Procman } from "../support/procman-process.ts";

/** As `tailwindcss --watch`. */
const WATCHER = `process.stdin.on("end", () => process.exit(0)).on("data", (data) => console.log("read " + data));
console.log("watching");
setInterval(() => undefined, 1e6);`;
const common = { autostart: true, restart: "never", logger: { console: true } };
/** Of a process that is halted when it is to end. Seconds. */
const terminateTimeout = 1;

test("a program that ends with its input runs on, whatever of procman is killed; its next run begins with an empty input", async (context) => {
  const folder = folderWith(context, {
    processes: [
      { id: "open", cmd: "node watcher.cjs", stdin: true, terminateTimeout, ...common },
      { id: "shell", cmd: "cat; echo ended", stdin: true, ...common },
      { id: "closed", cmd: "node watcher.cjs", ...common },
    ],
  });
  writeFileSync(join(folder, "watcher.cjs"), WATCHER);
  const procman = new Procman(folder);
  await procman.line(/^closed +\| watching$/);
  await procman.line(/^closed +\| finished/);
  await procman.line(/^open +\| watching$/);
  const client = await api({ procman });
  const { pid } = await client.process("open");
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended/);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  const input = join(folder, ".procman/procman/run/stdin-open");
  writeFileSync(input, "typed");
  await procman.line(/^open +\| read typed$/);
  const after = await api({ procman });
  assert.deepEqual(await Promise.all(["open", "shell"].map(async (id) => (await after.process(id)).status)), [
    "running",
    "running",
  ]);
  assert.equal((await after.process("open")).pid, pid);
  process.kill(pid ?? 0, "SIGSTOP");
  writeFileSync(input, "unread");
  assert.equal((await cli(folder, ["restart", "open"])).code, 0);
  await procman.count(/^open +\| watching$/, 2);
  writeFileSync(input, "new");
  await procman.line(/^open +\| read new$/);
  assert.deepEqual(
    procman.lines.filter((line) => line.includes("unread")),
    [],
  );
  await procman.stopHolder();
});

/** Who may read log files: docs/logging.md. */
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procman as command } from "../support/cli.ts";
import { eventually, startProcman } from "../support/procman-process.ts";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

for (const [umask, file, folder] of [
  ["000", "640", "750"],
  ["027", "640", "750"],
  ["077", "600", "700"],
] as const)
  test(`2.3 with the umask ${umask} a new log file has mode ${file} and its folder ${folder}; a file that is there keeps its mode, also when it is emptied`, async (context) => {
    const host = await startProcman(
      context,
      [
        {
          id: "web",
          cmd: "echo hello; echo oops >&2; sleep 1000",
          autostart: true,
          logger: { stdout: "logs/web.log", stderr: "own/err.log" },
        },
      ],
      { launcher: ["sh", "-c", `mkdir own; : > own/err.log; chmod 664 own/err.log; umask ${umask}; exec "$@"`, "sh"] },
    );
    const [out, err] = [join(host.folder, "logs/web.log"), join(host.folder, "own/err.log")];
    await eventually(() => (existsSync(out) && statSync(out).size > 0 && statSync(err).size > 0) || undefined);
    assert.equal((await command(host.folder, ["flush", "--yes"])).code, 0);
    assert.equal(statSync(out).size + statSync(err).size, 0);
    assert.deepEqual([modeOf(out), modeOf(join(host.folder, "logs")), modeOf(err)], [file, folder, "664"]);
  });

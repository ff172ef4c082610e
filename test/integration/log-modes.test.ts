/** Who may read log files: docs/guide/logs.md. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, lstatSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procman as command, homeOf, keeperIn } from "../support/cli.ts";
import { childrenOf, nameOf } from "../support/proc-files.ts";
import { cleanEnvironment, eventually, processExit, startProcman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

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

/** `mode path` of all that other users may look at or enter, wherever it is below. */
function openedToOthers(folder: string): readonly string[] {
  const all = [folder, ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))];
  return all.flatMap((path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined || stat.isSymbolicLink() || (stat.mode & 0o077) === 0
      ? []
      : [`${(stat.mode & 0o777).toString(8)} ${path}`];
  });
}

test("with umask 0 all of the state folder is for its user alone, whatever was killed and replaced", async (context) => {
  const web = {
    id: "web",
    worker: "web.js",
    autostart: true,
    cluster: { instances: 2, startPort: 23_461, commonPort: 23_460 },
  };
  const processes = [web, { id: "job", cmd: "echo x; exit 3", autostart: true, restart: "error", restartLimit: 2 }];
  const { folder, state } = homeOf(context, processes, { plugins: [{ url: "./plugin.mjs" }] });
  writeFileSync(join(folder, "web.js"), 'require("node:net").createServer().listen(process.env.PORT)');
  writeFileSync(join(folder, "plugin.mjs"), 'export default { name: "p", version: "1.0.0", setup() {} };');
  const run = async (...args: string[]) => {
    const { code, out, err } = await command(folder, args);
    assert.equal(code, 0, out + err);
  };
  await runAs("umask 0", folder, ["run", "--detach"]);
  const look = async (): Promise<void> => {
    await run("list");
    assert.deepEqual(openedToOthers(join(folder, ".procman")), []);
  };
  await look();
  for (const part of ["service", "logger"]) {
    const killed =
      childrenOf(keeperIn(state)).find((pid) => nameOf(pid).includes(part.slice(0, 6))) ?? assert.fail(part);
    process.kill(killed, "SIGKILL");
    await processExit(killed);
  }
  await eventually(() => existsSync(join(state, "endpoint.json")) || undefined);
  await look();
  await run("upgrade");
  const keeper = keeperIn(state);
  process.kill(keeper, "SIGKILL");
  await eventually(() => (keeperIn(state) === 0 || keeperIn(state) === keeper ? undefined : true));
  await look();
  await run("terminate");
  assert.deepEqual(openedToOthers(join(folder, ".procman")), []);
});

function runAs(setting: string, cwd: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const words = ["-c", `${setting}; exec "$@"`, "sh", process.execPath, BIN, ...args];
    // The job fails, and the command says so.
    execFile("/bin/sh", words, { cwd, env: cleanEnvironment() }, () => resolve());
  });
}

/** A command with connections to other machines, which is killed: they end with it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { childrenOf, nameOf } from "../support/proc-files.ts";
import { cleanEnvironment, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { sshServer } from "../support/ssh-server.ts";

test("a client that is killed leaves no connection of ssh", async (context) => {
  const server = await sshServer(context);
  const { folder: there } = homeOf(context, [{ id: "web", ...SLEEPER, autostart: true }]);
  assert.equal((await procman(there, ["run", "--detach", "--wait"])).code, 0);
  const { folder } = homeOf(context, []);
  const url = `ssh://${server.user}@127.0.0.1:${server.port}${there}`;
  const add = ["host", "add", "web1", url, "--program", server.program];
  assert.equal((await procman(folder, add, server.env)).code, 0);
  const client = spawn(process.execPath, [BIN, "dashboard", "--host", "web1"], {
    cwd: folder,
    env: cleanEnvironment(server.env),
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(client.stdout, "data");
  const connections = childrenOf(client.pid ?? 0).filter((pid) => nameOf(pid) === "ssh");
  assert.equal(connections.length, 1);
  client.kill("SIGKILL");
  await Promise.all(connections.map((pid) => processExit(pid)));
});

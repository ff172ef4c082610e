/** `procman mcp --host`: by ssh it runs on the other machine, by https here with that machine's token. */
import assert from "node:assert/strict";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { certificateIn } from "../support/certificate.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { mcpClient } from "../support/mcp-client.ts";
import { sshServer } from "../support/ssh-server.ts";

test("by ssh a session runs on the other machine, with its files", async (context) => {
  const server = await sshServer(context);
  const { folder: there } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(there, ["run", "--detach"]);
  const { folder: here } = homeOf(context, []);
  const url = `ssh://${server.user}@127.0.0.1:${server.port}${there}`;
  const added = await procman(here, ["host", "add", "web1", url, "--program", server.program], server.env);
  assert.equal(added.code, 0, added.err);
  const agent = await mcpClient(context, here, {
    args: ["--host", "web1", "--process", "web", "--allow-run"],
    env: server.env,
  });
  assert.equal((await agent.call("status")).structuredContent.processes[0].id, "web");
  const ran = await agent.call("run", { id: "web", command: ["pwd"] });
  assert.deepEqual(ran.structuredContent.stdout, [realpathSync(there)]);
  assert.equal(await agent.close(), 0);
});

test("by https a session has the rights of the host's token, and no tool for files", async (context) => {
  const { folder: here } = homeOf(context, []);
  const tls = certificateIn(here, {});
  const port = await freePort();
  const { folder: there } = homeOf(context, [{ id: "web", ...SLEEPER }], { api: { port, tls } });
  const run = await procman(there, ["run", "--detach"]);
  assert.equal(run.code, 0, run.err);
  const { out: token } = await procman(there, ["token", "--consumer", "desk", "--scope", "read"]);
  writeFileSync(join(here, "desk.token"), token, { mode: 0o600 });
  const env = { XDG_CONFIG_HOME: here };
  const url = `https://127.0.0.1:${port}`;
  const host = ["host", "add", "web3", url, "--token-file", "desk.token", "--ca", tls.certificate];
  const added = await procman(here, host, env);
  assert.equal(added.code, 0, added.err);
  const agent = await mcpClient(context, here, { args: ["--host", "web3", "--allow-run"], env });
  const tools = await agent.tools();
  assert.deepEqual(
    ["plan", "validate", "add", "remove", "run"].map((name) => tools.includes(name)),
    [true, false, false, false, false],
  );
  assert.match(agent.answers[0]?.result.instructions, /no tools that take a command line: this procman is on another/);
  assert.equal((await agent.call("status")).structuredContent.processes[0].id, "web");
  const refused = await agent.call("stop", { id: "web" });
  assert.match(refused.content[0]?.text ?? "", /^scope-missing: .*"desk"/);
  const limited = await procman(here, ["mcp", "--host", "web3", "--process", "web"], env);
  assert.deepEqual([limited.code, /don't limit the token of a host/.test(limited.err)], [64, true]);
});

/** `procman mcp` when something goes wrong: parts of procman are killed amid a call, and clients send what they like. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { homeOf, SLEEPER } from "../support/cli.ts";
import { KillableProcman } from "../support/killable-procman.ts";
import { type McpClient, mcpClient } from "../support/mcp-client.ts";
import { eventually } from "../support/procman-process.ts";

const SLOW = { cmd: "sleep 1; touch $PROCMAN_RUN_DIR/ok; exec sleep 1000", minUptimeMs: 2_000 };

async function killable(context: TestContext): Promise<{ procman: KillableProcman; agent: McpClient }> {
  const folder = mkdtempSync(join(tmpdir(), "procman-mcp-"));
  const procman = new KillableProcman({
    folder,
    processes: [
      { id: "web", ...SLEEPER },
      { id: "slow", ...SLOW },
    ],
  });
  context.after(async () => {
    await procman.end();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  procman.start();
  await procman.revive(10_000);
  const agent = await mcpClient(context, folder, { args: ["--allow-run"] });
  await eventually(async () => ((await agent.call("status")).isError === true ? undefined : true));
  return { procman, agent };
}

for (const part of ["service", "logger", "keeper"] as const)
  test(`a call goes on when the ${part} is killed amid it`, async (context) => {
    const { procman, agent } = await killable(context);
    const starting = agent.begin("start", { id: "slow" });
    const waiting = agent.begin("wait", { id: "slow", until: "ready" });
    const [begun, go] = ["begun", "go"].map((name) => join(procman.stateDir, "run", name)) as [string, string];
    const line = `touch '${begun}'; until [ -e '${go}' ]; do sleep 0.05; done; echo done`;
    const running = agent.begin("run", { id: "web", command: ["sh", "-c", line] });
    await eventually(() => existsSync(begun) || undefined);
    await eventually(async () => {
      const { structuredContent } = await agent.call("status", { ids: ["slow"] });
      return structuredContent.processes[0].pid;
    });
    procman.kill(part);
    const statuses = agent.begin("status");
    const [started, waited, status] = await Promise.all([starting, waiting, statuses].map((id) => agent.answerTo(id)));
    assert.equal(started?.result.structuredContent?.reached, true, JSON.stringify(started));
    assert.equal(waited?.result.structuredContent?.reached, true, JSON.stringify(waited));
    assert.equal(status?.result.isError, undefined, JSON.stringify(status));
    writeFileSync(go, "");
    const ran = await agent.answerTo(running);
    assert.deepEqual(ran.result.structuredContent?.stdout, ["done"], JSON.stringify(ran));
    const restarted = await agent.call("restart", { id: "web" });
    assert.equal(restarted.structuredContent.reached, true, JSON.stringify(restarted));
    assert.deepEqual(agent.noise, []);
  });

test("whatever arguments a client sends, it gets an answer that says what is wrong, and the session goes on", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  const agent = await mcpClient(context, folder, { args: ["--allow-run"] });
  const names = await agent.tools();
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), fc.dictionary(fc.string(), fc.jsonValue()), async (name, given) => {
      const { result, error } = await agent.request("tools/call", { name, arguments: given });
      // Nothing runs, and no argument fits by chance.
      const text = error?.message ?? result.content[0].text;
      assert.ok(error !== undefined || result.isError === true || name === "validate", `${name}: ${text}`);
      assert.doesNotMatch(text, /bug of procman/, JSON.stringify({ name, given }));
    }),
    { numRuns: 150 },
  );
  assert.equal((await agent.request("ping")).error, undefined);
});

test("whatever a client sends, each request gets one answer, and the session goes on", async (context) => {
  const { folder } = homeOf(context, []);
  const agent = await mcpClient(context, folder);
  const methods = ["tools/list", "tools/call", "resources/read", "prompts/get", "ping", "initialize", "nosuch", ""];
  const message = fc.record({
    jsonrpc: fc.constantFrom("2.0", "1.0", 2),
    method: fc.oneof(fc.constantFrom(...methods), fc.jsonValue()),
    params: fc.jsonValue(),
  });
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(message, async (given) => {
      sent += 1;
      const id = `f${sent}`;
      agent.write({ ...given, id });
      await agent.answerTo(id);
      assert.equal(agent.answers.filter((answer) => answer.id === id).length, 1);
    }),
    { numRuns: 150 },
  );
  for (const garbage of ["\u0000\u0001\n", "{}\n", "[]\n", '{"jsonrpc":"2.0"\n', "x".repeat(100_000), "\n"])
    agent.raw(garbage);
  agent.raw(Buffer.from([0xff, 0xfe, 0x0a]));
  assert.equal((await agent.request("ping")).error, undefined);
  assert.deepEqual([agent.noise, agent.said], [[], ""]);
});

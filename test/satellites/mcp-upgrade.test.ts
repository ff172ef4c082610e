/** A session of `procman mcp` while `procman upgrade` replaces the parts of procman: from the last release, and from the same build. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { UpgradeReport } from "../../src/core/ipc/upgrade-protocol.ts";
import { homeOf, SLEEPER } from "../support/cli.ts";
import { mcpClient } from "../support/mcp-client.ts";
import { eventually } from "../support/procman-process.ts";
import { CURRENT, installRelease, run } from "../support/versions.ts";

const WRITER = { cmd: "until [ -e go ]; do sleep 0.05; done; echo upgraded; exec sleep 1000", autostart: true };
const SLOW = { cmd: "exec sleep 1000", minUptimeMs: 2_000 };

for (const [from, install] of [
  ["1.0.0", installRelease],
  ["this version", () => CURRENT],
] as const)
  test(`a session outlives the upgrade from ${from}: calls amid it are answered, and those after it, too`, async (context) => {
    const { folder } = homeOf(context, [
      { id: "web", ...SLEEPER },
      { id: "writer", ...WRITER },
      { id: "slow", ...SLOW },
    ]);
    const started = await run(install(folder), folder, "run", "--detach");
    assert.equal(started.code, 0, started.err);
    const agent = await mcpClient(context, folder);
    const before = await agent.call("status");
    assert.equal(before.isError, undefined, JSON.stringify(before));
    const waiting = agent.begin("wait", { id: "writer", until: "line", line: "upgraded" });
    const starting = agent.begin("start", { id: "slow" });
    await eventually(async () => (await agent.call("status", { ids: ["slow"] })).structuredContent.processes[0].pid);

    let isOver = false;
    const upgrade = run(CURRENT, folder, "upgrade", "--json").finally(() => {
      isOver = true;
    });
    do {
      const amid = await agent.call("status");
      assert.equal(amid.isError, undefined, JSON.stringify(amid));
    } while (!isOver);
    const { code, out, err } = await upgrade;
    assert.equal(code, 0, err);
    const { steps } = JSON.parse(out) as UpgradeReport;
    assert.ok(steps.some(({ part, ok }) => part === "service" && ok));
    writeFileSync(join(folder, "go"), "");
    for (const call of [waiting, starting]) {
      const { result } = await agent.answerTo(call);
      assert.equal(result.structuredContent?.reached, true, JSON.stringify(result));
    }

    const after = await agent.call("status");
    const pidsIn = ({ structuredContent }: typeof before): readonly unknown[] =>
      structuredContent.processes
        .filter(({ id }: { id: string }) => id !== "slow")
        .map(({ pid }: { pid: number }) => pid);
    assert.deepEqual(pidsIn(after), pidsIn(before));
    for (const [name, given] of [
      ["why", { id: "web" }],
      ["logs", { ids: ["writer"], since: "last-start" }],
      ["restart", { id: "web" }],
      ["plan", {}],
    ] as const) {
      const answer = await agent.call(name, given);
      assert.equal(answer.isError, undefined, `${name}: ${JSON.stringify(answer)}`);
    }
    assert.deepEqual([agent.noise, agent.said, await agent.close()], [[], "", 0]);
  });

/** What `procman mcp` costs. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { McpClient, mcpClient } from "../support/mcp-client.ts";

/** A busy machine needs more looks until both have had a quiet moment. */
const LOOKS = { least: 9, most: 60 };
/** Beside `procman status`. */
const MOST = 1.3;
const MOST_BYTES = 50_000_000;

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

test("the first answer comes within 1.3 times of procman status", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  const status: number[] = [];
  const first: number[] = [];
  // In turn, so that what else the machine does is the same for both.
  const ratio = (): number => Math.min(...first) / Math.min(...status);
  for (let look = 0; look < LOOKS.least || (look < LOOKS.most && ratio() >= MOST); look += 1) {
    status.push(await milliseconds(() => procman(folder, ["status"])));
    let agent: McpClient | undefined;
    first.push(
      await milliseconds(() => {
        agent = new McpClient(folder);
        return agent.initialize();
      }),
    );
    await agent?.close();
  }
  assert.ok(
    ratio() < MOST,
    `${ratio().toFixed(2)}: ${Math.min(...first).toFixed(0)} ms beside ${Math.min(...status).toFixed(0)} ms`,
  );
});

test("a session that has used its tools has less than 50 MB", {
  skip: process.platform !== "linux",
}, async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  const agent = await mcpClient(context, folder);
  for (const name of ["status", "validate", "plan"]) await agent.call(name);
  await agent.call("why", { id: "web" });
  // As the benchmarks measure memory: pages of Node's binary count for each process that has them.
  const [, kilobytes] = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${agent.child.pid}/smaps_rollup`, "utf8")) ?? [];
  const bytes = Number(kilobytes) * 1_024;
  assert.ok(bytes > 0 && bytes < MOST_BYTES, `${bytes} bytes`);
});

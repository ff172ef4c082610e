import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client } from "../../../client/client.ts";
import { ProcmanError } from "../../../core/base/errors.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { McpPorts } from "../mcp-ports.ts";
import { callTool, type ToolContext, type ToolResult } from "../tool.ts";
import { actTools } from "./act-tools.ts";

const KILLED = new ProcmanError("service-down", "The result is unknown: procman's service has ended");

function record(more: Partial<ProcessRecord>): ProcessRecord {
  return {
    id: "web",
    type: "process",
    status: "running",
    blocked: false,
    restarts: 0,
    run: 1,
    reason: "is running",
    ...more,
  } as ProcessRecord;
}

type Scene = {
  /** What each look at the process finds; the last one stays. */
  readonly looks: readonly ProcessRecord[];
  /** What each request does. */
  readonly acts: readonly (ProcmanError | undefined)[];
};

/** Calls a tool; resolves with its answer, and how often procman was asked to act. */
async function call(name: string, { looks, acts }: Scene): Promise<{ result: ToolResult; asked: number }> {
  let [look, asked] = [0, 0];
  const client = {
    process: () => Promise.resolve(looks[Math.min(look++, looks.length - 1)]),
    incidents: () => Promise.resolve([]),
    act: () => {
      const problem = acts[asked++];
      return problem === undefined ? Promise.resolve(record({})) : Promise.reject(problem);
    },
  };
  const context: ToolContext = {
    connect: () => Promise.resolve(client as unknown as Client),
    connectAsOwner: () => assert.fail("it executes nothing"),
    connectForTexts: () => assert.fail("it reads no texts"),
    ports: {} as McpPorts,
    signal: new AbortController().signal,
  };
  const called = actTools.find((each) => each.name === name) ?? assert.fail(name);
  return { result: await callTool(called, { id: "web" }, context), asked };
}

test("a restart that a killed service had not read is asked for again", async () => {
  const { result, asked } = await call("restart", { looks: [record({})], acts: [KILLED, undefined] });
  assert.deepEqual([asked, result.structuredContent?.reached], [2, true]);
});

test("a restart that the next service continues isn't asked for again", async () => {
  const looks = [
    record({}),
    record({ status: "stopping" }),
    record({ status: "starting", run: 2 }),
    record({ run: 2 }),
  ];
  const { result, asked } = await call("restart", { looks, acts: [KILLED] });
  assert.deepEqual([asked, result.structuredContent?.reached], [1, true]);
});

test("a start whose run has ended meanwhile has failed, and says why", async () => {
  const looks = [record({ status: "stopped" }), record({ status: "errored", run: 2, reason: "exited with code 3" })];
  const { result, asked } = await call("start", { looks, acts: [KILLED] });
  assert.deepEqual([asked, result.isError, result.structuredContent?.problem], [1, true, "web exited with code 3"]);
});

test("a stop that was not read is asked for again, and one that was done isn't", async () => {
  const again = await call("stop", { looks: [record({})], acts: [KILLED, undefined] });
  const done = await call("stop", { looks: [record({}), record({ status: "stopped" })], acts: [KILLED] });
  assert.deepEqual([again.asked, done.asked], [2, 1]);
});

test("what procman refuses is an error with its code", async () => {
  const refused = new ProcmanError("process-blocked", 'Cannot start "web": it is blocked');
  const { result } = await call("start", { looks: [record({ status: "stopped" })], acts: [refused] });
  assert.match(result.content[0]?.text ?? "", /^process-blocked: .*\n\nNext: It is blocked by the user/);
});

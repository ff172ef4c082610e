/** `procman mcp` by the official programs of the protocol: the inspector's command line, and the conformance tests. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { conformanceCommand, inspectorCommand } from "../support/peer-rig.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const MINUTE = 60_000;
/** Those that need no particular tools: a server of tests has those. */
const SCENARIOS = ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list"];

function output(folder: string, program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd: folder, env: cleanEnvironment(), timeout: MINUTE }, (error, out, err) =>
      error === null ? resolve(out) : reject(new Error(`${program} ${args.join(" ")}: ${out}${err}`)),
    );
  });
}

async function running(context: TestContext): Promise<string> {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  return folder;
}

test("the official inspector lists tools, resources and prompts, and calls a tool", async (context) => {
  const inspector = inspectorCommand();
  if (inspector === undefined) return context.skip("npm can't be reached");
  const folder = await running(context);
  const ask = async (...args: readonly string[]): Promise<Record<string, unknown>> =>
    JSON.parse(await output(folder, inspector, ["--cli", process.execPath, BIN, "mcp", ...args])) as never;
  for (const [method, member] of [
    ["tools/list", "tools"],
    ["resources/list", "resources"],
    ["prompts/list", "prompts"],
  ] as const) {
    const list = (await ask("--method", method))[member];
    assert.ok(Array.isArray(list) && list.length > 1, method);
  }
  const called = await ask("--method", "tools/call", "--tool-name", "why", "--tool-arg", "id=web");
  assert.match(JSON.stringify(called), /web runs \(pid \d+\)/);
});

/** The server behind an address: the conformance tests know no other. */
async function served(context: TestContext, folder: string): Promise<string> {
  const http = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  const stdio = new StdioClientTransport({ command: process.execPath, args: [BIN, "mcp"], cwd: folder });
  http.onmessage = (message) => void stdio.send(message);
  stdio.onmessage = (message) => void http.send(message);
  await Promise.all([http.start(), stdio.start()]);
  const server = createServer((request, response) => void http.handleRequest(request, response));
  context.after(async () => {
    server.closeAllConnections();
    server.close();
    await Promise.all([http.close(), stdio.close()]);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

for (const scenario of SCENARIOS)
  test(`the official conformance tests pass: ${scenario}`, async (context) => {
    const conformance = conformanceCommand();
    if (conformance === undefined) return context.skip("npm can't be reached");
    const folder = await running(context);
    const url = await served(context, folder);
    const out = await output(folder, conformance, ["server", "--url", url, "--scenario", scenario]);
    assert.match(out, /\b0 failed/i, out);
  });

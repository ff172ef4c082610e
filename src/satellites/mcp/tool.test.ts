import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../../core/base/errors.ts";
import { object, optional, string } from "../../core/base/schema.ts";
import type { McpPorts, McpRights } from "./mcp-ports.ts";
import { callTool, READS, type Tool, type ToolAnswer, type ToolContext, tool } from "./tool.ts";
import { TOOLS, toolsFor } from "./tool-list.ts";

const ports = { asTyped: (command: string) => `procman ${command} --name shop` } as McpPorts;
const CONTEXT: ToolContext = {
  connect: () => assert.fail("it is not asked"),
  connectAsOwner: () => assert.fail("it is not asked"),
  connectForTexts: () => assert.fail("it reads no texts"),
  ports,
  signal: new AbortController().signal,
};

function answering(call: () => Promise<ToolAnswer>): Tool {
  const input = object({ id: string(), line: optional(string({ maxLength: 3 })) });
  return tool({ name: "it", title: "It", description: "", input, output: {}, annotations: READS, needs: [], call });
}

test("arguments that don't fit are an answer that names each of them, and the tool isn't called", async () => {
  const called = answering(() => assert.fail("it is called"));
  const { content, isError } = await callTool(called, { lin: 1, line: "long" }, CONTEXT);
  assert.equal(isError, true);
  assert.match(
    content[0]?.text ?? "",
    /id is missing; lin is not known\. Did you mean "line"\?.*line may have at most 3/,
  );
});

test("an error of procman is an answer with its code and a remedy that names the right procman", async () => {
  const called = answering(() => Promise.reject(new ProcmanError("no-daemon", "Cannot reach procman\u001b[2J: none")));
  const { content, isError, structuredContent } = await callTool(called, { id: "web" }, CONTEXT);
  assert.deepEqual([isError, structuredContent], [true, undefined]);
  assert.match(
    content[0]?.text ?? "",
    /^no-daemon: Cannot reach procman\\x1b\[2J: none\n\nNext: .*"procman up --name shop"/,
  );
});

test("of the procman of another user no answer says that it doesn't run", async () => {
  const cause = Object.assign(new Error("no"), { code: "EACCES" });
  const message =
    'Cannot reach procman: /p/.procman may not be read; run this as the user eve: "sudo -u eve procman mcp"';
  for (const code of ["no-daemon", "state-folder"] as const) {
    const called = answering(() => Promise.reject(new ProcmanError(code, message, { cause })));
    const { content } = await callTool(called, { id: "web" }, CONTEXT);
    assert.equal(content[0]?.text, `${code}: ${message}\n\nNext: Ask the user to do that.`);
  }
});

test("a bug is an answer, too, so that the session goes on", async () => {
  const called = answering(() => Promise.reject(new TypeError("x is not a function")));
  const { content, isError } = await callTool(called, { id: "web" }, CONTEXT);
  assert.equal(isError, true);
  assert.match(content[0]?.text ?? "", /This is a bug of procman: x is not a function/);
});

test("a session is offered what it may do", () => {
  const rights: McpRights = { mayControl: true, mayType: true, allowsRun: true, isLocal: true };
  const namesFor = (more: Partial<McpRights>): readonly string[] =>
    toolsFor({ ...rights, ...more }).map(({ name }) => name);
  assert.equal(namesFor({}).length, TOOLS.length);
  for (const name of ["add", "run"]) assert.ok(!namesFor({ allowsRun: false }).includes(name), name);
  assert.ok(!namesFor({ mayType: false }).includes("send"));
  assert.deepEqual(
    toolsFor({ ...rights, mayControl: false, mayType: false }).filter(({ annotations }) => !annotations.readOnlyHint),
    [],
  );
  const limited = namesFor({ limits: { processes: ["web"], groups: [] } });
  assert.deepEqual(
    ["plan", "reload", "validate", "add", "remove", "run"].filter((name) => limited.includes(name)),
    ["run"],
  );
  const remote = namesFor({ isLocal: false });
  assert.deepEqual(
    ["plan", "reload", "validate", "add", "remove", "run"].filter((name) => remote.includes(name)),
    ["plan", "reload"],
  );
});

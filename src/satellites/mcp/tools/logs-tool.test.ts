import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Client } from "../../../client/client.ts";
import type { LogEntry, LogPage, LogQuery } from "../../../core/contract/records.ts";
import type { McpPorts } from "../mcp-ports.ts";
import { callTool, type ToolContext } from "../tool.ts";
import { logsTool } from "./logs-tool.ts";

/** A store with these lines, oldest first; a cursor is the number of lines that were read. */
function contextWith(texts: readonly string[]): ToolContext {
  const entries = texts.map(
    (text, index): LogEntry => ({
      time: new Date(index).toISOString(),
      process: "web",
      severity: "info",
      category: "stdout",
      text,
    }),
  );
  const logs = ({ limit = 100, cursor = "0" }: LogQuery): Promise<LogPage> => {
    const from = Number(cursor);
    const page = entries.toReversed().slice(from, from + limit);
    const end = from + page.length;
    return Promise.resolve(end < entries.length ? { entries: page, next: String(end) } : { entries: page });
  };
  return {
    connect: () => Promise.resolve({ logs } as unknown as Client),
    connectAsOwner: () => assert.fail("it executes nothing"),
    connectForTexts: () => assert.fail("it reads no texts"),
    ports: {} as McpPorts,
    signal: new AbortController().signal,
  };
}

type Structured = { readonly entries: readonly { readonly text: string }[]; readonly cursor?: string };

test("pages within any budget give each line once, and no page has more than its budget", async () => {
  const line = fc.string({ minLength: 1, maxLength: 300, unit: fc.constantFrom("a", "b", "é", "x") });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 60 }),
      fc.integer({ min: 500, max: 3_000 }),
      async (texts, maxBytes) => {
        const context = contextWith(texts);
        const read: string[] = [];
        let cursor: string | undefined;
        do {
          const { structuredContent } = await callTool(logsTool, { maxBytes, ...(cursor && { cursor }) }, context);
          const page = structuredContent as Structured;
          const bytes = page.entries.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
          assert.ok(bytes <= maxBytes);
          read.unshift(...page.entries.map(({ text }) => text));
          cursor = page.cursor;
        } while (cursor !== undefined);
        assert.deepEqual(read, texts);
      },
    ),
    { numRuns: 50 },
  );
});

test("a line that is longer than the budget is cut, and says so", async () => {
  const { structuredContent } = await callTool(logsTool, { maxBytes: 500 }, contextWith(["x".repeat(100_000)]));
  const [entry] = (structuredContent as Structured).entries;
  assert.match(entry?.text ?? "", /^x{440}… \(99560 bytes cut\)$/);
});

test("a time that is none is refused with what is allowed", async () => {
  const { content, isError } = await callTool(logsTool, { since: "soon" }, contextWith([]));
  assert.equal(isError, true);
  assert.match(content[0]?.text ?? "", /^input-invalid: Cannot read since "soon"/);
});

test("the last start needs one process", async () => {
  const { content } = await callTool(logsTool, { since: "last-start", ids: ["web", "mail"] }, contextWith([]));
  assert.match(content[0]?.text ?? "", /needs one id in "ids"/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { McpRights } from "./mcp-ports.ts";
import { McpSession } from "./mcp-session.ts";

const RIGHTS: McpRights = { mayControl: true, mayType: false, allowsRun: false, isLocal: true };

function sessionWith(rights: Partial<McpRights> = {}): McpSession {
  return new McpSession(() => assert.fail("it is not asked"), { ...RIGHTS, ...rights });
}

test("a session has never the scope admin; a limited one can't reload, and one that reads can only read", () => {
  const limits = { processes: ["web"], groups: ["backend"] };
  assert.deepEqual(sessionWith().holder.scopes, ["read", "control", "reload"]);
  assert.deepEqual(sessionWith({ mayControl: false }).holder.scopes, ["read"]);
  assert.deepEqual(sessionWith({ mayControl: false, mayType: true }).holder.scopes, ["read", "input"]);
  assert.deepEqual(sessionWith({ limits }).holder, {
    consumer: "mcp (unknown client)",
    by: "mcp",
    scopes: ["read", "control"],
    limits,
  });
});

test("the name of the client is part of the consumer, without characters that could mislead a reader of the log", () => {
  const session = sessionWith();
  session.nameClient('claude") of "cli\n\u202e');
  assert.equal(session.holder.consumer, "mcp (claude- of -cli-)");
  session.nameClient("x".repeat(100));
  assert.equal(session.holder.consumer, `mcp (${"x".repeat(40)})`);
  session.nameClient(" \n");
  assert.equal(session.holder.consumer, `mcp (${"x".repeat(40)})`, "an empty one changes nothing");
});

test("after its end a session makes no token", async () => {
  const session = sessionWith();
  session.end();
  await assert.rejects(session.connect(), { code: "unauthorized" });
});

test("a limited session is refused where no token can be limited: at the API of another user or machine", async () => {
  const place = { host: "unix:/run/x", url: "unix:/run/x", check: () => undefined };
  const limits = { processes: ["web"], groups: [] };
  const session = new McpSession(() => place, { ...RIGHTS, limits });
  await assert.rejects(session.connect(), { code: "usage", message: /leave out --process and --group/ });
});

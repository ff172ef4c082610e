import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { request } from "node:http";
import { type TestContext, test } from "node:test";
import { ProcmanError } from "../base/errors.ts";
import type { Control } from "../contract/control.ts";
import type { ProcessRecord, StateRecord } from "../contract/records.ts";
import { type Scope, signToken } from "../contract/token.ts";
import { serveApi } from "./server.ts";

const secret = new Uint8Array(32).fill(7);
const web: ProcessRecord = { id: "web", type: "process", status: "running", blocked: false, restarts: 0, reason: "runs", pid: 5 };

class FakeControl implements Pick<Control, "processes" | "process" | "state" | "act" | "terminate"> {
  readonly calls: string[] = [];
  async processes(): Promise<readonly ProcessRecord[]> {
    return [web];
  }
  async process(id: string): Promise<ProcessRecord> {
    if (id !== "web") throw new ProcmanError("process-unknown", `Cannot find process "${id}": there is none of this id`);
    return web;
  }
  async state(): Promise<StateRecord> {
    throw new Error("a bug that must not be shown");
  }
  async act(id: string, action: string): Promise<ProcessRecord> {
    if (action === "start") throw new ProcmanError("process-running", 'Cannot start "web": it is running already');
    this.calls.push(`${action} ${id}`);
    return web;
  }
  async terminate(): Promise<void> {
    this.calls.push("terminate");
  }
}

type Answer = {
  readonly status: number;
  readonly type: string;
  readonly allow: string | undefined;
  readonly body: { readonly code?: string; readonly detail?: string };
};

async function api(
  context: TestContext,
): Promise<{ readonly control: FakeControl; readonly ask: (method: string, path: string, token?: string) => Promise<Answer> }> {
  const control = new FakeControl();
  const { server, port } = await serveApi({
    // Only what the routes of this test ask for.
    control: () => control as unknown as Control,
    hostname: "127.0.0.1",
    port: 0,
    secret,
    audience: "test",
    revoked: ["mallory"],
  });
  context.after(() => server.close());
  const ask = (method: string, path: string, token?: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      request({ host: "127.0.0.1", port, method, path, headers, agent: false }, (response) => {
        let text = "";
        response.on("data", (data) => {
          text += String(data);
        });
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            type: response.headers["content-type"] ?? "",
            allow: response.headers.allow,
            body: JSON.parse(text),
          }),
        );
      })
        .on("error", reject)
        .end();
    });
  return { control, ask };
}

function token(...scopes: readonly Scope[]): Promise<string> {
  return signToken({ audience: "test", consumer: "ci", scopes }, secret);
}

test("4 GET /processes: all processes as JSON", async (context) => {
  const { ask } = await api(context);
  const { status, type, body } = await ask("GET", "/processes", await token("read"));
  assert.deepEqual([status, type, body], [200, "application/json", [web]]);
});

test("5 a missing, foreign, revoked, expired, unsigned or wrongly signed token gives 401", async (context) => {
  const { ask } = await api(context);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: "procman", aud: "test", sub: "x", iat: Math.floor(Date.now() / 1_000), scope: "admin" };
  const none = `${part({ alg: "none" })}.${part(claims)}.`;
  const longer = `${part({ alg: "HS512" })}.${part(claims)}`;
  const bad: readonly (string | undefined)[] = [
    undefined,
    "nonsense",
    none,
    `${longer}.${createHmac("sha512", secret).update(longer).digest("base64url")}`,
    await signToken({ audience: "another", consumer: "ci", scopes: ["admin"] }, secret),
    await signToken({ audience: "test", consumer: "mallory", scopes: ["admin"] }, secret),
    await signToken({ audience: "test", consumer: "ci", scopes: ["admin"] }, new Uint8Array(32).fill(8)),
    await signToken({ audience: "test", consumer: "ci", scopes: ["admin"] }, secret, -60),
  ];
  for (const given of bad) {
    const { status, type, body } = await ask("GET", "/processes", given);
    assert.deepEqual([status, type, body.code], [401, "application/problem+json", "unauthorized"], String(given));
  }
});

test("5 a token without the scope gives 403 that names it; admin may do everything", async (context) => {
  const { ask, control } = await api(context);
  const refused = await ask("POST", "/processes/web/stop", await token("read"));
  assert.equal(refused.status, 403);
  assert.match(refused.body.detail ?? "", /"control"/);
  assert.equal((await ask("POST", "/terminate", await token("admin"))).status, 202);
  assert.equal((await ask("POST", "/processes/web/stop", await token("control"))).status, 200);
  assert.deepEqual(control.calls, ["terminate", "stop web"]);
});

test("7 404 for an unknown id or path, 405 with Allow, 409 for what is refused in this state", async (context) => {
  const { ask } = await api(context);
  const admin = await token("admin");
  assert.deepEqual((await ask("GET", "/processes/wbe", admin)).body.code, "process-unknown");
  assert.equal((await ask("GET", "/nowhere", admin)).status, 404);
  assert.equal((await ask("GET", "/processes//stop", admin)).status, 404);
  const wrong = await ask("DELETE", "/processes", admin);
  assert.deepEqual([wrong.status, wrong.allow], [405, "GET"]);
  const running = await ask("POST", "/processes/web/start", admin);
  assert.deepEqual([running.status, running.body.code], [409, "process-running"]);
});

test("7 a bug gives 500 without its inside", async (context) => {
  const { ask } = await api(context);
  const { status, body } = await ask("GET", "/state", await token("read"));
  assert.equal(status, 500);
  assert.ok(!JSON.stringify(body).includes("must not be shown"));
});

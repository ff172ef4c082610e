/** The REST API: statuses, headers, authorization and streams (specification 4, 5 and 7). */
import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { TIME } from "../../../test/support/control-fakes.ts";
import { type ApiRig, startApi } from "../../../test/support/control-rig.ts";
import { eventually } from "../../../test/support/procman-process.ts";
import type { ProblemRecord, TelemetryReport } from "../contract/records.ts";
import type { Route } from "../contract/route.ts";
import { ROUTES } from "../contract/routes.ts";
import type { StateRecord } from "../contract/state-record.ts";
import { verifyToken } from "../contract/token.ts";
import { expiresIn, payloadOf, SCOPES } from "../contract/token-claims.ts";
import { signJwt } from "../os/jwt.ts";

type Problem = Partial<ProblemRecord>;

const TABLE = Object.values(ROUTES as Readonly<Record<string, Route>>);
const GUARDED = TABLE.filter(({ scope }) => scope !== undefined);
const BODIES: Readonly<Record<string, string>> = {
  "/deployments": JSON.stringify({ folder: "/nowhere/build" }),
  "/rollout/join": JSON.stringify({
    ...{ id: "20261128-031500-00a1", host: "a", hosts: ["a"], batch: 1, maxFailed: 0, onFailure: "stop" },
    action: { kind: "restart", ids: ["web"] },
  }),
  "/rollout/steps": JSON.stringify({ id: "20261128-031500-00a1", step: "run" }),
  "/log": JSON.stringify({ text: "hello" }),
  "/dashboard/code": "{}",
  "/dashboard/token": JSON.stringify({ code: "none" }),
  "/processes/{id}/scale": JSON.stringify({ by: 1 }),
  "/processes/{id}/exec": JSON.stringify({ command: ["true"] }),
  "/processes/{id}/launch": JSON.stringify({ command: ["true"], pid: 1, startTime: "1", niceness: 0 }),
  "/exec/{id}/stdin": JSON.stringify({ end: true }),
  "/processes/{id}/signal": JSON.stringify({ signal: "HUP" }),
  "/processes/{id}/input": JSON.stringify({ text: "save-all\n" }),
  "/telemetry": JSON.stringify({
    process: "web",
    memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 },
    cwd: "/",
    sent: "2026-01-01",
  }),
};

function ask(
  api: ApiRig,
  { method, path }: Pick<Route, "method" | "path">,
  token: string | undefined,
  body = BODIES[path],
): Promise<Response> {
  return fetch(
    `${api.url}${path.replace("/history/{id}", "/history/active").replace("/deployments/{id}", "/deployments/latest").replace("{id}", "web")}`,
    {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: token }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(20_000),
    },
  );
}

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Every kind of invalid authentication. */
function badTokens(api: ApiRig): Readonly<Record<string, string | undefined>> {
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: "procman", aud: "test", sub: "ci", iat: now, scope: "admin" };
  const secret = api.secrets.now;
  const hs512 = `${part({ alg: "HS512" })}.${part(claims)}`;
  const rs256 = `${part({ alg: "RS256" })}.${part(claims)}`;
  const bearer = (token: string): string => `Bearer ${token}`;
  const good = api.token();
  return {
    "no token": undefined,
    "no bearer": `Basic ${Buffer.from("a:b").toString("base64")}`,
    "an empty token": "Bearer ",
    nonsense: bearer("nonsense"),
    "a damaged signature": bearer(`${good.slice(0, -6)}AAAAAA`),
    "other claims than were signed": bearer(
      [good.split(".")[0], part({ ...claims, sub: "root" }), good.split(".")[2]].join("."),
    ),
    "a foreign secret": bearer(api.token({}, Buffer.alloc(32, 8))),
    expired: bearer(api.token({ expires: expiresIn(-60) })),
    "not valid yet": bearer(signJwt({ ...claims, nbf: now + 60 }, secret)),
    "issued in the future": bearer(signJwt({ ...claims, iat: now + 60 }, secret)),
    "without a date": bearer(signJwt({ ...claims, iat: undefined }, secret)),
    "without a consumer": bearer(signJwt({ ...claims, sub: undefined }, secret)),
    "of another issuer": bearer(signJwt({ ...claims, iss: "other" }, secret)),
    "of another instance": bearer(api.token({ audience: "other" })),
    revoked: bearer(api.token({ consumer: "mallory" })),
    "alg none": bearer(`${part({ alg: "none" })}.${part(claims)}.`),
    "another HMAC": bearer(`${hs512}.${createHmac("sha512", secret).update(hs512).digest("base64url")}`),
    "RSA instead of HMAC": bearer(`${rs256}.${sign("sha256", Buffer.from(rs256), privateKey).toString("base64url")}`),
    "the header says RSA, the signature is an HMAC": bearer(
      `${rs256}.${createHmac("sha256", secret).update(rs256).digest("base64url")}`,
    ),
  };
}

test("5 a signed token whose consumer is empty or no text is refused", async (context) => {
  const api = await startApi(context);
  const claims = { iss: "procman", aud: "test", iat: Math.floor(Date.now() / 1_000), scope: "admin" };
  const secret = api.secrets.now;
  for (const sub of ["", 7]) {
    const response = await fetch(`http://127.0.0.1:${api.port}/processes`, {
      headers: { authorization: `Bearer ${signJwt({ ...claims, sub }, secret)}` },
    });
    assert.equal(response.status, 401, `sub is ${JSON.stringify(sub)}`);
  }
});

test("5 every route answers 401 without details if the token is missing or invalid", async (context) => {
  for (const route of GUARDED) {
    const api = await startApi(context);
    api.revoked.add("mallory");
    for (const [name, token] of Object.entries(badTokens(api))) {
      const response = await ask(api, route, token);
      const at = `${route.method} ${route.path}: ${name}`;
      assert.equal(response.status, 401, at);
      assert.equal(response.headers.get("content-type"), "application/problem+json", at);
      assert.match(
        response.headers.get("www-authenticate") ?? "",
        token === undefined ? /^Bearer realm="procman"$/ : /invalid_token/,
        at,
      );
      assert.equal(((await response.json()) as Problem).code, "unauthorized", at);
    }
    assert.deepEqual([api.rig.spawner.log, api.rig.terminations, api.rig.logAccess.queries], [[], [], []]);
  }
});

test("5 every route answers 403 and names the missing scope; with it, or with admin, it answers; admin alone doesn't type into processes", async (context) => {
  for (const route of GUARDED.filter(({ output }) => output.kind !== "stream")) {
    const api = await startApi(context);
    const at = `${route.method} ${route.path}`;
    const others = SCOPES.filter((scope) => ![route.scope, route.orScope, "admin"].includes(scope));
    const refused = await ask(api, route, `Bearer ${api.token({ scopes: others })}`);
    assert.equal(refused.status, 403, at);
    assert.match(
      refused.headers.get("www-authenticate") ?? "",
      new RegExp(`insufficient_scope", scope="${route.scope}"`),
      at,
    );
    const { code, detail } = (await refused.json()) as Problem;
    assert.deepEqual([code, detail?.includes(`lacks the scope "${route.scope}"`)], ["scope-missing", true], at);
    const [denied] = api.rig.auditLines;
    if (route.method === "GET") assert.equal(denied, undefined, "only looked at");
    else assert.match(denied ?? "", /^POST \/.* for "ci": refused: .* lacks the scope/);
    assert.equal(
      (await ask(api, route, `bearer ${api.token({ scopes: [route.scope ?? "read"] })}`)).status,
      status(route),
      at,
    );
    if (route.orScope !== undefined)
      assert.equal(
        (await ask(api, route, `Bearer ${api.token({ scopes: [route.orScope] })}`)).status,
        status(route),
        at,
      );
    const again = { ...route, path: route.path.replace(/\/start$/, "/restart") };
    const byAdmin = (await ask(api, again, `Bearer ${api.token()}`)).status;
    assert.equal(byAdmin, route.scope === "input" ? 403 : status(again), at);
  }
});

/** What a limited token gets of each route; a new route fails until it is here. */
const LIMITED: Readonly<Record<string, "own" | "admin" | "list" | "own-body" | "stream" | "anything">> = {
  processes: "list",
  process: "own",
  ...Object.fromEntries(
    ["start", "stop", "restart", "block", "unblock", "enable", "disable", "scale", "signal", "input", "screen"].map(
      (name) => [name, "own"],
    ),
  ),
  ...{
    incidents: "own",
    runs: "own",
    metrics: "own",
    telemetry: "own-body",
    log: "own-body",
    logs: "list",
    prometheus: "list",
    state: "list",
  },
  ...{
    events: "stream",
    plan: "admin",
    definitions: "admin",
    exec: "admin",
    stdin: "admin",
    launch: "admin",
    flush: "admin",
    reload: "admin",
    history: "admin",
    entry: "admin",
    diff: "admin",
    rollback: "admin",
    releases: "admin",
    deploy: "admin",
    deployment: "admin",
    rollout: "admin",
    join: "admin",
    step: "admin",
    terminate: "admin",
    openapi: "anything",
    health: "anything",
    dashboard: "anything",
    asset: "anything",
    code: "admin",
    exchange: "anything",
  },
};

test("5 a limited token sees and acts on its processes only, on every route; others are as unknown as those that don't exist", async (context) => {
  assert.deepEqual(Object.keys(ROUTES).sort(), Object.keys(LIMITED).sort());
  for (const limits of [
    { processes: ["web"], groups: [] },
    { processes: [], groups: ["front"] },
  ]) {
    const api = await startApi(context);
    const token = `Bearer ${api.token({ scopes: SCOPES, limits })}`;
    const { log } = api.rig.spawner;
    for (const [name, route] of Object.entries(ROUTES as Readonly<Record<string, Route>>)) {
      if (LIMITED[name] === "admin") assert.equal((await ask(api, route, token)).status, 403, name);
      if (LIMITED[name] === "own") {
        const answers = ["job", "pair", "pair-1", "group:back", "nobody", "group:none"].map(async (id) => {
          const response = await ask(
            api,
            { ...route, path: route.path.replace("{id}", id) },
            token,
            BODIES[route.path],
          );
          return `${response.status} ${(await response.text()).replaceAll(id.replace("group:", ""), "?")}`;
        });
        const [job = "", ...others] = (await Promise.all(answers)).map((text) =>
          text.replace('group \\"', 'process \\"'),
        );
        assert.match(job, /^404 .*process-unknown/, name);
        assert.equal(others[3], job, `${name}: a hidden process is like none`);
        for (const text of others) assert.match(text, /^404 /, name);
        assert.ok(![job, ...others].some((text) => /job|pair|back/.test(text)), `${name}: no suggestion`);
      }
    }
    assert.deepEqual(
      [log.filter((line) => !/ web /.test(line)), api.rig.terminations, api.rig.reloads, api.rig.scales],
      [[], [], [], []],
    );
    for (const path of ["/processes", "/state", "/metrics", "/logs", "/processes/all"]) {
      const text = await (await api.fetch(path, { headers: { authorization: token } })).text();
      assert.ok(!/job|pair|back/.test(text), `${path}: ${text}`);
    }
    assert.deepEqual(
      (JSON.parse(await (await api.fetch("/state", { headers: { authorization: token } })).text()) as StateRecord)
        .processes,
      {
        total: 1,
        running: 1,
      },
    );
    await api.fetch("/processes/all/stop", { method: "POST", headers: { authorization: token } });
    assert.deepEqual(
      log.filter((line) => line.startsWith("SIGTERM")),
      ["SIGTERM web 1"],
    );
  }
});

test("5 a limited token submits for its processes only, and can't log without naming one", async (context) => {
  const api = await startApi(context);
  const token = api.token({ scopes: SCOPES, limits: { processes: [], groups: ["front"] } });
  const client = api.client(token);
  await client.log({ text: "mine", process: "web" });
  await assert.rejects(
    client.signal("web", { signal: "job" }),
    (error: Error) => error.message.includes('"job"'),
    "not replaced",
  );
  assert.ok(!api.rig.auditLines.some((line) => line.includes("job")), "an audit line would be read with another text");
  for (const process of ["job", "nobody"]) {
    await assert.rejects(client.log({ text: "not mine", process }), { code: "process-unknown" });
    const report = JSON.parse(BODIES["/telemetry"] ?? "") as TelemetryReport;
    await assert.rejects(client.telemetry({ ...report, process }), { code: "process-unknown" });
  }
  await assert.rejects(client.log({ text: "no name" }), { code: "process-foreign" });
  assert.deepEqual(
    api.rig.logAccess.feed.items.map(({ text }) => text),
    ["mine"],
  );
  assert.equal(api.rig.reporting.reports.length, 0);
});

test("5 streams of a limited token have the events and lines of its processes only", async (context) => {
  const api = await startApi(context);
  const stop = new AbortController();
  context.after(() => stop.abort());
  const client = api.client(api.token({ scopes: ["read"], limits: { processes: [], groups: ["front"] } }));
  const types = ["process.scheduled", "process.state", "plugin.state", "service.state", "log"] as const;
  const events = client.events("0", stop.signal, types)[Symbol.asyncIterator]();
  const lines = client.follow({}, stop.signal)[Symbol.asyncIterator]();
  const [event, line] = [events.next(), lines.next()];
  await eventually(() =>
    api.rig.reporting.feed.listeners > 0 && api.rig.logAccess.feed.listeners > 1 ? true : undefined,
  );
  const { feed } = api.rig.reporting;
  const common = { id: "1", time: TIME };
  feed.push({ ...common, type: "process.scheduled", process: "job", text: "starts" });
  feed.push({ ...common, type: "process.state", process: await api.client().process("pair-1") });
  feed.push({ ...common, type: "plugin.state", plugin: { id: "p", status: "running" } as never });
  api.rig.logAccess.feed.push({ time: TIME, process: "job", severity: "info", category: "stdout", text: "hidden" });
  api.rig.logAccess.feed.push({ time: TIME, severity: "info", category: "service", text: "of procman" });
  feed.push({ ...common, type: "service.state", state: { ...(await api.client().state()), plugins: [] } });
  const { state } = (await event).value as { readonly state?: StateRecord };
  assert.deepEqual([state?.processes, state?.plugins], [{ total: 1, running: 1 }, undefined]);
  api.rig.logAccess.feed.push({ time: TIME, process: "web", severity: "info", category: "stdout", text: "seen" });
  for (const { value } of [await line, await events.next()])
    assert.equal((value as { readonly entry: { readonly text: string } }).entry.text, "seen");
});

test("5 a limited token has no scope for a version that doesn't know limits, and never admin", async (context) => {
  const api = await startApi(context);
  const payload = payloadOf({
    audience: "test",
    consumer: "ci",
    scopes: SCOPES,
    limits: { processes: ["web"], groups: [] },
  });
  assert.ok(!("scope" in payload) && !("process" in payload));
  const secret = api.secrets.now;
  const { scopes, limits } = await verifyToken(signJwt(payload, secret), "test", secret);
  assert.deepEqual(
    [scopes, limits],
    [["read", "control", "input", "log", "telemetry"], { processes: ["web"], groups: [] }],
  );
  for (const limited of [
    7,
    null,
    [],
    {},
    { scope: "read", processes: "web", groups: [] },
    { scope: "read", processes: [7], groups: [] },
    { scope: "read", processes: [] },
  ]) {
    const token = signJwt({ ...payload, limited, scope: "admin" }, secret);
    assert.equal((await api.fetch("/processes", { token })).status, 401, JSON.stringify(limited));
  }
});

/** web is already running. */
function status({ path, status: success }: Route): number {
  return path.endsWith("/start") ? 409 : success;
}

test("5 an address with too many failures must wait; a valid token is accepted nevertheless", async (context) => {
  const api = await startApi(context);
  const statuses: number[] = [];
  for (let count = 0; count < 25; count++) statuses.push((await api.fetch("/state", { token: "bad" })).status);
  assert.deepEqual([statuses[19], statuses[20]], [401, 429]);
  const limited = await api.fetch("/state", { token: "bad" });
  assert.ok(Number(limited.headers.get("retry-after")) > 0);
  assert.equal(((await limited.json()) as Problem).code, "too-many-requests");
  assert.equal((await api.fetch("/state")).status, 200);
});

test("5 with a revoked or rotated token the next request is refused and open streams end", async (context) => {
  const api = await startApi(context);
  const [mine, other] = [api.token({ consumer: "one" }), api.token({ consumer: "two" })];
  const [first, second] = await Promise.all([mine, other].map((token) => api.fetch("/events", { token })));
  api.revoked.add("one");
  api.api.recheck();
  await assert.rejects(first?.text() ?? Promise.resolve());
  assert.equal((await api.fetch("/state", { token: mine })).status, 401);
  assert.equal((await api.fetch("/state", { token: other })).status, 200);
  api.secrets.now = Buffer.alloc(32, 9);
  api.api.recheck();
  await assert.rejects(second?.text() ?? Promise.resolve());
  assert.equal((await api.fetch("/state", { token: other })).status, 401);
  await eventually(() => (api.rig.reporting.feed.listeners === 0 ? true : undefined));
});

test("7 unknown ids and paths are 404 with the nearest name, other methods are 405 with Allow", async (context) => {
  const api = await startApi(context);
  const unknown = await api.fetch("/procesess");
  assert.deepEqual(
    [unknown.status, ((await unknown.json()) as Problem).detail?.includes('Did you mean "/processes"?')],
    [404, true],
  );
  const wrong = await api.fetch("/processes/web", { method: "DELETE" });
  assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
  assert.equal((await api.fetch("/processes/web/stop")).headers.get("allow"), "POST, OPTIONS");
  const options = await fetch(`${api.url}/processes`, { method: "OPTIONS" });
  assert.deepEqual([options.status, options.headers.get("allow")], [204, "GET, HEAD, OPTIONS"]);
  for (const path of ["/state", "/events", "/logs?follow=1"]) {
    const head = await api.fetch(path, { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""], path);
  }
});

test("7 a bug gives 500 without internal details", async (context) => {
  const api = await startApi(context);
  const written = context.mock.method(process.stderr, "write", () => true);
  api.rig.reporting.bug = new Error("not to be shown");
  const response = await api.fetch("/metrics");
  const text = await response.text();
  written.mock.restore();
  assert.equal(response.status, 500);
  assert.ok(!text.includes("not to be shown") && !text.includes("at "), text);
  assert.match(String(written.mock.calls[0]?.arguments[0]), /this is a bug: Error: not to be shown/);
});

test("health needs no token and answers only ok; answers may not be cached", async (context) => {
  const api = await startApi(context);
  const response = await fetch(`${api.url}/health`);
  assert.deepEqual([response.status, await response.text()], [200, "ok\n"]);
  assert.deepEqual(
    [response.headers.get("cache-control"), response.headers.get("x-content-type-options")],
    ["no-store", "nosniff"],
  );
  assert.equal(response.headers.get("access-control-allow-origin"), null);
});

test("5 health?process=ID needs no token and says 200 or 503, with the same answer for a process that is down and one that isn't there", async (context) => {
  const api = await startApi(context);
  const statusOf = async (id: string): Promise<number> => (await fetch(`${api.url}/health?process=${id}`)).status;
  for (const id of ["web", "pair", "pair-2", "all"]) assert.equal(await statusOf(id), 200, id);
  api.rig.spawner.exit("web", 3);
  api.rig.spawner.exit("pair-2", 3);
  for (const id of ["web", "pair-2", "all"]) assert.equal(await statusOf(id), 503, id);
  assert.equal(await statusOf("pair"), 200, "one instance is enough");
  const [down, unknown] = await Promise.all(
    ["web", "nobody"].map(async (id) => (await fetch(`${api.url}/health?process=${id}`)).text()),
  );
  assert.equal(down, unknown);
  assert.equal((JSON.parse(down ?? "") as Problem).code, "process-down");
  const answer = await fetch(`${api.url}/health?process=job`);
  assert.equal(await answer.text(), "ok\n");
  for (const query of ["process=", "proces=web", "process=a&process=b"])
    assert.equal((await fetch(`${api.url}/health?${query}`)).status, 400, query);
});

test("pages of a configured origin may send requests, including preflight; those of other origins may not", async (context) => {
  const api = await startApi(context);
  const origin = "https://app.example.org";
  const ahead = { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
  const asked = await fetch(`${api.url}/processes/web/stop`, { method: "OPTIONS", headers: ahead });
  const of = ({ headers }: Response, name: string): string | null => headers.get(`access-control-allow-${name}`);
  assert.deepEqual([asked.status, of(asked, "origin"), of(asked, "methods")], [204, origin, "GET, HEAD, POST"]);
  assert.match(of(asked, "headers") ?? "", /authorization/);
  const answer = await api.fetch("/processes", { headers: { origin } });
  assert.deepEqual([answer.status, of(answer, "origin"), answer.headers.get("vary")], [200, origin, "origin"]);
  const refused = await fetch(`${api.url}/processes`, { headers: { origin } });
  assert.deepEqual([refused.status, of(refused, "origin")], [401, origin], "the page may read why");
  for (const other of ["https://app.example.org.evil.example", "http://app.example.org", "https://app.example.org:1"]) {
    const response = await fetch(`${api.url}/processes`, { headers: { origin: other } });
    assert.deepEqual([response.status, of(response, "origin")], [403, null]);
  }
});

test("4 the next page of the log is in its Link header", async (context) => {
  const api = await startApi(context);
  for (const text of ["a", "b", "c"]) await api.client().log({ text });
  const response = await api.fetch("/logs?limit=2&process=web,job&process=pair");
  assert.equal(response.headers.get("link"), '</logs?limit=2&process=web%2Cjob&process=pair&cursor=2>; rel="next"');
  assert.deepEqual(api.rig.logAccess.queries[0], { limit: 2, processes: ["web", "job", "pair"] });
  assert.equal((await api.fetch("/logs?limit=2&cursor=2")).headers.get("link"), null);
});

test("conditions and expressions of the log are repeated, and keep their commas", async (context) => {
  const api = await startApi(context);
  const query = { where: ["status>=500", "name=a,b"], regex: ["a{1,2}"] };
  await api.client().logs(query);
  assert.deepEqual(api.rig.logAccess.queries[0], query);
  const many = Array.from({ length: 21 }, () => "where=a=1").join("&");
  assert.equal((await api.fetch(`/logs?${many}`)).status, 400);
  assert.equal((await api.fetch("/logs?where=")).status, 400);
});

test("5 events are a stream with ids, a reconnection delay, and heartbeats", async (context) => {
  const api = await startApi(context, { heartbeatMs: 20 });
  const stop = new AbortController();
  const response = await api.fetch("/events", { headers: { "last-event-id": "0" }, signal: stop.signal });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  api.rig.reporting.addEvent();
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (/data: .*\n\n:\n\n/.test(text)) break;
  }
  stop.abort();
  assert.match(text, /^retry: \d+\n\n(:\n\n)*id: 1\nevent: process\.scheduled\ndata: {"id":"1",/);
});

test("5 a client that doesn't read blocks no other, buffers nothing in memory, and is disconnected", async (context) => {
  const api = await startApi(context, { heartbeatMs: 100 });
  const socket = connect(api.port, "127.0.0.1");
  context.after(() => void socket.destroy());
  socket.on("error", () => undefined);
  socket.write(`GET /logs?follow=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.token()}\r\n\r\n`);
  socket.pause();
  await eventually(() => (api.rig.logAccess.queries.length > 0 ? true : undefined));
  const line = {
    time: "2026-01-01T00:00:00.000Z",
    severity: "info",
    category: "stdout",
    text: "x".repeat(100_000),
  } as const;
  for (let count = 0; count < 1_000; count++) api.rig.logAccess.feed.push(line);
  assert.equal((await api.fetch("/state", { headers: { connection: "close" } })).status, 200);
  while ((await connections(api)) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const closed = once(socket, "close");
  socket.resume();
  await closed;
  assert.ok(socket.bytesRead < 50_000_000, `it was sent ${socket.bytesRead} of 100 million bytes`);
});

function connections({ api: { server } }: ApiRig): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );
}

test("when the API closes, it answers requests that are on their way, also the first one of a connection, and ends idle connections", async (context) => {
  const api = await startApi(context);
  const request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const accepted: Socket[] = [];
  const opened = async (): Promise<Socket> => {
    const socket = connect(api.port, "127.0.0.1").setEncoding("latin1");
    context.after(() => void socket.destroy());
    accepted.push(...((await once(api.api.server, "connection")) as [Socket]));
    return socket;
  };
  const answer = async (socket: Socket): Promise<string> => {
    const [text] = (await Promise.race([once(socket, "data"), once(socket, "close")])) as [string | boolean];
    return String(text);
  };
  const [first, second, kept] = [await opened(), await opened(), await opened()];
  for (const socket of [second, kept]) {
    socket.write(request);
    assert.match(await answer(socket), /^HTTP\/1\.1 200 /);
  }
  const [head, rest] = [request.slice(0, 20), request.slice(20)];
  second.write(head);
  await eventually(() => (accepted[1]?.bytesRead === request.length + head.length ? true : undefined));
  const ended = once(kept, "close");
  const closed = api.api.close();
  await ended;
  first.write(request);
  second.write(rest);
  for (const text of await Promise.all([first, second].map(answer))) {
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.match(text, /^connection: close\r$/im);
  }
  await closed;
});

test("an action that is still being read when the service gives way is refused with a reason that says to ask again", async (context) => {
  const api = await startApi(context);
  const socket = connect(api.port, "127.0.0.1").setEncoding("latin1");
  context.after(() => void socket.destroy());
  const body = JSON.stringify({ text: "late" });
  const head = [
    "POST /log HTTP/1.1",
    "Host: localhost",
    `Authorization: Bearer ${api.token()}`,
    "Content-Type: application/json",
  ];
  socket.write(`${head.join("\r\n")}\r\nContent-Length: ${body.length}\r\n\r\n`);
  const [request] = (await once(api.api.local, "request")) as [IncomingMessage];
  await eventually(() => (request.readableFlowing ? true : undefined));
  const closed = api.api.close();
  socket.write(body);
  const [answer] = (await once(socket, "data")) as [string];
  assert.match(answer, /^HTTP\/1\.1 503 /);
  assert.match(answer, /^retry-after: 0\r$/im);
  assert.match(answer, /"code":"service-down"/);
  await closed;
});

test("a service that stood still does not blame the client for it", async (context) => {
  const api = await startApi(context, { headersMs: 1_000 });
  const socket = connect(api.port, "127.0.0.1").setEncoding("latin1");
  context.after(() => void socket.destroy());
  await once(api.api.server, "connection");
  socket.write("GET /health HTTP/1.1\r\n");
  const answer = once(socket, "data");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
  const [text] = (await answer) as [string];
  assert.match(text, /^HTTP\/1\.1 503 .*Retry-After: 0\r\n.*procman's service was busy; try again/s);
});

test("streams are limited for each consumer and in total, and the API stays fast", async (context) => {
  const api = await startApi(context, { streams: 6, streamsEach: 4 });
  const stop = new AbortController();
  // Kept, because fetch closes the stream of a garbage-collected response.
  const kept: Response[] = [];
  const open = async (consumer: string): Promise<Response> => {
    const response = await api.fetch("/events", { token: api.token({ consumer }), signal: stop.signal });
    kept.push(response);
    return response;
  };
  for (const [consumer, status, code] of [
    ["one", 200],
    ["one", 200],
    ["one", 200],
    ["one", 200],
    ["one", 429, "too-many-requests"],
    ["two", 200],
    ["two", 200],
    ["three", 503, "too-many-streams"],
  ] as const) {
    const response = await open(consumer);
    assert.equal(response.status, status, consumer);
    if (code !== undefined) assert.equal(((await response.json()) as Problem).code, code);
  }
  assert.equal(
    (await api.fetch("/processes/web/stop?wait=1", { method: "POST" })).status,
    503,
    "who waits counts, too",
  );
  assert.equal((await api.fetch("/state")).status, 200);
  assert.equal(kept.length, 8);
  stop.abort();
  await eventually(() => (api.rig.reporting.feed.listeners === 0 ? true : undefined));
  const later = new AbortController();
  const response = await api.fetch("/events", { signal: later.signal });
  assert.equal(response.status, 200);
  later.abort();
});

test("5 requests with revoked and expired tokens are logged once for each consumer, others not", async (context) => {
  const api = await startApi(context);
  api.revoked.add("mallory");
  const bad = [
    api.token({ consumer: "mallory" }),
    api.token({ consumer: "old", expires: expiresIn(-60) }),
    api.token({ consumer: "forger" }, Buffer.alloc(32, 8)),
  ];
  for (let round = 0; round < 3; round++)
    for (const token of bad) assert.equal((await api.fetch("/state", { token })).status, 401);
  assert.deepEqual(api.rig.auditLines, [
    'request of "mallory" refused: the tokens of the consumer "mallory" are revoked',
    'request of "old" refused: its token has expired',
  ]);
});

test("when connections are many, a new one closes the idlest without a valid token; those with one, and new ones, are served", async (context) => {
  const api = await startApi(context, { crowded: 20 });
  const head = `GET /state HTTP/1.1\r\nHost: localhost\r\n`;
  const open = async (text: string): Promise<Socket> => {
    const socket = connect(api.port, "127.0.0.1");
    await once(socket, "connect");
    socket.on("error", () => undefined).write(text);
    return socket;
  };
  const trusted = await open(`${head}Authorization: Bearer ${api.token()}\r\n\r\n`);
  await once(trusted, "data");
  const [first, ...others] = [await open(head), ...(await Promise.all(Array.from({ length: 60 }, () => open(head))))];
  if (!first?.closed) await once(first as Socket, "close");
  assert.equal((await api.client().state()).status, "running");
  trusted.write(`${head}Authorization: Bearer ${api.token()}\r\n\r\n`);
  assert.match(String((await once(trusted, "data"))[0]), /^HTTP\/1\.1 200/);
  for (const socket of [trusted, ...others]) socket.destroy();
});

/** Bad input to the REST API, by mistake or malice: each case has its status, and the daemon is unharmed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { type ApiRig, startApi } from "../../../test/support/control-rig.ts";
import { assertWithin } from "../../../test/support/machine-pace.ts";
import type { ProblemRecord } from "../contract/records.ts";

type Case = {
  readonly name: string;
  readonly path: string;
  readonly method?: "POST";
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  readonly code?: string;
  /** Texts in `problems`. */
  readonly places?: readonly string[];
};

const MEMORY = { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 };
const REPORT = { process: "web", memory: MEMORY, cwd: "/", sent: "2026-01-01T00:00:00Z" };
const log = (name: string, body: unknown, places: readonly string[]): Case => ({
  name,
  path: "/log",
  method: "POST",
  body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  status: 400,
  code: "input-invalid",
  places,
});
const telemetry = (name: string, change: object, places: readonly string[]): Case => ({
  ...log(name, { ...REPORT, ...change }, places),
  path: "/telemetry",
});
const query = (path: string, ...places: readonly string[]): Case => ({
  name: path,
  path,
  status: 400,
  code: "input-invalid",
  places,
});
const path = (text: string, status: number, code: string): Case => ({
  name: `path ${text.slice(0, 60)}`,
  path: text,
  status,
  code,
});

const CASES: readonly Case[] = [
  log("no JSON", "{text:1}", ["body"]),
  log("no body", "", ["body"]),
  log("malformed UTF-8", Buffer.from([0x22, 0xc3, 0x28, 0x22]), ["body"]),
  log("an array", [], ["body"]),
  log("null", "null", ["body"]),
  log("a number", "5", ["body"]),
  log("very deep", `${"[".repeat(100_000)}${"]".repeat(100_000)}`, ["body"]),
  log("deep in an object", `{"text":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}`, ["body.text"]),
  log("nothing that is needed", {}, ["body.text"]),
  log("wrong types", { text: 5, severity: "loud", process: [] }, ["body.text", "body.severity", "body.process"]),
  log("what nobody knows", { text: "a", txet: "b", __proto__x: 1 }, ["body.txet", "body.__proto__x"]),
  log("a prototype", '{"text":"a","__proto__":{"severity":"error"}}', ["body.__proto__"]),
  log("no usable toString", { text: "a", severity: { toString: 1 } }, ["body.severity"]),
  log("a text too long", { text: "x".repeat(70_000) }, ["body.text"]),
  telemetry("a size that is none", { memory: { ...MEMORY, rss: -1, heapUsed: "1" } }, [
    "body.memory.rss",
    "body.memory.heapUsed",
  ]),
  telemetry("a number too large", { metrics: { a: null, b: "1" } }, ["body.metrics.a", "body.metrics.b"]),
  telemetry("no time", { sent: "yesterday" }, ["body.sent"]),
  telemetry("too many numbers", { metrics: Object.fromEntries(Array.from({ length: 300 }, (_, n) => [n, n])) }, [
    "body.metrics",
  ]),
  {
    name: "no such process",
    path: "/telemetry",
    method: "POST",
    body: JSON.stringify({ ...REPORT, process: "no" }),
    status: 404,
  },
  {
    name: "1 MiB and more",
    path: "/log",
    method: "POST",
    body: "x".repeat(1_048_577),
    status: 413,
    code: "body-too-large",
  },
  {
    name: "another type",
    path: "/log",
    method: "POST",
    body: "{}",
    type: "text/plain",
    status: 415,
    code: "media-type",
  },
  { name: "no type", path: "/log", method: "POST", body: "{}", type: "", status: 415, code: "media-type" },
  { name: "a form", path: "/log", method: "POST", body: "a=b", type: "application/x-www-form-urlencoded", status: 415 },
  {
    name: "another charset",
    path: "/log",
    method: "POST",
    body: "{}",
    type: "application/json; charset=latin1",
    status: 415,
  },
  {
    name: "compressed",
    path: "/log",
    method: "POST",
    body: "{}",
    headers: { "content-encoding": "gzip" },
    status: 415,
  },
  query("/logs?limit=0", "query.limit"),
  query("/logs?limit=10001", "query.limit"),
  query("/logs?limit=1e3", "query.limit"),
  query("/logs?limit=", "query.limit"),
  query("/logs?limit=5&limit=6", "query.limit"),
  query("/logs?from=yesterday&to=-5", "query.from", "query.to"),
  query(
    "/logs?severity=loud&order=up&category=a,b",
    "query.severity",
    "query.order",
    "query.category[0]",
    "query.category[1]",
  ),
  query("/logs?search=&cursor=", "query.search", "query.cursor"),
  query("/logs?%3Cscript%3E=1&__proto__=2", "query.<script>", "query.__proto__"),
  query("/logs?search=%zz", "query"),
  query("/logs?follow=maybe", "query.follow"),
  query("/processes?limit=1", "query.limit"),
  query("/processes/web/metrics?step=0", "query.step"),
  query("/processes/web/incidents?limit=-1", "query.limit"),
  query("/processes/web/runs?cursor=x", "query.cursor"),
  { ...query("/processes/web/stop?wait=forever", "query.wait"), method: "POST" },
  { ...query("/processes/web/stop?wait=3601", "query.wait"), method: "POST" },
  path("/processes/..%2f..%2fetc", 404, "process-unknown"),
  path("/processes/%00", 404, "process-unknown"),
  path("/processes/%ff", 400, "input-invalid"),
  path("/processes/%", 400, "input-invalid"),
  path("/processes/", 404, "path-unknown"),
  path("//processes", 404, "path-unknown"),
  path("/processes//stop", 404, "path-unknown"),
  path("/PROCESSES", 404, "path-unknown"),
  path("/processes/web/", 404, "path-unknown"),
  path(`/processes/${"x".repeat(10_000)}`, 404, "process-unknown"),
  path(`/${"a/".repeat(5_000)}`, 404, "path-unknown"),
  path("/{id}", 404, "path-unknown"),
  path("/constructor", 404, "path-unknown"),
  { name: "a foreign host", path: "/state", headers: { host: "evil.example" }, status: 403, code: "origin-refused" },
  {
    name: "a host like ours",
    path: "/state",
    headers: { host: "localhost.evil.example:80" },
    status: 403,
    code: "origin-refused",
  },
  { name: "no host name at all", path: "/state", headers: { host: "a b@c" }, status: 403, code: "origin-refused" },
  {
    name: "a foreign page",
    path: "/state",
    headers: { origin: "https://evil.example" },
    status: 403,
    code: "origin-refused",
  },
  { name: "a page of nowhere", path: "/state", headers: { origin: "null" }, status: 403, code: "origin-refused" },
  { name: "another host in the target", path: "http://evil.example/state", status: 403, code: "origin-refused" },
  { name: "absolute form", path: "http://localhost:1/state", headers: { host: "evil.example" }, status: 200 },
  { name: "absolute form without a path", path: "http://localhost", status: 404, code: "path-unknown" },
  { name: "no host", path: "/state", headers: { host: "" }, status: 400, code: "request-unreadable" },
  {
    name: "an unknown expectation",
    path: "/state",
    headers: { expect: "a miracle" },
    status: 417,
    code: "expectation-unknown",
  },
  {
    name: "a body for an action",
    path: "/processes/web/stop",
    method: "POST",
    body: "{bad",
    status: 400,
    code: "input-invalid",
  },
  {
    name: "members for an action",
    path: "/processes/web/stop",
    method: "POST",
    body: '{"wait":1}',
    status: 400,
    code: "input-invalid",
  },
  {
    name: "a list for an action",
    path: "/processes/web/stop",
    method: "POST",
    body: "[]",
    status: 400,
    code: "input-invalid",
  },
  { name: "localhost", path: "/state", headers: { host: "localhost:1" }, status: 200 },
  { name: "an address", path: "/state", headers: { host: "[::1]:1" }, status: 200 },
  { name: "its own page", path: "/state", headers: { host: "localhost:1", origin: "http://localhost:1" }, status: 200 },
];

/** By a socket, since `fetch` normalises paths and refuses headers. */
async function send(api: ApiRig, { path: target, method, body, type, headers }: Case) {
  const given = {
    host: "127.0.0.1",
    authorization: `Bearer ${api.token()}`,
    connection: "close",
    ...(body === undefined
      ? {}
      : { "content-type": type ?? "application/json", "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(given).flatMap(([name, value]) => (value === "" ? [] : [`${name}: ${value}`]));
  const answer = await api.raw(
    `${method ?? "GET"} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`,
    ...(body === undefined ? [] : [body]),
  );
  return { status: Number(answer.slice(9, 12)), text: answer.slice(answer.indexOf("\r\n\r\n") + 4) };
}

test("each bad request has its status, names every fault with its place, and does no harm", async (context) => {
  const api = await startApi(context);
  for (const each of CASES) {
    const { status, text } = await send(api, each);
    assert.equal(status, each.status, `${each.name}: ${text.slice(0, 300)}`);
    if (status === 200) continue;
    const problem = JSON.parse(text) as ProblemRecord;
    assert.deepEqual([problem.status, problem.type], [status, "about:blank"], each.name);
    assert.match(problem.detail, /^Cannot /, each.name);
    if (each.code !== undefined) assert.equal(problem.code, each.code, each.name);
    if (each.places !== undefined)
      assert.deepEqual(
        problem.problems?.map(({ place }) => place),
        each.places,
        each.name,
      );
  }
  const { rig } = api;
  assert.deepEqual(
    [rig.spawner.log, rig.terminations, rig.logAccess.feed.items, rig.reporting.reports],
    [[], [], [], []],
  );
  assert.equal((await api.client().state()).status, "running");
});

test("data that isn't HTTP is 400, long headers are 431", async (context) => {
  const api = await startApi(context);
  assert.match(await api.raw("hello\r\n\r\n"), /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*"code":"request-unreadable"/);
  assert.match(await api.raw(`GET / HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  assert.match(await api.raw(`GET /${"y".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`), /^HTTP\/1\.1 431 /);
  assert.match(await api.raw("GET /state HTTP/1.1\r\n\r\n"), /^HTTP\/1\.1 400 /);
  const both = "POST /log HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  assert.match(await api.raw(both), /^HTTP\/1\.1 400 /, "a request smuggled into another");
  assert.equal((await api.client().state()).status, "running");
});

test("headers and bodies that come too slowly are 408, and others are served meanwhile", async (context) => {
  const api = await startApi(context, { headersMs: 1_000, requestMs: 2_000 });
  const slow = Array.from({ length: 50 }, () => api.raw("GET /state HTTP/1.1\r\nHost: localhost\r\nX-Slow: "));
  const body = api.raw(
    `POST /log HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.token()}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
  );
  assert.equal((await api.client().state()).status, "running");
  for (const answer of await Promise.all([...slow, body])) assert.match(answer, /^HTTP\/1\.1 408 Request Timeout/);
  assert.deepEqual(api.rig.logAccess.feed.items, []);
});

test("an endless body is refused on every route", async (context) => {
  const api = await startApi(context);
  const head = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.token()}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  for (const [path, status] of [
    ["/log", "413"],
    ["/processes/web/block", "413"],
  ] as const) {
    const socket = connect(api.port, "127.0.0.1").setEncoding("latin1");
    socket.on("error", () => undefined);
    socket.write(head(path));
    for (let count = 0; count < 40; count++) socket.write(chunk);
    const [answer] = (await once(socket, "data")) as [string];
    assert.equal(answer.slice(9, 12), status, path);
    socket.destroy();
  }
  assert.equal((await api.client().state()).status, "running");
});

/** 10 000 would take a minute. */
const STREAMS = Number(process.env.PROCMAN_TEST_STREAMS ?? 300);

test("of thousands of streams most are refused, and other requests are answered immediately", async (context) => {
  const api = await startApi(context);
  const sockets = Array.from({ length: STREAMS }, () => connect(api.port, "127.0.0.1").on("error", () => undefined));
  context.after(() => sockets.forEach((socket) => void socket.destroy()));
  const request = `GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${api.token()}\r\n\r\n`;
  const answers = sockets.map(async (socket) => {
    socket.setEncoding("latin1").write(request);
    const [text = ""] = (await Promise.race([once(socket, "data"), once(socket, "close").then(() => [])]).catch(
      () => [],
    )) as [string?];
    return text.slice(9, 12);
  });
  const statuses = await Promise.all(answers);
  assert.equal(statuses.filter((status) => status === "200").length, 64);
  assert.ok(statuses.every((status) => ["200", "429", ""].includes(status)));
  const start = performance.now();
  assert.equal((await api.client().state()).status, "running");
  assertWithin(5_000, performance.now() - start, "it");
});

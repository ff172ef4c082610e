/** `procman/telemetry` in programs. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { TelemetryReport } from "./core/contract/records.ts";
import { processStat } from "./core/os/process-stat.ts";

const REPORTER = fileURLToPath(new URL("./telemetry.ts", import.meta.url));

type Request = { readonly path: string; readonly token: string | undefined; readonly body: unknown };

/** A stand-in for the API. */
async function api(context: TestContext, status = 200) {
  const requests: Request[] = [];
  const waiting: { readonly count: number; readonly done: () => void }[] = [];
  const server: Server = createServer(async (request, response) => {
    requests.push({ path: request.url ?? "", token: request.headers.authorization, body: await bodyOf(request) });
    response.writeHead(status).end("{}");
    for (const { count, done } of waiting) if (requests.length >= count) done();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const after = (count: number): Promise<void> =>
    new Promise((done) => (requests.length >= count ? done() : waiting.push({ count, done })));
  return {
    requests,
    after,
    env: {
      PROCMAN_API_HOSTNAME: "127.0.0.1",
      PROCMAN_API_PORT: String(port),
      PROCMAN_API_TOKEN: "secret",
      PROCMAN_PROCESS_ID: "web",
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString());
}

/** A program that uses it. */
function program(context: TestContext, code: string, env: NodeJS.ProcessEnv) {
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...own } = process.env;
  const text = `import { reportTelemetry, log } from ${JSON.stringify(REPORTER)}; ${code}`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", text], {
    env: { ...own, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  context.after(() => child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (said += part));
  return { child, said: () => said, exit: once(child, "close") as Promise<[number | null, string | null]> };
}

test("a program reports its memory and its own numbers, until it stops", async (context) => {
  const { requests, after, env } = await api(context);
  const code =
    "const r = reportTelemetry({ everySeconds: 1, metrics: () => ({ queue: 7, broken: NaN }) }); process.stdin.resume(); setInterval(() => 0, 1000); process.on('SIGUSR2', () => { r.stop(); process.exit(0); })";
  const { child, exit } = program(context, code, env);
  await after(2);
  const { path, token, body } = requests[0] as Request;
  const report = body as TelemetryReport;
  assert.deepEqual([path, token, report.process, report.metrics], ["/telemetry", "Bearer secret", "web", { queue: 7 }]);
  assert.ok(report.memory.rss > 1e6 && report.memory.heapUsed > 1e5);
  assert.ok(Math.abs(Date.parse(report.sent) - Date.now()) < 60_000);
  assert.equal(report.cwd, process.cwd());
  child.kill("SIGUSR2");
  assert.deepEqual(await exit, [0, null]);
});

test("metrics that are no function are warned of: the program would wait for them in vain", async (context) => {
  const { requests, after, env } = await api(context);
  const code = "reportTelemetry({ metrics: { queue: 7 } }); setInterval(() => 0, 1000)";
  const { child, exit, said } = program(context, code, env);
  await after(1);
  assert.match(said(), /reportTelemetry reports no metrics: expected a function, as in \{ metrics: \(\) => /);
  const [{ body }] = requests as [Request];
  assert.equal(Object.hasOwn(body as object, "metrics"), false);
  child.kill("SIGKILL");
  await exit;
});

test("it keeps no program alive, and is silent without procman, with a dead one, and with a foreign one", async (context) => {
  const { env } = await api(context, 403);
  const dead = { ...env, PROCMAN_API_PORT: "1" };
  const strange = { ...env, PROCMAN_API_TOKEN: "no\nheader", PROCMAN_API_PORT: "99999" };
  for (const variables of [{}, dead, env, strange, { ...env, PROCMAN_API_TOKEN: "no\nheader" }]) {
    const code =
      "reportTelemetry({ metrics: () => { throw new Error('mine'); } }); console.log(await log('hello')); setTimeout(() => 0, 200)";
    const { exit, said } = program(context, code, { PROCMAN_API_TOKEN: "", ...variables });
    assert.deepEqual(await exit, [0, null], said());
    assert.equal(said(), "false\n");
  }
});

test("a line that is awaited is delivered, even by a program that ends", async (context) => {
  const { requests, env } = await api(context);
  const { exit, said } = program(context, "console.log(await log('hello', 'warn'))", env);
  assert.deepEqual(await exit, [0, null]);
  assert.equal(said(), "true\n");
  assert.deepEqual(
    requests.map(({ path, body }) => [path, body]),
    [["/log", { text: "hello", severity: "warn", process: "web" }]],
  );
});

test("the current address of the API is used, not that of the start", async (context) => {
  const { after, env } = await api(context);
  const folder = mkdtempSync(join(tmpdir(), "procman-reporter-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const service = { pid: process.pid, startTime: processStat(process.pid)?.startTime };
  writeFileSync(
    join(folder, "endpoint.json"),
    JSON.stringify({ hostname: "0.0.0.0", port: Number(env.PROCMAN_API_PORT), ...service }),
  );
  const { child } = program(context, "reportTelemetry(); setInterval(() => 0, 1000)", {
    ...env,
    PROCMAN_API_PORT: "1",
    PROCMAN_DATA_DIR: folder,
  });
  await after(1);
  child.kill("SIGKILL");
});

/** What `log()` resolves with, in a program with this published address. */
async function logged(context: TestContext, endpoint: object, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "procman-reporter-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "endpoint.json"), JSON.stringify(endpoint));
  const { exit, said } = program(context, "console.log(await log('hello'))", { ...env, PROCMAN_DATA_DIR: folder });
  await exit;
  return said();
}

test("nothing is sent to the port of a service that has ended: another program may have it", async (context) => {
  const { requests, env } = await api(context);
  const port = Number(env.PROCMAN_API_PORT);
  const [ended] = spawnSync("sh", ["-c", "echo $$"]).stdout.toString().split("\n");
  for (const dead of [{ pid: Number(ended), startTime: "1" }, { pid: process.pid, startTime: "1" }, {}])
    assert.equal(await logged(context, { hostname: "127.0.0.1", port, ...dead }, env), "false\n");
  assert.deepEqual(requests, []);
});

test("the Unix socket is used rather than the port", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-reporter-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const { env } = await api(context);
  const socket = join(folder, "api.sock");
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    response.end("{}");
  });
  await once(server.listen(socket), "listening");
  context.after(() => server.close());
  const service = { pid: process.pid, startTime: processStat(process.pid)?.startTime };
  const endpoint = { hostname: "127.0.0.1", port: Number(env.PROCMAN_API_PORT), ...service, socket };
  assert.equal(await logged(context, endpoint, env), "true\n");
  assert.equal(
    await logged(context, { ...endpoint, problem: "the port is taken" }, { ...env, PROCMAN_API_PORT: "" }),
    "true\n",
  );
  assert.deepEqual(paths, ["/log", "/log"]);
});

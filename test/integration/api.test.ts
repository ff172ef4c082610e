/** The API of a running procman. Spec 4 and 5. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { VERSION } from "../../src/core/base/version.ts";
import type { PartRecord } from "../../src/core/contract/part-record.ts";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import type { StateRecord } from "../../src/core/contract/state-record.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { cleanEnvironment, eventually, type Procman, startProcman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

async function command(folder: string, ...args: readonly string[]): Promise<string> {
  return (
    await promisify(execFile)(process.execPath, [BIN, ...args], { cwd: folder, env: cleanEnvironment() })
  ).stdout.trim();
}

function endpoint({ folder }: Procman): Promise<Endpoint> {
  const file = join(folder, ".procman/procman/endpoint.json");
  return eventually(() => (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined));
}

const SLEEPER = { id: "web", cmd: "sleep 1000", autostart: true };

type Ask = (token: string, path: string, init?: RequestInit) => Promise<Response>;

async function connectApi(procman: Procman): Promise<Ask> {
  const { port } = await endpoint(procman);
  return (token, path, init = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token}` },
    });
}

/** The environment of the process. */
const ENVIRONMENT = { id: "web", cmd: "env > env.txt; exec sleep 1000", autostart: true };

function variables(folder: string): Promise<Readonly<Record<string, string>>> {
  const file = join(folder, "env.txt");
  return eventually(() => {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    return text.includes("PROCMAN_API_TOKEN")
      ? Object.fromEntries(text.split("\n").map((line) => line.split(/=(.*)/s)))
      : undefined;
  });
}

/** Kills the service, and resolves once the next one answers. */
async function otherService(procman: Procman): Promise<void> {
  const before = (await endpoint(procman)).pid;
  process.kill(procman.helper("service"), "SIGKILL");
  await eventually(() => {
    const text = readFileSync(join(procman.stateDir, "endpoint.json"), "utf8");
    return (JSON.parse(text) as Endpoint).pid === before ? undefined : true;
  });
}

test("4 a record shows when its run started or ended, also after a kill of the service", async (context) => {
  const start = Date.now();
  const procman = await startProcman(context, [
    ENVIRONMENT,
    { id: "job", cmd: "sleep 0.2; exit 3", autostart: true, restartLimit: 0 },
  ]);
  await procman.line(/^job .* exited with code 3/);
  const token = await command(procman.folder, "token", "--consumer", "ci");
  const times = async (id: string): Promise<readonly (number | undefined)[]> => {
    const { started, exited, updated } = (await (
      await (
        await connectApi(procman)
      )(token, `/processes/${id}`)
    ).json()) as ProcessRecord;
    return [started, exited, updated].map((time) => (time === undefined ? undefined : Date.parse(time)));
  };
  const [job, web] = [await times("job"), await times("web")];
  assert.deepEqual([job[0], job[1]], [undefined, job[2]]);
  assert.deepEqual([web[0], web[1]], [web[2], undefined]);
  for (const time of [job[2] ?? 0, web[2] ?? 0]) assert.ok(time > start && time <= Date.now());
  await otherService(procman);
  for (const [id, before] of [
    ["job", job],
    ["web", web],
  ] as const)
    for (const [index, time] of (await times(id)).entries())
      assert.ok(Math.abs((time ?? 0) - (before[index] ?? 0)) < 100, id);
});

test("4 GET /state describes procman and its machine", async (context) => {
  const procman = await startProcman(context, [ENVIRONMENT]);
  const { hostname, port } = await endpoint(procman);
  const token = await command(procman.folder, "token", "--consumer", "ci");
  const { started, updated, ...state } = (await (
    await (
      await connectApi(procman)
    )(token, "/state")
  ).json()) as StateRecord;
  assert.deepEqual(state.api, { hostname, port });
  assert.deepEqual(state.processes, { total: 1, running: 1 });
  assert.deepEqual(state.runtime, { name: "node", version: process.versions.node });
  assert.ok(Date.parse(started) < Date.parse(updated) && Date.parse(updated) <= Date.now());
  assert.ok(state.memory.rss > state.memory.heapUsed && state.cpuPercent > 0);
  assert.deepEqual([state.system.platform, state.system.cpus], [process.platform, availableParallelism()]);
});

test("the state names each part of procman with pid, version and memory, also after one was killed", async (context) => {
  const cluster = { instances: 1, commonPort: await freePort(), startPort: await freeRange() };
  const procman = await startProcman(context, [{ ...SLEEPER, cluster }]);
  const token = await command(procman.folder, "token", "--consumer", "ci");
  const ask = await connectApi(procman);
  const parts = async (): Promise<readonly PartRecord[]> =>
    ((await (await ask(token, "/state")).json()) as StateRecord).parts ?? [];
  const partsWhen = async (holds: (found: readonly PartRecord[]) => boolean): Promise<readonly PartRecord[]> => {
    for (const start = performance.now(); performance.now() - start < 20_000; ) {
      const found = await parts();
      if (holds(found)) return found;
    }
    throw new Error(JSON.stringify(await parts()));
  };
  const found = await partsWhen(({ length }) => length === 4);
  const [service, logger, balancer] = [procman.helper("service"), procman.helper("logger"), procman.helper("balancer")];
  assert.deepEqual(
    found.map(({ part, pid, version }) => [part, pid, version]),
    Object.entries({ keeper: procman.pid, service, logger, balancer }).map(([part, pid]) => [part, pid, VERSION]),
  );
  for (const { part, memoryBytes = 0 } of process.platform === "linux" ? found : [])
    assert.ok(memoryBytes > 1e6 && memoryBytes < 300e6, `${part}: ${memoryBytes} bytes`);
  process.kill(logger, "SIGKILL");
  await partsWhen((now) =>
    now.some(({ part, pid }) => part === "logger" && pid !== logger && pid === procman.helperIfUp("logger")),
  );
  await otherService(procman);
  await partsWhen((now) => now.length === 4 && now.some(({ part, pid }) => part === "service" && pid !== service));
});

test("5 a process gets its own token at its first start, valid after a kill of the service", async (context) => {
  const procman = await startProcman(context, [ENVIRONMENT, { id: "job", cmd: "sleep 1000", autostart: true }]);
  const {
    PROCMAN_API_TOKEN: token = "",
    PROCMAN_API_PORT: port,
    PROCMAN_API_HOSTNAME: hostname,
  } = await variables(procman.folder);
  assert.deepEqual([hostname, Number(port)], ["127.0.0.1", (await endpoint(procman)).port]);
  const send = async (process: string): Promise<number> =>
    (
      await (
        await connectApi(procman)
      )(token, "/log", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ text: "hello", process }),
      })
    ).status;
  assert.equal(await send("job"), 403);
  assert.equal((await (await connectApi(procman))(token, "/processes")).status, 403);
  await otherService(procman);
  assert.equal(Number(port), (await endpoint(procman)).port);
  assert.equal(await send("job"), 403, "the token is valid, but not for another process");
});

test("5 the token of a process ends with its removal", async (context) => {
  const job = { id: "job", cmd: "sleep 1000", autostart: true };
  const procman = await startProcman(context, [ENVIRONMENT, job]);
  const { PROCMAN_API_TOKEN: token = "", PROCMAN_PROCESS_ID: id } = await variables(procman.folder);
  const send = async (): Promise<number> => {
    const headers = { "content-type": "application/json" };
    return (
      await (
        await connectApi(procman)
      )(token, "/log", { method: "POST", headers, body: JSON.stringify({ text: "hello" }) })
    ).status;
  };
  assert.equal(await send(), 201);
  writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ processes: [job] }));
  await command(procman.folder, "reload");
  // Valid until the process has ended.
  let status = 404;
  while (status === 404) status = await send();
  assert.equal(status, 401, id);
});

test("5 revocation and rotation take effect at once, for open streams too", async (context) => {
  const stubborn = {
    id: "stubborn",
    cmd: "trap '' TERM; while :; do sleep 0.1; done",
    autostart: true,
    terminateTimeout: 600,
  };
  const processes = [ENVIRONMENT, stubborn];
  const procman = await startProcman(context, processes);
  const ask = await connectApi(procman);
  const token = await command(
    procman.folder,
    "token",
    "--consumer",
    "ci",
    "--scope",
    "read,control",
    "--expire-in",
    "600",
  );
  const other = await command(procman.folder, "token", "--consumer", "other");
  assert.equal((await ask(token, "/state")).status, 200);
  assert.equal((await ask(token, "/terminate", { method: "POST" })).status, 403);
  const broken = assert.rejects(ask(token, "/processes/stubborn/stop?wait=600", { method: "POST" }));
  await procman.line(/stubborn .* stop for "ci"/);
  const start = performance.now();
  writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ processes, api: { revoked: ["ci"] } }));
  await broken;
  // 2 s are promised; the machine of a test may be slow.
  assertWithin(5_000, performance.now() - start, "it");
  assert.equal((await ask(token, "/state")).status, 401);
  assert.equal((await ask(other, "/state")).status, 200);
  const next = await command(procman.folder, "token", "--consumer", "other", "--rotate");
  while ((await ask(other, "/state")).status !== 401) assert.ok(performance.now() - start < 20_000);
  assert.equal((await ask(next, "/state")).status, 200);
});

test("4 actions wait on request, and the log names the requester", async (context) => {
  const procman = await startProcman(context, [ENVIRONMENT]);
  await variables(procman.folder);
  const ask = await connectApi(procman);
  const token = await command(procman.folder, "token", "--consumer", "ci");
  const act = async (action: string): Promise<unknown> => {
    const response = await ask(token, `/processes/web/${action}?wait=20`, { method: "POST" });
    return ((await response.json()) as { readonly status: unknown }).status;
  };
  assert.deepEqual(
    [await act("restart"), await act("stop"), await act("start"), await act("start")],
    ["running", "stopped", "running", 409],
  );
  const reader = await command(procman.folder, "token", "--consumer", "reader", "--scope", "read");
  assert.equal((await ask(reader, "/terminate", { method: "POST" })).status, 403);
  for (const line of [
    /^procman .* POST \/terminate for "reader": refused: .*"admin"/,
    /^web .* restart for "ci"$/,
    /^web .* stop for "ci"$/,
    /^web .* start of "web" for "ci": refused: Cannot start "web"/,
  ])
    await procman.line(line);
});

test("2.6 the API listens on a hostname that is a name", async (context) => {
  const procman = await startProcman(context, [SLEEPER], { config: { api: { hostname: "localhost" } } });
  const { hostname, port } = await endpoint(procman);
  assert.equal(hostname, "localhost");
  assert.match(await command(procman.folder, "status"), /^web +running /m);
  assert.equal((await fetch(`http://localhost:${port}/health`)).status, 200);
});

test("4 if the API's port is in use, its holder is named and supervision continues", async (context) => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  context.after(() => void other.close());
  const address = other.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const procman = await startProcman(context, [SLEEPER], { config: { api: { port } } });
  await procman.line(/web .*started/);
  await procman.line(
    new RegExp(
      `Cannot serve the API at 127\\.0\\.0\\.1:${port}: .*, by .* \\(pid ${process.pid}\\); processes keep running`,
    ),
  );
});

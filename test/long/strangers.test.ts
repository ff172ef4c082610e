/** Other users of the machine reach the port of the API: without a token they hold up neither restarts nor commands. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { procman as command } from "../support/cli.ts";
import { answered, hostsFolder, oddHost, openedGateway } from "../support/odd-host.ts";
import { type OtherUser, otherUser, runAs, spawnAs } from "../support/other-user.ts";
import { eventually, type Procman, startProcman } from "../support/procman-process.ts";

const VICTIM = {
  id: "victim",
  cmd: "exec sleep 1000",
  autostart: true,
  restart: "always",
  restartDelayMs: 0,
  restartLimit: 1_000,
} as const;
const ROUNDS = 5;

/** A program that writes 500 requests at once, on each of its connections, as fast as they are taken; `reads`: it takes the answers. */
const pipelining = (port: number, connections: number, request: string, reads: boolean): string => `
  const { connect } = require("node:net");
  const text = Buffer.from(${JSON.stringify(request)}.repeat(500));
  const open = () => {
    const socket = connect(${port}, "127.0.0.1");
    const write = () => { while (socket.writable && socket.write(text)); };
    socket.on("connect", write).on("drain", write).on("error", () => undefined).on("close", () => setTimeout(open, 1));
    if (${reads}) socket.resume();
  };
  for (let count = 0; count < ${connections}; count += 1) open();
  setTimeout(() => console.log("floods"), 300);`;

const BUSY = `console.log("floods"); for (;;);`;

async function started(context: TestContext, user: OtherUser, code: string): Promise<ChildProcess> {
  const child = spawnAs(context, user, [process.execPath, "-e", code]);
  await new Promise((resolve) => child.stdout?.once("data", resolve));
  return child;
}

/** Milliseconds until a killed process is back, and until `status` has answered: the longest of some rounds. */
async function slowest(procman: Procman): Promise<{ readonly restart: number; readonly status: number }> {
  const found = { restart: 0, status: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = procman.lines.length;
    const [, pid = ""] =
      /pid (\d+)/.exec(procman.lines.filter((line) => /^victim +\| started/.test(line)).at(-1) ?? "") ?? [];
    const killed = performance.now();
    process.kill(Number(pid), "SIGKILL");
    await procman.line(/^victim +\| started \(pid/, before);
    const back = performance.now();
    found.restart = Math.max(found.restart, back - killed);
    const { code } = await command(procman.folder, ["status"]);
    assert.equal(code, 0);
    found.status = Math.max(found.status, performance.now() - back);
  }
  return found;
}

const wrongCode = '{"code":"wrong"}';
const FLOODS: Readonly<Record<string, string>> = {
  "OPTIONS of a path": "OPTIONS /processes HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "wrong codes": `POST /dashboard/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${wrongCode.length}\r\n\r\n${wrongCode}`,
  "requests without a token": "GET /processes HTTP/1.1\r\nHost: localhost\r\n\r\n",
};

test("a killed process and commands are about as quick beside pipelined requests without a token as beside a busy loop", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const procman = await startProcman(context, [VICTIM]);
  await procman.line(/^victim +\| started/);
  const endpoint = join(procman.stateDir, "endpoint.json");
  const { port } = await eventually(() =>
    existsSync(endpoint) ? (JSON.parse(readFileSync(endpoint, "utf8")) as Endpoint) : undefined,
  );
  const loop = await started(context, nobody, BUSY);
  const beside = await slowest(procman);
  loop.kill("SIGKILL");
  const cases = Object.entries(FLOODS).flatMap(([name, request]) =>
    [2, 16].map((connections) => ({
      name: `${name}, ${connections} connections`,
      code: pipelining(port, connections, request, true),
    })),
  );
  const unread = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const { name, code } of [
    ...cases,
    { name: "answers that are never read", code: pipelining(port, 16, unread, false) },
  ]) {
    const flood = await started(context, nobody, code);
    const measured = await slowest(procman);
    flood.kill("SIGKILL");
    context.diagnostic(`${name}: restart ${measured.restart.toFixed()} ms, status ${measured.status.toFixed()} ms`);
    assert.ok(
      measured.restart < 3 * beside.restart + 500,
      `${name}: ${measured.restart} ms, beside a busy loop ${beside.restart} ms`,
    );
    assert.ok(
      measured.status < 3 * beside.status + 1_000,
      `${name}: ${measured.status} ms, beside a busy loop ${beside.status} ms`,
    );
  }
});

test("another user gets nothing from the gateway to other machines", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const host = await oddHost(context, answered("[]"));
  const { env, addAll } = hostsFolder(context, { web1: host.port });
  await addAll();
  const { link } = await openedGateway(context, env, "web1");
  const { origin } = new URL(link);
  const paths = [
    "/",
    "/processes",
    "/web1/processes",
    "/proxied/../../admin/secret",
    "/dashboard/token",
    "/enter",
    "/hosts?host=web1",
  ];
  const code = `Promise.all(${JSON.stringify(paths)}.map(async (path) => (await fetch("${origin}" + path)).status)).then((all) => console.log(all.join()))`;
  const { out, err } = await runAs(nobody, [process.execPath, "-e", code]);
  assert.equal(out.trim(), paths.map(() => 404).join(), err);
  assert.deepEqual(host.requests, []);
});

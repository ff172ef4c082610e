/** A program that floods `POST /log` harms neither the supervision of others nor procman's memory. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import type { Endpoint, LogEntry } from "../../src/core/contract/records.ts";
import { procman as command } from "../support/cli.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { eventually, type Procman, startProcman } from "../support/procman-process.ts";

const CONNECTIONS = 16;

/** The token and id of a process are what a program has. */
async function connectAs(procman: Procman, id: string) {
  const file = join(procman.folder, `${id}.token`);
  const token = await eventually(() =>
    existsSync(file) && readFileSync(file, "utf8").endsWith("\n") ? readFileSync(file, "utf8") : undefined,
  );
  const endpoint = join(procman.stateDir, "endpoint.json");
  const { port } = await eventually(() =>
    existsSync(endpoint) ? (JSON.parse(readFileSync(endpoint, "utf8")) as Endpoint) : undefined,
  );
  return { port, authorization: `Bearer ${token.trim()}` };
}

/** Resident memory. Bytes. */
function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
}

const WEB = { cmd: "echo $PROCMAN_API_TOKEN > $PROCMAN_PROCESS_ID.token; exec sleep 1000", autostart: true };

test("another process restarts within a second while 16 connections flood the log, and memory stays bounded", async (context) => {
  const victim = { id: "victim", cmd: "exec sleep 1000", autostart: true, restart: "always" };
  const procman = await startProcman(context, [{ id: "noisy", ...WEB }, victim], {
    config: { logger: { console: false } },
  });
  const { port, authorization } = await connectAs(procman, "noisy");
  const body = Buffer.from(JSON.stringify({ text: "x".repeat(65_000) }));
  const headers = { "content-type": "application/json", "content-length": body.length, authorization };
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  context.after(() => agent.destroy());
  const statuses = new Map<number, number>();
  let isOver = false;
  context.after(() => {
    isOver = true;
  });
  const send = (): Promise<void> =>
    new Promise((resolve) => {
      const call = request({ port, host: "127.0.0.1", path: "/log", method: "POST", headers, agent }, (response) => {
        statuses.set(response.statusCode ?? 0, (statuses.get(response.statusCode ?? 0) ?? 0) + 1);
        response.resume().once("close", resolve);
      });
      call.once("error", () => resolve());
      call.end(body);
    });
  const flood = Array.from({ length: CONNECTIONS }, async () => {
    while (!isOver) await send();
  });
  await eventually(() => ((statuses.get(429) ?? 0) >= 50 ? true : undefined));
  for (let round = 0; round < 3; round++) {
    const before = procman.lines.length;
    const starts = procman.lines.filter((line) => /^victim +\| started/.test(line));
    const [, pid = ""] = /pid (\d+)/.exec(starts.at(-1) ?? "") ?? [];
    const killed = performance.now();
    process.kill(Number(pid), "SIGKILL");
    await procman.line(/^victim +\| started \(pid/, before);
    const ms = performance.now() - killed;
    assertWithin(1_000, ms, `the restart of round ${round}`);
  }
  isOver = true;
  await Promise.all(flood);
  for (const pid of [procman.pid, procman.helper("service"), procman.helper("logger")])
    assert.ok(memoryOf(pid) < 250_000_000, `${memoryOf(pid)} bytes`);
  assert.ok((statuses.get(201) ?? 0) > 0, "what is within the limit is accepted");
});

test("a line can be read when its 201 is answered", async (context) => {
  const procman = await startProcman(context, [{ id: "web", ...WEB }]);
  const { port, authorization } = await connectAs(procman, "web");
  const token = (await command(procman.folder, ["token", "--consumer", "reader"])).out.trim();
  for (let count = 0; count < 20; count++) {
    const text = `line ${count}`;
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", authorization },
      body: JSON.stringify({ text }),
    };
    assert.equal((await fetch(`http://127.0.0.1:${port}/log`, init)).status, 201);
    const found = await fetch(`http://127.0.0.1:${port}/logs?category=log&limit=1`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(((await found.json()) as readonly LogEntry[])[0]?.text, text);
  }
});

/** Real programs under the built procman: nginx, redis, Python, Node, shells, and some that misbehave. Spec 2.2 and 2.3. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/free-ports.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { childrenOf, commandLineOf } from "../support/proc-files.ts";
import { eventually, isAlive, type Procman, processExit, startProcman } from "../support/procman-process.ts";
import { isMissing, SYSTEM_PATHS } from "../support/system-programs.ts";

const PROGRAMS = fileURLToPath(new URL("../programs/", import.meta.url));
const loud = { autostart: true, logger: { console: true } };
const pidIn = (line: string | undefined): number => Number(/pid (\d+)/.exec(line ?? "")?.[1]);

/** Retries until the server answers. */
async function answer(port: number): Promise<string> {
  for (
    const end = performance.now() + 20_000;
    performance.now() < end;
    await new Promise((resolve) => setTimeout(resolve, 10))
  ) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
      return `${response.status} ${await response.text()}`;
    } catch {
      // It doesn't listen yet.
    }
  }
  throw new Error(`no answer at port ${port}`);
}

async function ask(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  socket.write(text);
  const [reply] = (await once(socket, "data")) as [string];
  socket.destroy();
  return reply;
}

/** Resident memory of procman's components. Bytes. */
function memoryOf(procman: Procman): number {
  const pids = [procman.pid, procman.helper("service"), procman.helper("logger")];
  return pids.reduce(
    (sum, pid) => sum + Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024,
    0,
  );
}

const NGINX_CONF = (port: number): string => `
worker_processes 2;
error_log /dev/stderr notice;
pid nginx.pid;
events { worker_connections 64; }
http {
  access_log /dev/stdout;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server { listen 127.0.0.1:${port}; location / { return 200 "nginx answers"; } }
}
`;

test("2.2 nginx in the foreground: logs through /dev/stdout; after a kill of its master the workers end and the port is free again", async (context) => {
  if (isMissing(context, "nginx")) return;
  const port = await freePort();
  const cmd = `until [ -e nginx.conf ]; do sleep 0.02; done; exec nginx -p "$PWD" -e /dev/stderr -c nginx.conf -g 'daemon off;'`;
  const procman = await startProcman(context, [{ id: "nginx", cmd, path: SYSTEM_PATHS, terminateTimeout: 5, ...loud }]);
  writeFileSync(join(procman.folder, "nginx.conf"), NGINX_CONF(port));
  const master = pidIn(await procman.line(/nginx .*started/));
  assert.equal(await answer(port), "200 nginx answers");
  await procman.line(/nginx +\| 127\.0\.0\.1 .*"GET \/ HTTP\/1\.1" 200/);
  await procman.line(/nginx .*start worker process/);
  const workers = await eventually(() => (childrenOf(master).length === 2 ? childrenOf(master) : undefined));
  process.kill(master, "SIGKILL");
  const [, second] = await procman.count(/nginx .*started/, 2);
  for (const worker of workers) assert.ok(!isAlive(worker), "the workers are gone before the next master starts");
  await procman.line(/nginx .*left processes behind/);
  assert.notEqual(pidIn(second), master);
  assert.equal(await answer(port), "200 nginx answers");
  assert.ok(!procman.lines.some((line) => /Address (already )?in use/.test(line)));
  assert.equal(await procman.stop(), 0);
  await processExit(pidIn(second));
});

test("2.2 redis-server answers, and SIGTERM ends it in order", async (context) => {
  if (isMissing(context, "redis-server")) return;
  const port = await freePort();
  const cmd = `redis-server --port ${port} --bind 127.0.0.1 --save '' --appendonly no`;
  const procman = await startProcman(context, [{ id: "redis", cmd, ...loud }]);
  await procman.line(/redis .*[Rr]eady to accept connections/);
  assert.equal(await ask(port, "PING\r\n"), "+PONG\r\n");
  assert.equal(await procman.stop(), 0);
  await procman.line(/redis .*bye bye/);
  assert.ok(!procman.lines.some((line) => /killing/.test(line)));
});

test("2.3 a Python script: every unbuffered print of both streams arrives in order, also with non-ASCII letters", async (context) => {
  if (isMissing(context, "python3")) return;
  const procman = await startProcman(context, [
    {
      id: "python",
      cmd: `python3 -u "${PROGRAMS}print-numbers.py" 500`,
      autostart: true,
      logger: { console: true, stdout: "out.log", stderr: "err.log" },
    },
  ]);
  await procman.line(/grüße, python is done/);
  assert.equal(await procman.stop(), 0);
  const expected = (word: string): string =>
    Array.from({ length: 500 }, (_, index) => `${word} ${index + 1}\n`).join("");
  assert.equal(readFileSync(join(procman.folder, "out.log"), "utf8"), `${expected("python")}grüße, python is done\n`);
  assert.equal(readFileSync(join(procman.folder, "err.log"), "utf8"), expected("python error"));
});

test("2.2 a killed Node server accepts connections on its port again, with a new pid", async (context) => {
  const port = await freePort();
  const procman = await startProcman(context, [
    { id: "cmd", cmd: `${process.execPath} "${PROGRAMS}answer-with-pid.js" ${port}`, restartDelayMs: 0, ...loud },
  ]);
  const first = pidIn(await procman.line(/cmd .*started/));
  assert.equal(await answer(port), `200 ${first}\n`);
  process.kill(first, "SIGKILL");
  const second = pidIn((await procman.count(/cmd .*started/, 2))[1]);
  assert.notEqual(second, first);
  assert.equal(await answer(port), `200 ${second}\n`);
  assert.equal(await procman.stop(), 0);
  await processExit(second);
});

test("2.2 a stop of a shell script with background children leaves none of them", async (context) => {
  const procman = await startProcman(context, [
    { id: "family", cmd: `sh "${PROGRAMS}leave-children.sh"`, terminateTimeout: 0.5, ...loud },
  ]);
  await procman.line(/children are up/);
  const children = (await procman.count(/child \d+$/, 5)).map((line) => Number(/child (\d+)$/.exec(line)?.[1]));
  for (const child of children) assert.ok(isAlive(child));
  assert.equal(await procman.stop(), 0);
  for (const child of children) assert.ok(!isAlive(child), `${child} still runs`);
});

test("nginx with stopSignal SIGQUIT completes its current answers before it stops", async (context) => {
  if (isMissing(context, "nginx")) return;
  const port = await freePort();
  const cmd = `until [ -e nginx.conf ]; do sleep 0.02; done; exec nginx -p "$PWD" -e /dev/stderr -c nginx.conf -g 'daemon off;'`;
  const procman = await startProcman(context, [
    { id: "nginx", cmd, path: SYSTEM_PATHS, stopSignal: "SIGQUIT", ...loud },
  ]);
  writeFileSync(join(procman.folder, "big"), Buffer.alloc(60_000));
  const config = NGINX_CONF(port).replace(
    "location /",
    `location /big { root ${procman.folder}; limit_rate 30000; } location /`,
  );
  // Only the owner may enter the folder.
  writeFileSync(join(procman.folder, "nginx.conf"), `user root;\n${config}`);
  await answer(port);
  const master = pidIn(await procman.line(/nginx .*started/));
  const response = await fetch(`http://127.0.0.1:${port}/big`);
  process.kill(procman.pid, "SIGTERM");
  await procman.line(/nginx .*stopping/);
  assert.equal((await response.arrayBuffer()).byteLength, 60_000);
  await processExit(master);
  assert.equal((await procman.exit()).code, 0);
});

test("2.2 a program that ignores SIGTERM gets it, and is killed terminateTimeout later", async (context) => {
  const cmd = `${process.execPath} "${PROGRAMS}ignore-signals.js"`;
  const procman = await startProcman(context, [{ id: "stubborn", cmd, terminateTimeout: 0.4, ...loud }]);
  const pid = pidIn(await procman.line(/stubborn .*started/));
  await procman.line(/stubborn .*is up/);
  const from = Date.now();
  assert.equal(await procman.stop(), 0);
  assert.ok(Date.now() - from >= 400);
  await procman.line(/stubborn .*ignores SIGTERM/);
  await procman.line(/stubborn .*did not end within 400 ms of SIGTERM; killing it/);
  await processExit(pid);
});

test("2.3 `yes` for a second into a rotated file: procman's memory is bounded, the files stay within their total, the stop is prompt", async (context) => {
  const procman = await startProcman(context, [
    {
      id: "yes",
      cmd: "until [ -e go ]; do sleep 0.02; done; exec yes 'all work and no play'",
      autostart: true,
      logger: { stdout: "logs/yes.log", rotate: { size: "5MB", total: "30MB" } },
    },
  ]);
  const pid = pidIn(await procman.line(/yes .*started/));
  // The API is loaded, so memory should not grow from here on.
  await eventually(() => (existsSync(join(procman.folder, ".procman/procman/endpoint.json")) ? true : undefined));
  const before = memoryOf(procman);
  writeFileSync(join(procman.folder, "go"), "");
  const logs = join(procman.folder, "logs");
  await eventually(() => (readdirSync(logs).length > 1 ? true : undefined));
  let most = 0;
  const end = performance.now() + 1_000;
  await eventually(() => {
    most = Math.max(most, memoryOf(procman));
    return performance.now() >= end ? true : undefined;
  });
  assert.ok(most - before < 60e6, `grew by ${Math.round((most - before) / 1e6)} MB`);
  const from = Date.now();
  assert.equal(await procman.stop(), 0);
  assertWithin(5_000, Date.now() - from, "the stop");
  await processExit(pid);
  const sizes = readdirSync(logs).map((name) => statSync(join(logs, name)).size);
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 40e6, `the files have ${sizes} bytes`);
});

test("2.2 cmd: the pid is the program's own, also with a quoted path", async (context) => {
  const procman = await startProcman(context, [
    { id: "quoted", cmd: `"${process.execPath}" "${PROGRAMS}ignore-signals.js"`, terminateTimeout: 0.2, ...loud },
  ]);
  const pid = pidIn(await procman.line(/quoted .*started/));
  await procman.line(/quoted .*is up/);
  assert.match(commandLineOf(pid), /node\0.*ignore-signals\.js\0$/);
  assert.equal(await procman.stop(), 0);
  const lines = procman.lines.filter((line) => /quoted .*(stopped|kill)/.test(line));
  assert.deepEqual(lines, [...new Set(lines)], "each event is reported once");
});

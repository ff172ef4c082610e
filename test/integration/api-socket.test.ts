/** The Unix socket of the API: commands need no port. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { allListeners } from "../../src/core/os/listening-ports.ts";
import { procman as command, homeOf } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { eventually, folderWith, Procman, startProcman } from "../support/procman-process.ts";
import { DIST } from "../support/product.ts";

const sleeper = { id: "sleeper", cmd: "sleep 1000", autostart: true } as const;

function endpointOf(stateDir: string): Promise<Endpoint> {
  const file = join(stateDir, "endpoint.json");
  return eventually(() => (existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined));
}

test('with "api": false procman listens on no port; commands and programs reach it by a socket that only its user can open', async (context) => {
  const telemetry = JSON.stringify(join(DIST, "telemetry.cjs"));
  const folder = folderWith(context, { api: false, processes: [sleeper] });
  writeFileSync(
    join(folder, "program.cjs"),
    `require(${telemetry}).log("hello").then((ok) => console.log(ok, process.env.PROCMAN_API_PORT, process.env.PROCMAN_API_SOCKET)); setInterval(() => 0, 1e6);`,
  );
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({
      api: false,
      processes: [sleeper, { id: "program", cmd: `${process.execPath} program.cjs`, logger: { console: true } }],
    }),
  );
  const procman = new Procman(folder);
  const { socket = "", isOff } = await endpointOf(join(folder, ".procman/procman"));
  assert.equal(isOff, true);
  assert.equal(socket, join(procman.stateDir, "run/api.sock"));
  assert.equal(statSync(socket).mode & 0o777, 0o600);
  assert.equal(statSync(join(procman.stateDir, "run")).mode & 0o777, 0o700);
  assert.deepEqual([...listenersOf(procman.pid), ...listenersOf(procman.helper("service"))], []);
  assert.equal((await command(folder, ["start", "program"])).code, 0);
  await procman.line(new RegExp(`program .* true undefined ${socket}$`));
  assert.match((await command(folder, ["logs", "--search", "hello"])).out, /program .*hello/);
  assert.match((await command(folder, ["status"])).out, /sleeper +running/);
  assert.equal((await command(folder, ["terminate"])).code, 0);
  assert.ok(!existsSync(socket));
});

test("of two procmans with the same port the second is controlled by its socket; the message names the first", async (context) => {
  const port = await freePort();
  const first = await startProcman(context, [sleeper], { config: { api: { port } } });
  await endpointOf(join(first.folder, ".procman/procman"));
  const second = await startProcman(context, [sleeper], { config: { api: { port } } });
  const line = await second.line(/Cannot serve the API/);
  assert.ok(line.includes(", by procman[procman]: ") && line.includes(first.stateDir), line);
  const { code, out } = await command(second.folder, ["restart", "sleeper"]);
  assert.equal(code, 0, out);
  assert.match((await command(second.folder, ["status"])).out, /sleeper +running/);
  await first.stop();
  await second.line(/the API is served at .* now/);
  assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
});

test("run --detach says that the port is taken; commands work", async (context) => {
  const port = await freePort();
  const first = await startProcman(context, [sleeper], { config: { api: { port } } });
  await endpointOf(join(first.folder, ".procman/procman"));
  const { folder } = homeOf(context, [sleeper], { api: { port } });
  const { code, err } = await command(folder, ["run", "--detach"]);
  assert.equal(code, 69);
  assert.match(err, /has no API at 127\.0\.0\.1:\d+: .*EADDRINUSE.*by procman\[procman\]: .*; commands still reach it/);
  assert.match((await command(folder, ["status"])).out, /sleeper +running/);
});

test("a state folder with a long path has a socket, too", async (context) => {
  const folder = folderWith(context, { api: false, processes: [sleeper] });
  const root = join(scratch(context), "long".repeat(20), "path".repeat(20));
  mkdirSync(root, { recursive: true });
  const env = { PROCMAN_STATE_DIR: root };
  const procman = new Procman(folder, { env });
  const { socket = "" } = await endpointOf(join(root, "procman"));
  assert.ok(socket.length > 150, socket);
  assert.match((await command(folder, ["status"], env)).out, /sleeper +running/);
  const { pid } = await endpointOf(join(root, "procman"));
  process.kill(pid, "SIGKILL");
  assert.match((await command(folder, ["status"], env)).out, /sleeper +running/);
  await procman.stop();
  assert.ok(!existsSync(socket));
});

test("commands find the socket again after the run folder was removed", async (context) => {
  const procman = await startProcman(context, [sleeper], { config: { api: false } });
  const { socket = "" } = await endpointOf(join(procman.folder, ".procman/procman"));
  const before = statSync(socket).ino;
  rmSync(join(procman.folder, ".procman"), { recursive: true });
  await eventually(() => (existsSync(socket) && statSync(socket).ino !== before ? true : undefined));
  assert.match((await command(procman.folder, ["status"])).out, /sleeper +running/);
});

test("an API that was switched off frees its port when the service is restarted", async (context) => {
  const port = await freePort();
  const procman = await startProcman(context, [sleeper], { config: { api: { port } } });
  const { pid } = await endpointOf(join(procman.folder, ".procman/procman"));
  writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ api: false, processes: [sleeper] }));
  process.kill(pid, "SIGKILL");
  await eventually(() => (allListeners().every((listener) => listener.port !== port) ? true : undefined));
  assert.match((await command(procman.folder, ["status"])).out, /sleeper +running/);
});

/** TCP ports on which this process listens. */
function listenersOf(pid: number): readonly number[] {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`)));
  return allListeners().flatMap(({ port, inode }) => (open.has(`socket:[${inode}]`) ? [port] : []));
}

function scratch(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-scratch-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

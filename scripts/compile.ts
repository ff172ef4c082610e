/** After the build: runs service and command line once, to keep the code that V8 compiled for them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileNow } from "../src/os/compiled.ts";
import { processStat } from "../src/os/process-stat.ts";

const DIST = fileURLToPath(new URL("../dist/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "procman-compile-"));
const config = join(folder, "procman.json");
const SPEC = { id: "web", cmd: "true", autostart: true, cron: "0 3 * * *", logger: { stdout: "{id}.log" } };
writeFileSync(config, JSON.stringify({ name: "compile", processes: [SPEC] }));
await compileCommandLine();
compileService();

/** `status`, as the most used, answered by a service that is none. */
async function compileCommandLine(): Promise<void> {
  const record = {
    id: "web",
    type: "process",
    status: "running",
    blocked: false,
    pid: 2,
    restarts: 0,
    reason: "runs",
    started: "2026-01-01",
  };
  const server = createServer((_request, response) => response.end(JSON.stringify([record]))).listen(0, "127.0.0.1");
  await once(server, "listening");
  const state = join(folder, ".procman/compile");
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "secret"), "no secret");
  const { port } = server.address() as AddressInfo;
  const startTime = processStat(process.pid)?.startTime;
  writeFileSync(
    join(state, "endpoint.json"),
    JSON.stringify({ hostname: "127.0.0.1", port, pid: process.pid, startTime, keeper: process.pid, version: "" }),
  );
  const { NODE_OPTIONS: _options, PROCMAN_STATE_DIR: _state, ...env } = process.env;
  const status = spawn(process.execPath, [join(DIST, "procman.cjs"), "status"], {
    cwd: folder,
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = (await once(status, "exit")) as [number | null];
  if (code !== 0) throw new Error(`procman status has ended with ${code}`);
  server.close();
}

/** Reads a configuration, as a first run of five seconds would. */
function compileService(): void {
  process.argv.splice(2, process.argv.length, `--config=${config}`);
  compileNow(join(DIST, "service-main.cjs"));
  rmSync(folder, { recursive: true });
  process.exit(0);
}

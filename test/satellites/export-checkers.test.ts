/** Exports before the programs that they are for: docs/guide/export.md. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { type TestContext, test } from "node:test";
import { nextTime } from "../../src/core/supervisor/schedule.ts";
import { calendarExpressions, cronFields } from "../../src/satellites/export/cron-pattern.ts";
import type { Exported } from "../../src/satellites/export/workload.ts";
import { exported, fileOf, SHOP } from "../support/export-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { folder as temporaryFolder } from "../support/service-rig.ts";
import { isMissing, SYSTEM_PATHS } from "../support/system-programs.ts";

const PATH = [process.env.PATH, ...SYSTEM_PATHS].join(":");

function write(folder: string, { files }: Exported): readonly string[] {
  mkdirSync(folder, { recursive: true });
  return files.map(({ name, text }) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
}

type Outcome = { readonly code: number | null; readonly out: string; readonly err: string };

function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Outcome {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: "utf8",
    ...options,
    env: { ...process.env, PATH, ...options.env },
  });
  return { code: status, out: stdout, err: stderr };
}

/** The shop, with programs that exist. */
function shopIn(folder: string): object {
  for (const name of ["mail.sh", "report.sh", "redis-server"]) {
    const file = join(folder, name === "mail.sh" ? "mail/mail.sh" : name);
    mkdirSync(join(folder, "mail"), { recursive: true });
    writeFileSync(file, "#!/bin/sh\nexec sleep 1000\n");
    chmodSync(file, 0o755);
  }
  writeFileSync(join(folder, "mail.env"), "MAIL_HOST=localhost\n");
  return SHOP;
}

test("systemd-analyze accepts every unit without a remark", (context) => {
  if (isMissing(context, "systemd-analyze")) return;
  const folder = temporaryFolder();
  const sharing = {
    id: "shared",
    cmd: "node server.js",
    autostart: true,
    cluster: { instances: 2, mode: "share", commonPort: 3100 },
  };
  const restarted = {
    id: "nightly",
    cmd: "node server.js",
    autostart: true,
    restart: "always",
    terminate: "0 4 * * SUN#L",
    timeout: 60,
  };
  const lively = {
    id: "lively",
    cmd: `sh -c 'echo "$HOME" 100% ; exit 3'`,
    autostart: true,
    env: { TEXT: 'a "b" \\ %n $x\ttab\nline' },
    groups: "all",
  };
  const config = { ...SHOP, ...shopIn(folder), processes: [...SHOP.processes, sharing, restarted, lively] };
  const programPath = (program: string, cwd: string): string =>
    program.includes("/") ? resolve(cwd, program) : "/bin/true";
  const files = write(join(folder, "units"), exported("systemd", config, { folder, programPath }));
  assert.ok(files.length > 15);
  const { code, err } = run("systemd-analyze", ["verify", "--man=no", "--recursive-errors=no", ...files]);
  assert.deepEqual([code, err], [0, ""]);
});

test("systemd's calendar has the times of the cron patterns", (context) => {
  if (isMissing(context, "systemd-analyze")) return;
  const patterns = [
    "0 3 * * MON-FRI",
    "*/20 9-17 * * *",
    "0 0 1,15 * *",
    "15 6 L * *",
    "0 3 * * FRI#2",
    "0 3 * * 5L",
    "30 2 * * 0,3",
    "*/15 * * * * *",
    "0 0 3 29 2 * 2028",
    "5 4 31 1-3 *",
  ];
  for (const pattern of patterns) {
    const fields = cronFields(pattern);
    assert.ok(fields !== undefined, pattern);
    const [expression = ""] = calendarExpressions(fields, "UTC");
    const { code, out, err } = run(
      "systemd-analyze",
      ["calendar", "--iterations=4", "--base-time=2026-01-30 10:00:00 UTC", expression],
      {
        env: { TZ: "UTC" },
      },
    );
    assert.equal(code, 0, `${pattern}: ${expression}: ${err}`);
    const times = [...out.matchAll(/(?:Next elapse|Iteration #\d+): \w+ ([\d-]+ [\d:]+)/g)].map(([, time]) => time);
    assert.deepEqual(times, cronTimes(pattern, times.length), `${pattern}: ${expression}`);
    assert.ok(times.length > 0, pattern);
  }
});

function cronTimes(pattern: string, count: number): readonly string[] {
  const found: number[] = [];
  for (let from = Date.UTC(2026, 0, 30, 10); found.length < count; from = found.at(-1) ?? 0)
    found.push(nextTime({ pattern, timeZone: "UTC" }, from) ?? 0);
  return found.map((time) => new Date(time).toISOString().slice(0, 19).replace("T", " "));
}

test("docker-compose resolves the file of compose, and gives the programs what procman gives them", (context) => {
  if (isMissing(context, "docker-compose")) return;
  const folder = temporaryFolder();
  const export_ = exported("compose", shopIn(folder), { folder });
  write(folder, export_);
  // Compose 1.29 knows no `name`.
  const old = join(folder, "old.yaml");
  writeFileSync(old, fileOf(export_, "compose.yaml").replace(/^name: .*\n/m, ""));
  const { code, out, err } = run("docker-compose", ["-f", old, "config"], { cwd: folder, env: { DB_HOST: "" } });
  assert.equal(code, 0, err);
  assert.match(out, /DATABASE: redis:\/\/db:7000/);
  assert.match(out, /GREETING: 50% of \$\$5 "x"/);
  assert.match(out, /MAIL_HOST: localhost/);
  assert.match(out, /condition: service_completed_successfully/);
});

test("docker-compose accepts the stack of a swarm; docker stack config, too, where there is a docker", (context) => {
  if (isMissing(context, "docker-compose")) return;
  const folder = temporaryFolder();
  write(folder, exported("swarm", shopIn(folder), { folder, image: "registry.example.com/shop:1" }));
  const file = join(folder, "stack.yaml");
  const composed = run("docker-compose", ["-f", file, "config"], { cwd: folder });
  assert.equal(composed.code, 0, composed.err);
  if (run("docker", ["stack", "config", "--help"]).code !== 0) return;
  const { code, out, err } = run("docker", ["stack", "config", "-c", file], { cwd: folder });
  assert.equal(code, 0, err);
  assert.match(out, /published: 3000/);
  assert.match(out, /replicas: 2/);
});

async function answering(context: TestContext, text: string, port: number): Promise<Server> {
  const server = createServer((_, response) => response.end(text)).listen(port, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  return server;
}

test("haproxy accepts its file, and balances between the instances that answer their check", async (context) => {
  if (isMissing(context, "haproxy")) return;
  const folder = temporaryFolder();
  const [common, first] = [await freePort(), await freeRange()];
  const cluster = { instances: 2, startPort: first, commonPort: common, maxConnections: 10, idleTimeout: 30 };
  const health = { http: "http://127.0.0.1:{port}/", interval: 0.2, failures: 1 };
  const config = { processes: [{ id: "web", cmd: "node server.js", autostart: true, health, cluster }] };
  const [file = ""] = write(folder, exported("haproxy", config));
  const [shop = ""] = write(join(folder, "shop"), exported("haproxy"));
  assert.deepEqual([run("haproxy", ["-c", "-f", file]).code, run("haproxy", ["-c", "-f", shop]).code], [0, 0]);
  assert.match(run("haproxy", ["-c", "-f", shop]).err, /^$/, "without a warning");
  const servers = await Promise.all([answering(context, "one", first), answering(context, "two", first + 1)]);
  assert.deepEqual(
    servers.map((server) => (server.address() as AddressInfo).port),
    [first, first + 1],
  );
  const haproxy = spawn("haproxy", ["-db", "-f", file], { env: { ...process.env, PATH }, stdio: "ignore" });
  context.after(() => haproxy.kill("SIGKILL"));
  const ask = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${common}/`, { headers: { connection: "close" } })).text().catch(() => "");
  const answers = new Set<string>();
  while (answers.size < 2) answers.add(await ask().catch(() => ""));
  answers.delete("");
  while (answers.size < 2) answers.add(await ask());
  assert.deepEqual([...answers].sort(), ["one", "two"]);
  servers[0]?.close();
  servers[0]?.closeAllConnections();
  // A failed check takes the instance out: then only the other one answers, many times in a row.
  let inARow = 0;
  while (inARow < 20) inARow = (await ask()) === "two" ? inARow + 1 : 0;
});

test("a Procfile is parsed as foreman does, and its lines run with folder and variables of the processes", (_context) => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "api"));
  const print = `node -e 'console.log(process.cwd(), process.env.TEXT, process.env.URL)'`;
  const processes = [
    {
      id: "api",
      cmd: print,
      cwd: "api",
      autostart: true,
      env: { TEXT: `it's "$HOME" 5%`, URL: "http://${HOST:-localhost}/" },
    },
    { id: "job", cmd: "true", cron: "0 3 * * *" },
  ];
  const text = fileOf(exported("procfile", { processes }, { folder }), "Procfile");
  // Of foreman's Procfile class.
  const entries = text.split("\n").flatMap((line) => {
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(.+)$/.exec(line) ?? [];
    return name === undefined || command === undefined ? [] : [[name, command] as const];
  });
  assert.deepEqual(
    entries.map(([name]) => name),
    ["api"],
  );
  const out = execFileSync("/bin/sh", ["-c", entries[0]?.[1] ?? ""], { cwd: folder, encoding: "utf8" });
  assert.equal(out, `${join(folder, "api")} it's "$HOME" 5% http://localhost/\n`);
});

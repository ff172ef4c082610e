/** Processes of process-compose, and a Procfile, as processes of procman. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { importOf } from "../../../test/support/import-rig.ts";

test("each field of process-compose with an equal is carried", async (context) => {
  const text = `
version: "0.5"
environment: ["COMMON=1"]
vars: { PORT: 8080 }
processes:
  db:
    command: redis-server --port {{.PORT}}
    working_dir: data
    namespace: back
    readiness_probe: { exec: { command: redis-cli ping }, initial_delay_seconds: 1, period_seconds: 2, failure_threshold: 4 }
    liveness_probe: { http_get: { host: 127.0.0.1, port: 8080, path: /up }, period_seconds: 3, timeout_seconds: 2 }
    availability: { restart: on_failure, backoff_seconds: 2, max_restarts: 5 }
    shutdown: { signal: 2, timeout_seconds: 5, parent_only: true }
    success_exit_codes: [0, 3]
  web:
    command: "[[ -f x ]] && node server.js"
    environment: { URL: "http://$HOST" }
    env_file: web.env
    ready_log_line: listening
    depends_on: { db: { condition: process_healthy }, job: { condition: process_completed_successfully } }
    replicas: 2
    log_location: web.log
  job:
    entrypoint: [./job.sh, "two words"]
    schedule: { cron: "0 3 * * *", timezone: Europe/Berlin }
  off:
    command: sleep 1
    disabled: true
    availability: { restart: always, exit_on_end: true }
    is_tty: true
`;
  const { config, notes } = await importOf(context, { "process-compose.yaml": text });
  assert.deepEqual(config.env, { COMMON: "1" });
  const [db, web, job, off] = config.processes;
  assert.deepEqual(db, {
    id: "db",
    cmd: "redis-server --port 8080",
    cwd: "data",
    autostart: true,
    restart: "error",
    restartDelayMs: 2_000,
    restartLimit: 5,
    successExitCodes: [3],
    stopSignal: "SIGINT",
    terminateTimeout: 5,
    killMode: "leader",
    ready: { exec: "redis-cli ping", timeout: 9 },
    health: { http: "http://127.0.0.1:8080/up", interval: 3, timeout: 2, failures: 3 },
    groups: ["back"],
  });
  assert.deepEqual(web, {
    id: "web",
    cmd: "bash -c '[[ -f x ]] && node server.js'",
    autostart: true,
    env: { URL: "http://${HOST}", PC_REPLICA_NUM: "${PROCMAN_CLUSTER_INSTANCE}" },
    envFile: "web.env",
    restart: "never",
    dependsOn: [
      { id: "db", condition: "ready" },
      { id: "job", condition: "finished" },
    ],
    ready: { log: "listening" },
    logger: { stdout: "web.log" },
    cluster: { instances: 2 },
  });
  assert.deepEqual(
    [job?.cmd, job?.cron, job?.timeZone, job?.autostart],
    ["./job.sh 'two words'", "0 3 * * *", "Europe/Berlin", undefined],
  );
  assert.deepEqual([off?.restart, off?.autostart], ["always", undefined]);
  assert.match(notes.join("\n"), /off availability: .*--exit-with off/);
  assert.match(notes.join("\n"), /off is_tty: programs have no terminal/);
});

test("wrong types, unknown conditions and templates are said, and nothing of them is written", async (context) => {
  const text = `processes:
  a: { command: "x {{ .UNKNOWN }}", depends_on: { b: { condition: process_great }, c: {} }, shutdown: 5, replicas: many }
  b: { working_dir: x }
`;
  const { notes, dropped } = await importOf(context, { "process-compose.yml": text });
  assert.deepEqual(dropped, ["b"]);
  for (const part of [
    /a vars: \{\{ \.UNKNOWN \}\} is a template/,
    /a depends_on\.b: has the unknown condition "process_great"/,
    /a depends_on\.c: there is no such process/,
    /a shutdown: is left out: found 5, expected an object/,
    /a replicas: is left out: found "many", expected a number/,
  ])
    assert.match(notes.join("\n"), part);
});

test("a Procfile: the ports of foreman, .env as it is, and the folder of the file", async (context) => {
  const files = {
    "app/Procfile.dev": "# programs\nweb: node server.js -p $PORT\n\nrelease: ./migrate.sh\n",
    "app/.env": "PORT=7000\n",
  };
  const { config, notes } = await importOf(context, files);
  const common = { cwd: "app", autostart: true, stdin: true, envFile: { path: "app/.env", optional: true } };
  assert.deepEqual(config.processes, [
    { id: "web", cmd: "node server.js -p $PORT", ...common, env: { PORT: 7_000 } },
    { id: "release", cmd: "./migrate.sh", ...common, env: { PORT: 7_100 }, restart: "never" },
  ]);
  assert.equal(notes.length, 1);
  await assert.rejects(
    importOf(context, { Procfile: "web: true\nthis is not a program\n" }),
    /Procfile:2:1[\s\S]*expected a line as `web: node server\.js`/,
  );
});

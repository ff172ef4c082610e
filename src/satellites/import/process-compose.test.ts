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
    is_daemon: true
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
  assert.deepEqual([config.env, config.logger], [{ COMMON: "1" }, { console: true }]);
  const [db, web, job, off] = config.processes;
  assert.deepEqual(db, {
    id: "db",
    cmd: "redis-server --port 8080",
    cwd: "data",
    autostart: true,
    restart: "error",
    restartDelayMs: 2_000,
    restartLimit: 5,
    restartResetMs: 2_073_600_000,
    successExitCodes: [3],
    stopSignal: "SIGINT",
    terminateTimeout: 5,
    killMode: "leader",
    ready: { exec: "redis-cli ping", timeout: 2_073_600 },
    health: { http: "http://127.0.0.1:8080/up", interval: 3, timeout: 2, failures: 3 },
    groups: ["back"],
  });
  assert.deepEqual(web, {
    id: "web",
    cmd: "bash -c '[[ -f x ]] && node server.js'",
    autostart: true,
    env: { URL: "http://${HOST:-}", PC_REPLICA_NUM: "${PROCMAN_CLUSTER_INSTANCE}" },
    envFile: "web.env",
    restart: "never",
    dependsOn: [
      { id: "db", condition: "ready" },
      { id: "job", condition: "finished" },
    ],
    ready: { log: "listening", timeout: 2_073_600 },
    logger: { stdout: "web.log.{instance}" },
    cluster: { instances: 2 },
  });
  assert.deepEqual(
    [job?.cmd, job?.cron, job?.timeZone, job?.autostart],
    ["./job.sh 'two words'", "0 3 * * *", "Europe/Berlin", undefined],
  );
  assert.deepEqual([off?.restart, off?.autostart, off?.tty], ["always", undefined, true]);
  assert.match(
    notes.join("\n"),
    /db readiness_probe: others wait for it, however long it takes.* "timeout": 9 in "ready"/,
  );
  assert.match(notes.join("\n"), /off availability: .*--exit-with off/);
  assert.doesNotMatch(notes.join("\n"), /is_tty/);
});

test("what a file leaves out is as process-compose has it: delays, variables without a value, programs that are deferred", async (context) => {
  const text = `
processes:
  again: { command: "echo $$HOME $NAME", availability: { restart: on_failure } }
  fails: { command: x, availability: { restart: exit_on_failure } }
  front: { command: x, is_foreground: true }
  shell: { command: x, is_interactive: true, namespace: [a, b] }
  words: { entrypoint: [x, "$NAME", "$$5"], environment: ["EMPTY=$UNSET", "PATH=bin:$PATH", "N=$PC_REPLICA_NUM"] }
  live: { command: x, liveness_probe: { exec: { command: y, working_dir: z } } }
  line: { command: x, ready_log_line: "listening (on 1.2)" }
  place: { command: x, working_dir: "\${PLACE}", env_file: own.env, availability: { restart: "\${POLICY:-on_failure}" } }
`;
  const { config, notes } = await importOf(context, {
    "process-compose.yaml": text,
    ".env": "PLACE=sub\n",
    "sub/x": "",
  });
  const [again, fails, front, shell, words, live, line, place] = config.processes;
  assert.deepEqual([again?.cmd, again?.restart, again?.restartDelayMs], ["echo $HOME $NAME", "error", 1_000]);
  assert.deepEqual([fails?.restart, fails?.restartDelayMs], ["never", undefined]);
  assert.deepEqual([front?.autostart, shell?.tty, shell?.groups], [undefined, true, ["a", "b"]]);
  assert.deepEqual(
    [words?.cmd, words?.env, words?.pathFirst],
    [`x "\${NAME}" '$5'`, { EMPTY: "${UNSET:-}", N: "${PC_REPLICA_NUM:-}", PC_REPLICA_NUM: "0" }, ["bin"]],
  );
  assert.equal(live?.health, undefined);
  assert.deepEqual(line?.ready, { log: "listening \\(on 1\\.2\\)", timeout: 2_073_600 });
  assert.deepEqual([place?.cwd, place?.envFile, place?.restart], ["sub", "sub/own.env", "error"]);
  for (const part of [
    /live liveness_probe: process-compose restarts only daemons by it.*"health": \{"exec":"cd z && y"/,
    /front is_foreground: .*only started by hand/,
    /place working_dir: has what \$\{PLACE\} is now/,
  ])
    assert.match(notes.join("\n"), part);
});

test("replicas are waited for by their names, and a probe may have the number of the replica", async (context) => {
  const text = `
processes:
  node:
    command: serve --port 822{{ .PC_REPLICA_NUM }}
    replicas: 3
    readiness_probe: { http_get: { port: "822{{ .PC_REPLICA_NUM }}", path: /up } }
  tls: { command: x, readiness_probe: { http_get: { scheme: https, host: localhost, port: 8443, headers: { A: "b c" } } } }
  code: { command: x, readiness_probe: { http_get: { port: 80, status_code: 204 } } }
  all: { command: x, depends_on: { node-0: { condition: process_healthy }, node-1: { condition: process_healthy } } }
`;
  const { config, notes } = await importOf(context, { "process-compose.yaml": text });
  const [node, tls, code, all] = config.processes;
  const timeout = 2_073_600;
  assert.deepEqual(
    [node?.ready, tls?.ready, code?.ready],
    [
      { exec: 'curl -fsS -o /dev/null "http://127.0.0.1:822${PROCMAN_CLUSTER_INSTANCE}/up"', timeout },
      { exec: `curl -fsS -o /dev/null -H 'A: b c' "https://localhost:8443/"`, timeout },
      { exec: `[ "$(curl -sS -o /dev/null -w '%{http_code}' "http://127.0.0.1:80/")" = 204 ]`, timeout },
    ],
  );
  assert.deepEqual(all?.dependsOn, [{ id: "node", condition: "ready" }]);
  assert.match(notes.join("\n"), /tls readiness_probe\.http_get: is asked by curl/);
});

test("without expansion, dollar signs are those of the shell", async (context) => {
  const text = `
disable_env_expansion: true
processes:
  a: { command: "echo $$ $HOME", environment: ["A=\${B}"], working_dir: "x" }
`;
  const { config } = await importOf(context, { "process-compose.yaml": text });
  assert.deepEqual([config.processes[0]?.cmd, config.processes[0]?.env], ["echo $$ $HOME", { A: "$${B}" }]);
});

test("a schedule doesn't start a disabled process; of two readiness conditions, a note names the one that is left out", async (context) => {
  const text = `processes:
  a: { command: x, disabled: true, schedule: { cron: "0 3 * * *" } }
  b: { command: x, ready_log_line: up, readiness_probe: { exec: { command: check } } }
`;
  const { config, notes } = await importOf(context, { "process-compose.yml": text });
  const [a, b] = config.processes;
  assert.deepEqual([a?.cron, a?.autostart], [undefined, undefined]);
  assert.match(notes.join("\n"), /a schedule: is left out, because the process is disabled/);
  assert.deepEqual(b?.ready, { exec: "check", timeout: 2_073_600 });
  assert.match(notes.join("\n"), /b ready_log_line: "ready" is one condition: here it is the probe/);
});

test("watch: every file below a path, as far as include and exclude say, and what process-compose ignores", async (context) => {
  const text = `processes:
  api:
    command: x
    working_dir: api
    depends_on: { assets: {} }
    watch: { debounce: 1.5s, paths: [{ path: ./src, exclude: ["gen/**", "*_test.go"] }, { path: ../go.mod }] }
  assets:
    command: x
    watch: { cascade: true, max_entries: 9, paths: [{ path: assets, include: ["*.css", "img/*.png"] }] }
  off: { command: x, disabled: true, watch: { paths: [{ path: src }] } }
  old: { command: x, watch: [src] }
  none: { command: x, watch: { paths: [] } }
`;
  const { config, notes } = await importOf(context, { "process-compose.yml": text, "go.mod": "" });
  const [api, assets, ...others] = config.processes;
  assert.deepEqual(api?.watch, ["api/src/**/*", "go.mod"]);
  assert.deepEqual(api?.dependsOn, [{ id: "assets", condition: "started" }]);
  assert.deepEqual(assets?.watch, ["assets/**/*.css", "assets/img/*.png"]);
  assert.deepEqual(
    others.map(({ watch }) => watch),
    [undefined, undefined, undefined],
  );
  const { skip } = config.watcher as { readonly skip: readonly string[] };
  for (const pattern of ["**/node_modules/**", "**/*.log"]) assert.ok(skip.includes(pattern), pattern);
  const own = [...skip, "api/src/gen/**", "api/src/**/*_test.go"];
  assert.deepEqual([api?.watcher, assets?.watcher], [{ interval: 1_500, skip: own }, { interval: 300 }]);
  assert.deepEqual(notes, [
    'assets watch.cascade: what depends on it restarts with it by { "id": "assets", "restart": true } in its "dependsOn"',
    'off watch: is left out, because the process is disabled: "watch" would start it here',
    "old watch: is left out: found a list, expected an object",
    "none watch: names no path, so nothing is watched",
  ]);
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
    "app/.env": "PORT=7000\nTEXT=one # two\n# no\nQUOTED='a # b'\n",
  };
  const { config, notes } = await importOf(context, files);
  const common = {
    cwd: "app",
    autostart: true,
    stdin: true,
    restart: "never",
    terminateTimeout: 5,
    envFile: { path: "app/.env", optional: true },
  };
  assert.deepEqual(config.processes, [
    { id: "web", cmd: "node server.js -p $PORT", ...common, env: { PORT: 7_000 } },
    { id: "release", cmd: "./migrate.sh", ...common, env: { PORT: 7_100 } },
  ]);
  assert.deepEqual(config.logger, { console: true });
  for (const part of [
    /^Procfile: foreman ends all programs when one has ended.*--exit-with ID/m,
    /^\.env: a blank and # are part of the value for foreman.*put the value of TEXT in quotes/m,
    /release release: runs before a deployment there/,
  ])
    assert.match(notes.join("\n"), part);
  await assert.rejects(
    importOf(context, { Procfile: "web: true\nthis is not a program\n" }),
    /Procfile:2:1[\s\S]*expected a line such as `web: node server\.js`$/m,
  );
  for (const [line, end] of [
    ["web:", ": web has no command"],
    ["wéb.js: x", '; a name has only letters (a to z), digits, "_" and "-"'],
    ["we b: x", '; a name has only letters (a to z), digits, "_" and "-"'],
    ["  web: x", ", without blanks in front of its name"],
    [": x", ""],
  ] as const)
    await assert.rejects(importOf(context, { Procfile: `${line}\n` }), (error: Error) =>
      error.message.includes(`expected a line such as \`web: node server.js\`${end}`),
    );
});

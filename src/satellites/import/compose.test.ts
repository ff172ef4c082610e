/** Services of compose as processes of procman. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { importOf } from "../../../test/support/import-rig.ts";

test("each field of a service with an equal is carried", async (context) => {
  const text = `
name: Shop
services:
  db:
    image: redis:7
    command: redis-server --port 7000 --requirepass "\${PASSWORD:-a b}"
    healthcheck: { test: ["CMD", redis-cli, ping], interval: 5s, timeout: 2s, retries: 4, start_period: 1m30s }
  migrate:
    build: .
    entrypoint: ["./migrate.sh", "two words"]
    depends_on: { db: { condition: service_healthy, restart: true } }
  web:
    build: ./web
    command: [node, server.js]
    ports: ["127.0.0.1:3000:3000"]
    environment: [NODE_ENV=production, "URL=http://$HOST/\${PATH_NAME}", "PRICE=$$5", INHERITED]
    env_file: [{ path: .env, required: false }, common.env]
    depends_on: { migrate: { condition: service_completed_successfully } }
    restart: on-failure:3
    stop_grace_period: 5s
    stop_signal: SIGQUIT
    deploy: { replicas: 2, resources: { limits: { memory: 512M, cpus: "1.5" } } }
    ulimits: { nofile: { soft: 1024, hard: 4096 } }
  debug:
    extends: { service: web }
    deploy: { replicas: 1 }
    profiles: [debug]
`;
  const { config, notes } = await importOf(context, { "compose.yaml": text });
  assert.equal(config.name, "shop");
  const [db, migrate, web, debug] = config.processes;
  assert.deepEqual(db, {
    id: "db",
    cmd: 'redis-server --port 7000 --requirepass "${PASSWORD:-a b}"',
    autostart: true,
    restart: "never",
    ready: { exec: "redis-cli ping", timeout: 110 },
    health: { exec: "redis-cli ping", interval: 5, timeout: 2, failures: 4, startPeriod: 90 },
  });
  assert.deepEqual(
    [migrate?.cmd, migrate?.dependsOn],
    ["./migrate.sh 'two words'", [{ id: "db", condition: "ready", restart: true }]],
  );
  assert.deepEqual(web, {
    id: "web",
    cmd: "node server.js",
    cwd: "web",
    autostart: true,
    restart: "error",
    restartLimit: 3,
    stopSignal: "SIGQUIT",
    terminateTimeout: 5,
    env: { NODE_ENV: "production", URL: "http://${HOST}/${PATH_NAME}", PRICE: "$5" },
    envFile: [{ path: ".env", optional: true }, "common.env"],
    dependsOn: [{ id: "migrate", condition: "finished" }],
    cluster: { instances: 2, startPort: 3001, commonPort: 3000, hostname: "127.0.0.1" },
    memoryMax: "512MiB",
    cpuQuota: 150,
    ulimits: { nofile: 1_024 },
  });
  assert.deepEqual([debug?.cmd, debug?.autostart, debug?.cluster], ["node server.js", undefined, undefined]);
  assert.deepEqual(config.profiles, { debug: { processes: [{ id: "debug", autostart: true }] } });
  assert.match(notes.join("\n"), /db image: redis:7 isn't used/);
  assert.match(notes.join("\n"), /web ports: each instance must listen/);
  assert.match(notes.join("\n"), /web ports: behind the load balancer all clients are 127\.0\.0\.1/);
});

test("what a service runs may be in its Dockerfile, or in its image, which then runs in a container", async (context) => {
  const text = `services:
  built: { build: { context: ., dockerfile: Other }, restart: always }
  shell: { build: shell }
  image: { image: "nginx:1", ports: ["80:80"], environment: { A: b } }
  nothing: { build: missing }
`;
  const files = {
    "docker-compose.yml": text,
    Other: 'FROM x\nENTRYPOINT ["node", "--enable-source-maps"]\nCMD ["server.js", \\\n  "two words"]\n',
    "shell/Dockerfile": "FROM x\nCMD echo $HOME && sleep 1\n",
  };
  const { config, dropped } = await importOf(context, files);
  assert.deepEqual(
    config.processes.map(({ cmd }) => cmd),
    [
      "node --enable-source-maps server.js 'two words'",
      "/bin/sh -c 'echo $HOME && sleep 1'",
      "exec docker run --rm --name image -p 80:80 -e A nginx:1",
    ],
  );
  assert.deepEqual(dropped, ["nothing"]);
});

test("settings of containers, unknown fields and contradictions are comments", async (context) => {
  const text = `services:
  a:
    command: "true"
    volumes: [./data:/data]
    networks: [x]
    cap_add: [SYS_ADMIN]
    restart: sometimes
    depends_on: [b, a2]
    comand: x
    ports: ["8080:80"]
    environment: { A: "\${B:?must be set}" }
  a2: 5
networks: { x: {} }
`;
  const { notes, dropped, config } = await importOf(context, { "compose.yaml": text });
  assert.deepEqual(dropped, ["a2"]);
  assert.deepEqual(config.processes[0]?.env, { A: "${B}" });
  for (const part of [
    /^networks: all programs see the network/m,
    /a volumes: all programs see the files/,
    /a cap_add: procman has no sandbox/,
    /a restart: is "sometimes"; it is taken for "no"/,
    /a depends_on\.b: there is no such service/,
    /a comand: compose has no such field.*Did you mean "command"\?/,
    /a ports: the program listens on 80, and nothing maps 8080 to it/,
    /a environment\.A: \$\{B:\?must be set\} is written as a plain variable/,
  ])
    assert.match(notes.join("\n"), part);
});

test("a syntax error, and aliases that explode, are errors with their place", async (context) => {
  await assert.rejects(importOf(context, { "compose.yaml": "services:\n  a: { command: true\n  b: 1\n" }), {
    code: "configuration-invalid",
    message: /Cannot import compose\.yaml:\n\ncompose\.yaml:\d+:\d+\n/,
  });
  const bomb = [
    "a: &a [x, x, x, x, x, x, x, x, x]",
    ..."bcdefghi".split("").map((name, index) => `${name}: &${name} [${`*${"abcdefgh"[index]},`.repeat(9)}]`),
  ];
  await assert.rejects(
    importOf(context, { "compose.yaml": `services: {}\n${bomb.join("\n")}\n` }),
    /compose\.yaml:1:1[\s\S]*[Aa]lias/,
  );
});

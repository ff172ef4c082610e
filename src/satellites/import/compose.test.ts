/** Services of compose as processes of procman. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { importOf } from "../../../test/support/import-rig.ts";

test("each field of a service with an equal is carried", async (context) => {
  const text = `
name: Shop
services:
  db:
    build: .
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
    terminateTimeout: 10,
    ready: { exec: "redis-cli ping", timeout: 2_073_600 },
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
    env: { NODE_ENV: "production", URL: "http://${HOST:-}/${PATH_NAME:-}", PRICE: "$5" },
    envFile: [{ path: ".env", optional: true }, "common.env"],
    dependsOn: [{ id: "migrate", condition: "finished" }],
    cluster: { instances: 2, startPort: 3001, commonPort: 3000, hostname: "127.0.0.1" },
    memoryMax: "512MiB",
    cpuQuota: 150,
    ulimits: { nofile: 1_024 },
  });
  assert.deepEqual([debug?.cmd, debug?.autostart, debug?.cluster], ["node server.js", undefined, undefined]);
  assert.deepEqual(config.profiles, { debug: { processes: [{ id: "debug", autostart: true }] } });
  assert.deepEqual(config.logger, { console: true });
  assert.match(
    notes.join("\n"),
    /db healthcheck: compose lets an unhealthy service run.*others wait.*"health": \{"exec":"redis-cli ping","interval":5,"timeout":2,"failures":4,"startPeriod":90\}/,
  );
  assert.match(notes.join("\n"), /web ulimits\.nofile: the hard limit is 4096: procman sets both to one value/);
  assert.match(notes.join("\n"), /web ports: each instance must listen/);
  assert.match(notes.join("\n"), /web ports: behind the load balancer all clients are 127\.0\.0\.1/);
});

test("what a service runs may be in its Dockerfile, with its variables and signal, those of the stage that is built", async (context) => {
  const text = `services:
  built: { build: { context: ., dockerfile: Other }, restart: always, environment: { NAME: own } }
  shell: { build: { context: shell, target: dev } }
  nothing: { build: missing }
`;
  const files = {
    "docker-compose.yml": text,
    Other: `FROM x AS deps
CMD ["unused"]
ENV SKIPPED=1
FROM x
ARG VERSION=2
ENV NODE_ENV=production PORT="3000" \\
  # a comment
  LABEL="v\${VERSION} \${NODE_ENV:-alone}"
ENV NAME unused
ENV TEXT two $PORT words
ENV PATH=/app/bin:$PATH
USER node
STOPSIGNAL SIGINT
ENTRYPOINT ["node", "--enable-source-maps"]
CMD ["server.js", \\
  "two words"]
`,
    "shell/Dockerfile": "FROM x as dev\nENV MODE=dev\nCMD echo $HOME && sleep 1\nFROM dev\nCMD true\n",
  };
  const { config, dropped, notes } = await importOf(context, files);
  const [built, shell] = config.processes;
  assert.deepEqual(
    [built?.cmd, built?.env, built?.stopSignal],
    [
      "node --enable-source-maps server.js 'two words'",
      { NODE_ENV: "production", PORT: "3000", LABEL: "v2 alone", NAME: "own", TEXT: "two 3000 words" },
      "SIGINT",
    ],
  );
  assert.deepEqual([shell?.cmd, shell?.env], ["/bin/sh -c 'echo $HOME && sleep 1'", { MODE: "dev" }]);
  assert.deepEqual(dropped, ["nothing"]);
  assert.match(notes.join("\n"), /built Dockerfile: PATH is that of this host; the Dockerfile has \/app\/bin/);
  assert.match(notes.join("\n"), /built Dockerfile: has USER node/);
});

/** The project is called shop. */
const containersOf = (context: Parameters<typeof importOf>[0], services: string, more: Record<string, string> = {}) =>
  importOf(context, { "compose.yaml": `name: shop\nservices:\n${services}`, ...more });

test("an image runs in a container, with the arguments and the entrypoint that the file gives it", async (context) => {
  const { config, notes } = await containersOf(
    context,
    `  mysql: { image: "mysql:8", command: --default-authentication-plugin=x }
  minio: { image: minio/minio, command: [server, "/data dir", "$$HOME", "\${ADDRESS:-:9000}"] }
  init: { image: "x:\${TAG:-1}", entrypoint: ["/init", "-v"], command: go }
  bare: { image: redis }
`,
  );
  const run = (id: string): string => `exec docker run --rm --name shop-${id} --network shop --network-alias ${id}`;
  assert.deepEqual(
    config.processes.map(({ cmd }) => cmd),
    [
      `${run("mysql")} mysql:8 --default-authentication-plugin=x`,
      `${run("minio")} minio/minio server '/data dir' '$HOME' "\${ADDRESS:-:9000}"`,
      `${run("init")} --entrypoint /init "x:\${TAG:-1}" -v go`,
      `${run("bare")} redis`,
    ],
  );
  const remove = "docker rm -f shop-mysql >/dev/null 2>&1 || true";
  assert.deepEqual(config.processes[0]?.hooks, {
    beforeStart: `${remove}; docker network create shop >/dev/null 2>&1 || true`,
    afterStop: remove,
  });
  assert.deepEqual([config.processes[0]?.restart, config.processes[0]?.terminateTimeout], ["never", 10]);
  assert.match(notes.join("\n"), /bare image: runs in a container as before, and needs docker/);
});

test("the settings of a container are options of docker run, and none of them applies to docker itself", async (context) => {
  const { config, notes } = await containersOf(
    context,
    `  db:
    image: postgres:16
    user: "999"
    working_dir: /srv
    mem_limit: 512m
    cpus: 1.5
    ulimits: { nofile: { soft: 1024, hard: 4096 }, nproc: 5 }
    cap_add: [SYS_NICE]
    read_only: true
    extra_hosts: { up: 10.0.0.1 }
    ports: ["127.0.0.1:5432:5432", { target: 80, published: 8080 }, 9000]
    volumes: [data:/var/lib/data, "./conf:/etc/conf:ro", "~/x:/x", { type: bind, source: ../y, target: /y }, /anonymous, out:/out]
    environment: { POSTGRES_PASSWORD: "\${PASSWORD}", PATH: /usr/bin, INHERITED: }
    env_file: [common.env, gone.env]
    secrets: [key]
    container_name: db
    blkio_config: { weight: 1 }
volumes: { data: {}, out: { external: true } }
`,
    { "common.env": "A=1\nB=2\n", ".env": "PASSWORD=x\nPORT=1\n" },
  );
  const [db] = config.processes;
  assert.equal(
    db?.cmd,
    'exec docker run --rm --name shop-db --read-only --user 999 --cpus 1.5 --workdir /srv --memory 512m --cap-add SYS_NICE --add-host up:10.0.0.1 --ulimit nofile=1024:4096 --ulimit nproc=5 -p 127.0.0.1:5432:5432 -p 8080:80 -p 9000 -v shop_data:/var/lib/data -v "${PWD}/conf:/etc/conf:ro" -v "${HOME}/x:/x" -v "${PWD}/../y:/y" -v /anonymous -v out:/out -e A -e B -e POSTGRES_PASSWORD -e INHERITED -e PATH=/usr/bin postgres:16',
  );
  assert.deepEqual(
    [db.user, db.memoryMax, db.cpuQuota, db.ulimits, db.cwd, db.pathFirst, db.env, db.envFile, db.stopSignal],
    [
      ...Array(6).fill(undefined),
      { POSTGRES_PASSWORD: "${PASSWORD:-}" },
      [{ path: ".env", optional: true }, "common.env", "gone.env"],
      "SIGINT",
    ],
  );
  for (const part of [
    /db env_file: gone\.env isn't here/,
    /db container_name: is the name of the project and the id here/,
    /db blkio_config: isn't carried/,
  ])
    assert.match(notes.join("\n"), part);
  assert.doesNotMatch(notes.join("\n"), /all programs see the files of this host/);
});

test("a check runs where the program does, others wait for it without a limit, and it never becomes a restart", async (context) => {
  const { config, notes } = await containersOf(
    context,
    `  db:
    image: postgres
    healthcheck: { test: [CMD-SHELL, "pg_isready -U $$USER -d \${DATABASE}"], retries: 2, interval: 1s }
  cache: { image: redis, healthcheck: { test: [CMD, redis-cli, "two words"] } }
  web:
    build: .
    command: node server.js
    healthcheck: { test: "curl -f localhost:$\${PORT}", interval: 5s }
    depends_on: { db: { condition: service_healthy }, cache: { condition: service_started } }
  worker: { build: ., command: node worker.js, depends_on: { web: { condition: service_healthy } } }
  off: { image: x, healthcheck: { test: [NONE] } }
`,
  );
  const [db, cache, web] = config.processes;
  assert.deepEqual(
    [db?.ready, cache?.ready, web?.ready],
    [
      { exec: 'docker exec shop-db /bin/sh -c "pg_isready -U \\$USER -d ${DATABASE}"', timeout: 2_073_600 },
      undefined,
      { exec: "curl -f localhost:${PORT}", timeout: 2_073_600 },
    ],
  );
  assert.deepEqual(
    config.processes.filter((each) => "health" in each),
    [],
  );
  assert.match(
    notes.join("\n"),
    /cache healthcheck: compose lets an unhealthy service run; to restart it: "health": \{"exec":"docker exec shop-cache redis-cli 'two words'"/,
  );
  assert.match(notes.join("\n"), /^services: names of services work between containers only \(db, cache, off\)/m);
});

test("replicas of an image have names of their own, a port of the range each, or one behind the load balancer", async (context) => {
  const { config } = await containersOf(
    context,
    `  range: { image: x, ports: ["8090-8092:80"], deploy: { replicas: 3 } }
  one: { image: x, ports: ["8080:80"], scale: 2 }
  any: { image: x, ports: ["80"], scale: 2 }
`,
  );
  const [range, one, any] = config.processes;
  assert.deepEqual(
    [range?.cluster, one?.cluster, any?.cluster],
    [
      { instances: 3, startPort: 8_090 },
      { instances: 2, startPort: 8_081, commonPort: 8_080, hostname: "0.0.0.0" },
      { instances: 2 },
    ],
  );
  const number = "$((PROCMAN_CLUSTER_INSTANCE + 1))";
  assert.match(String(range?.cmd), / -p \{port\}:80 x$/);
  assert.ok(String(range?.cmd).startsWith(`exec docker run --rm --name shop-range-${number} `));
  assert.match(String(one?.cmd), / -p 127\.0\.0\.1:\{port\}:80 x$/);
  assert.match(String(any?.cmd), / -p 80 x$/);
});

test("variables: an unset one is empty; .env is for what has variables, and its other names are said", async (context) => {
  const { config, notes } = await containersOf(
    context,
    `  plain: { build: ., command: node plain.js }
  web:
    build: .
    command: 'node web.js \${UNSET} \${TLS:+--tls}'
    environment: { OPT: "\${UNSET}", SECRET: "\${SECRET}", PATH: "./bin:\${PATH}" }
    restart: \${RESTART:-always}
    mem_limit: \${LIMIT}
`,
    { ".env": "SECRET=x\nPORT=9000\nNODE_ENV=test\nLIMIT=64m\n" },
  );
  const [plain, web] = config.processes;
  assert.equal(config.envFile, undefined);
  assert.equal(plain?.envFile, undefined);
  assert.deepEqual(web?.env, { OPT: "${UNSET:-}", SECRET: "${SECRET:-}" });
  assert.deepEqual(
    [web.cmd, web.restart, web.memoryMax, web.pathFirst, web.envFile],
    ["node web.js ${UNSET} ${TLS:+--tls}", "always", "64MiB", ["./bin"], { path: ".env", optional: true }],
  );
  for (const part of [
    /web \.env: is read for the variables of the file, and here the program gets all of it, too: PORT, NODE_ENV, LIMIT/,
    /web mem_limit: has what \$\{LIMIT\} is now/,
  ])
    assert.match(notes.join("\n"), part);
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

test("a note names a port that compose opens on one address only: a program on the host opens it on all", async (context) => {
  const text = 'services: { a: { build: ., command: "true", ports: ["127.0.0.1:80:80", "0.0.0.0:81:81", "82:82"] } }\n';
  const { notes } = await importOf(context, { "compose.yaml": text });
  assert.deepEqual(notes, [
    "a ports: only 127.0.0.1 is open there: let the program listen on that address, or all can reach it",
  ]);
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

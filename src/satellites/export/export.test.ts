import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, fileOf, notesAbout, PROJECT } from "../../../test/support/export-rig.ts";
import { PROCESS } from "../../core/config/fields/process-fields.ts";
import { MARKER, noteTexts, TARGETS, type TargetName } from "./workload.ts";

const WEB = { id: "web", cmd: "node server.js", autostart: true };
const FRONTED = { ...WEB, cluster: { instances: 2, startPort: 3001, commonPort: 3000 } };

/** All text of an export, with its notes. */
function allOf(target: TargetName, config?: unknown): string {
  const { files, notes } = exported(target, config);
  return [...files.map(({ text }) => text), ...noteTexts(notes)].join("\n");
}

test("every file begins with the line that allows to replace it, and the file or the report says what is not carried", () => {
  for (const target of TARGETS) {
    const { files, notes } = exported(target);
    for (const { name, text } of files) assert.ok(text.slice(0, 400).includes(MARKER), `${target}: ${name}`);
    const told = files.map(({ text }) => text.replaceAll('\\"', '"')).join("");
    for (const { text, process } of notes.filter((note) => note.process !== undefined))
      assert.ok(told.includes(text), `${target}: ${process}: ${text}`);
  }
});

test("no target gets a secret: neither from files and variables, nor values that are named like one or are in an address", () => {
  process.env.EXPORT_TEST_TOKEN = "s3cret-of-the-environment";
  const processes = [
    {
      ...FRONTED,
      envFile: "web.env",
      env: {
        API_KEY: "s3cret-key",
        DATABASE: "postgres://shop:s3cret-password@db/shop",
        TOKEN: { env: "EXPORT_TEST_TOKEN" },
        URL: "http://${EXPORT_TEST_TOKEN}@x/",
        CERTIFICATE: { file: "/run/secrets/certificate" },
        LEVEL: "debug",
      },
    },
  ];
  for (const target of TARGETS) {
    const text = allOf(target, { name: "shop", processes });
    assert.doesNotMatch(text, /s3cret/, target);
    if (target !== "haproxy") assert.match(text, /debug/, target);
    if (target !== "haproxy") assert.match(text, /EXPORT_TEST_TOKEN/, `${target} names the variable`);
  }
  delete process.env.EXPORT_TEST_TOKEN;
});

test("PORT of an instance is written unless the env files, of which the names are read, set it; a file that can't be read is said", () => {
  const config = { processes: [{ ...FRONTED, envFile: ["web.env", { path: "more.env", optional: true }] }] };
  for (const target of ["systemd", "compose", "swarm", "kubernetes", "nomad", "procfile"] as const) {
    const port = /\bPORT\b\W+(?:(?:name|value|text)\W+)*(?:3001|\$\{NOMAD_PORT_instance\})/;
    const read = exported(target, config, { namesIn: (file) => (file.endsWith("/web.env") ? ["LOG_LEVEL"] : []) });
    assert.match(read.files.map(({ text }) => text).join(), port, target);
    assert.doesNotMatch(noteTexts(read.notes).join("\n"), /can't be read/, target);
    const set = exported(target, config, { namesIn: (file) => (file.endsWith("/more.env") ? ["PORT"] : []) });
    assert.doesNotMatch(set.files.map(({ text }) => text).join(), port, target);
    const unread = exported(target, config, { namesIn: () => undefined });
    assert.match(unread.files.map(({ text }) => text).join(), port, target);
    assert.match(
      noteTexts(unread.notes).join("\n"),
      /web(-1, web-2)?: envFile: can't be read here: if it sets PORT, remove the PORT/,
      target,
    );
  }
});

test("plugins that nothing runs any more are in the report and in each file, and so is what is lost with a container", () => {
  const config = {
    processes: [FRONTED],
    plugins: [{ url: "webhook", options: { url: "https://example.com/" } }, { url: "./mine.mjs" }],
  };
  const lost = "plugins: %s runs none (webhook, ./mine.mjs): alerts, logs and metrics that they send need another way";
  for (const target of TARGETS) {
    const { files, notes } = exported(target, config);
    const expected = lost.replace("%s", target);
    assert.equal(noteTexts(notes).includes(expected), target !== "haproxy", target);
    for (const { name, text } of files)
      assert.equal(text.includes(expected), target !== "haproxy", `${target}: ${name}`);
    const isContainer = /compose|swarm|kubernetes/.test(target);
    assert.equal(
      /files that a program writes are gone with its container/.test(noteTexts(notes).join()),
      isContainer,
      target,
    );
  }
});

/** A value for each field that says more than its default. */
const FIELDS: Readonly<Record<string, unknown>> = {
  ...{
    cwd: "sub",
    env: { LEVEL: "debug" },
    envFile: "web.env",
    path: "bin",
    pathFirst: "bin",
    pidFile: "web.pid",
    timeout: 5,
  },
  ...{
    logger: { stdout: "web.log" },
    watch: ["src"],
    restart: "never",
    restartLimit: 3,
    restartDelayMs: 500,
    terminate: "0 3 * * *",
  },
  ...{
    successExitCodes: [3],
    terminateGracePeriod: 3,
    terminateTimeout: 7,
    stopSignal: "SIGINT",
    reloadSignal: "SIGHUP",
    node: true,
  },
  ...{ stdin: true, tty: true, port: 3001, idle: { after: 300, port: 3002 } },
  ...{
    ready: { log: "up" },
    health: { port: 80 },
    dependsOn: ["other"],
    hooks: { beforeStart: "true" },
    memoryLimit: "100MB",
  },
  ...{
    memoryMax: "100MB",
    cpuQuota: 50,
    ulimits: { nofile: 100 },
    umask: "077",
    nice: 3,
    ioNice: { class: "idle" },
    oomScoreAdjust: 3,
  },
  ...{ user: 1000, group: 1000, groups: ["shop"], cluster: { instances: 2, startPort: 3001 } },
};
const OF_SCHEDULES = { timeZone: "Asia/Tokyo", catchUp: true, jitter: 20, overrun: true } as const;
const OF_CLUSTERS = { scale: { max: 8, targets: { cpu: 70 } } } as const;
/** `restart` tells of the restarts of a Procfile; foreman knows nothing else of it. */
const OF_RESTARTS = ["restartLimit", "restartDelayMs", "successExitCodes"];
/**
 * They change no program: which of its environment procman passes on, when a start counts as done or restarts are counted
 * anew, and how a start by hand is shown (a task is exported as all that starts by hand). `watch` tells of `watcher`, and
 * what a process takes by `extends` is in its other fields.
 */
const UNSEEN = ["inheritEnv", "minUptimeMs", "restartResetMs", "killMode", "task", "watcher", "extends"];

test("each field of a process changes what is exported, or is told as lost", () => {
  const text = (target: TargetName, fields: object): string =>
    allOf(target, {
      processes: [
        { ...WEB, ...fields },
        { ...WEB, id: "other" },
      ],
    });
  const job = { autostart: false, cron: "0 3 * * *" };
  for (const target of TARGETS.filter((each) => each !== "haproxy")) {
    const changes = (name: string, value: unknown, base: object): boolean =>
      text(target, { ...base, [name]: value }) !== text(target, base);
    for (const [name, value] of Object.entries(FIELDS))
      if (target !== "procfile" || !OF_RESTARTS.includes(name))
        assert.ok(changes(name, value, {}), `${target}: ${name}`);
    for (const [name, value] of Object.entries(OF_CLUSTERS))
      assert.ok(changes(name, value, { cluster: { instances: 2 } }), `${target}: ${name}`);
    if (target === "procfile") continue;
    for (const [name, value] of Object.entries(OF_SCHEDULES))
      assert.ok(changes(name, value, job), `${target}: ${name}`);
  }
  const known = [
    ...Object.keys(FIELDS),
    ...Object.keys(OF_SCHEDULES),
    ...Object.keys(OF_CLUSTERS),
    ...UNSEEN,
    "id",
    "cmd",
    "worker",
    "autostart",
    "cron",
  ];
  assert.deepEqual(
    Object.keys(PROCESS).filter((name) => !known.includes(name)),
    [],
    "fields without a value above",
  );
});

test("no target gets a secret of a command, a hook or a check; the report says where it was", () => {
  const processes = [
    {
      ...FRONTED,
      cmd: "app --password=s3cret postgres://me:s3cret@db",
      hooks: { beforeStart: "migrate --token s3cret", afterStop: "curl -u me:s3cret h" },
      health: { exec: "check -H 'Authorization: Bearer s3cret'" },
    },
    { id: "job", worker: ["job.js", "--api-key", "s3cret"], autostart: true },
  ];
  for (const target of TARGETS) {
    const { files, notes } = exported(target, { name: "shop", processes });
    assert.doesNotMatch(JSON.stringify({ files, notes }), /s3cret/, target);
    if (target !== "haproxy") assert.match(noteTexts(notes).join("\n"), /cmd: what may be secret .*\*\*\*/, target);
  }
});

test("instances are replicas where they differ by what the target gives them, else they are exported one by one", () => {
  const cluster = { instances: 2, startPort: 3001 };
  const services = (process: object): readonly string[] =>
    [
      ...fileOf(exported("compose", { processes: [{ ...WEB, cluster, ...process }] }), "compose.yaml").matchAll(
        /^ {2}(\S+):$/gm,
      ),
    ].map(([, id = ""]) => id);
  assert.deepEqual(services({}), ["web"]);
  assert.deepEqual(services({ cmd: "node server.js --port {port}" }), ["web"], "each container has the first port");
  assert.deepEqual(services({ cmd: "node server.js --name w{instance}" }), ["web-1", "web-2"]);
  const jobs = (cmd: string): readonly string[] =>
    exported("nomad", { processes: [{ ...WEB, cmd, cluster }] }).files.map(({ name }) => name);
  assert.deepEqual(jobs("node server.js"), ["procman-web.nomad.json"]);
  assert.deepEqual(
    jobs("node server.js {port}"),
    ["procman-web-1.nomad.json", "procman-web-2.nomad.json"],
    "Nomad would choose other ports",
  );
});

test("what sleeps without clients listens itself where they come, and no time of it changes with that", () => {
  const process = { ...WEB, cmd: "node server.js --port {port}", port: 5000, ready: { port: 5000 } };
  const text = allOf("systemd", {
    processes: [{ ...process, terminateTimeout: 5, restartDelayMs: 5_000, idle: { port: 3000, after: 60 } }],
  });
  assert.match(text, /--port 3000/);
  assert.match(text, /PORT=3000/);
  assert.match(text, /127\.0\.0\.1\/3000/);
  assert.match(text, /TimeoutStopSec=5/);
  assert.match(text, /RestartSec=5/);
  assert.doesNotMatch(text, /5000/);
});

test("HAProxy in place of procman's load balancer: what depends on that one is named", () => {
  const cluster = { instances: 1, startPort: 3001, commonPort: 3000 };
  const { notes } = exported("haproxy", {
    processes: [{ ...WEB, cluster, scale: { min: 0, max: 4 }, idle: { after: 60 } }],
  });
  assert.deepEqual(
    notes.map(({ field }) => field),
    ["cluster.commonPort", "idle", "scale"],
  );
});

test("what a target can't do at all blocks the export of the process, with the remedy", () => {
  const blocked = (target: TargetName, processes: readonly object[]): readonly string[] =>
    noteTexts(exported(target, { processes }).notes.filter(({ blocks }) => blocks === true));
  const shared = [{ ...WEB, cluster: { instances: 2, mode: "share", commonPort: 3000 } }];
  for (const target of ["compose", "swarm", "kubernetes", "nomad"] as const)
    assert.match(blocked(target, shared).join(), /^web: cluster\.mode: .*"balance"/);
  assert.deepEqual(blocked("systemd", shared), [], "systemd passes sockets, too");
  assert.match(blocked("haproxy", [WEB]).join(), /no cluster has a commonPort .*; give one/);
  assert.match(
    blocked("kubernetes", [{ id: "job", cmd: "true", cron: "*/10 * * * * *" }]).join(),
    /^job: cron: .*can't express \*\/10/,
  );
  assert.match(blocked("systemd", [{ id: "job", cmd: "true", cron: "0 3 15W * *" }]).join(), /^job: cron: .*15W/);
  assert.match(
    blocked("procfile", [{ ...WEB, cmd: "a\nb" }]).join(),
    /^web: a Procfile has one line .* line break; put/,
  );
  assert.match(blocked("procfile", [{ ...WEB, env: { TEXT: "a\nb" } }]).join(), /^web: a Procfile has one line/);
  assert.match(blocked("procfile", [{ ...WEB, cwd: "a\nb" }]).join(), /^web: a Procfile has one line/);
  assert.match(
    blocked("systemd", [{ ...WEB, cmd: "+server" }]).join(),
    /^web: cmd: begins with a character that changes how systemd runs it/,
  );
  for (const end of ["\\", " ", "\n", "\u2028"]) {
    const name = `x${end}`;
    const [logger, env] = [{ stdout: `o${end}`, stderr: `e${end}` }, { KEY: { file: name } }];
    const fields = ["cwd", "envFile", "env", "logger.stdout", "logger.stderr"];
    const notes = fields.map(
      (field) =>
        `web: ${field}: ends with a backslash or a blank, or has a line break, which a unit can't have; choose another name`,
    );
    assert.deepEqual(
      blocked("systemd", [{ ...WEB, cwd: name, envFile: [name], env, logger }]),
      notes,
      JSON.stringify(end),
    );
  }
  assert.match(
    blocked("kubernetes", [WEB, { ...WEB, id: "web_1" }, { ...WEB, id: "web.1" }]).join(),
    /^web\.1: id: .*web-1/,
  );
  assert.match(
    blocked("procfile", [
      { ...WEB, id: "web_1" },
      { ...WEB, id: "web.1" },
    ]).join(),
    /^web\.1: id: .*web_1/,
  );
  assert.match(blocked("compose", [FRONTED, { ...WEB, id: "balancer" }]).join(), /^balancer: id: /);
});

test("in containers the addresses of other processes become theirs, also as defaults, and the report says so", () => {
  const compose = exported("compose");
  const text = fileOf(compose, "compose.yaml");
  assert.match(text, /DATABASE: redis:\/\/\$\{DB_HOST:-db\}:7000/);
  assert.match(text, /http:\/\/balancer:3000\//, "the common port is that of the balancer");
  assert.match(notesAbout(compose, "env.DATABASE").join(), /^web: the address of this machine became db:7000/);
  assert.match(
    fileOf(exported("swarm"), "stack.yaml"),
    /http:\/\/web:3001\//,
    "a service of a swarm stands for all replicas",
  );
  assert.match(fileOf(exported("kubernetes"), "kubernetes.yaml"), /http:\/\/web:3000\//);
  assert.match(
    fileOf(exported("kubernetes"), "kubernetes.yaml"),
    /127\.0\.0\.1:3001/,
    "its own port stays at the loopback address",
  );
  assert.match(
    fileOf(exported("nomad"), "shop-web.nomad.json"),
    /127\.0\.0\.1\}:7000/,
    "without containers nothing changes",
  );
});

test("equal notes about several processes are one line of the report", () => {
  const note = { field: "watch", text: "is lost" };
  const notes = ["a", "b", "c", "d", "e"].map((process) => ({ process, ...note }));
  assert.deepEqual(noteTexts(notes.slice(0, 2)), ["a, b: watch: is lost"]);
  assert.deepEqual(noteTexts([...notes, { text: "for all" }]), ["a, b, c and 2 more: watch: is lost", "for all"]);
});

test("the image has what most programs need, and the report names those that it lacks", () => {
  const processes = [WEB, { id: "db", cmd: "redis-server --port 7000", autostart: true }];
  const config = { name: "shop", processes };
  const { files, notes } = exported("compose", config);
  const dockerfile = fileOf({ files, notes }, "Dockerfile");
  assert.match(
    dockerfile,
    /^FROM node:\d+-slim$[\s\S]*^COPY package\.json package-lock\.json \.\/\nRUN npm ci --omit=dev\nCOPY \. \.$/m,
  );
  assert.match(
    fileOf({ files, notes }, "Dockerfile.dockerignore"),
    /^\*\*\/\.env$[\s\S]*^\*\*\/\.procman$|^\*\*\/\.procman$[\s\S]*^\*\*\/\.env$/m,
  );
  assert.deepEqual(notesAbout({ files, notes }, "cmd"), [
    "db: the image has no redis-server: install it in the Dockerfile, or give this service another image",
  ]);
  const named = exported("compose", config, { image: "registry.example.com/shop:1" });
  assert.deepEqual([named.files.map(({ name }) => name), notesAbout(named, "cmd")], [["compose.yaml"], []]);
  assert.doesNotMatch(fileOf(named, "compose.yaml"), /build:/);
  const python = exported(
    "compose",
    { processes: [{ id: "web", cmd: "python3 app.py", autostart: true }] },
    { hasPackage: false },
  );
  assert.match(fileOf(python, "Dockerfile"), /^FROM python:3-slim$/m);
});

test("the file of compose finds project, env files and Dockerfile from the folder that it is written to", () => {
  const text = fileOf(exported("compose", undefined, { output: `${PROJECT.folder}/deploy` }), "compose.yaml");
  assert.match(text, /context: \.\.\n\s+dockerfile: deploy\/Dockerfile/);
  assert.match(text, /env_file:\n\s+- \.\.\/mail\.env/);
  assert.match(fileOf(exported("compose"), "compose.yaml"), /context: "\."\n\s+dockerfile: Dockerfile/);
});

test("500 clusters are exported to each target in less than a second of CPU time", (context) => {
  const processes = Array.from({ length: 500 }, (_, index) => ({
    ...FRONTED,
    id: `web${index}`,
    env: { DATABASE: "redis://${DB_HOST:-127.0.0.1}:7000" },
    health: { http: "http://127.0.0.1:{port}/" },
    dependsOn: index === 0 ? [] : [`web${index - 1}`],
    cluster: { instances: 2, startPort: 20_001 + 3 * index, commonPort: 20_000 + 3 * index },
  }));
  for (const target of TARGETS) {
    const before = process.cpuUsage();
    const { files } = exported(target, { processes });
    const { user, system } = process.cpuUsage(before);
    context.diagnostic(`${target}: ${Math.round((user + system) / 1_000)} ms, ${files.length} files`);
    assert.ok(user + system < 1e6, `${target}: ${user + system} µs`);
  }
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessSpec } from "./spec.ts";
import { resolveConfiguration } from "./validate.ts";

const load = (input: object) => resolveConfiguration(input, { file: "/shop/procman.json", parallelism: 3 });

function specs(fields: object, more: object = {}): readonly ProcessSpec[] {
  return load({ ...more, processes: [{ id: "web", ...("worker" in fields ? {} : { cmd: "node ." }), ...fields }] })
    .processes;
}

function spec(fields: object, more: object = {}): ProcessSpec {
  const [first] = specs(fields, more);
  assert.ok(first !== undefined);
  return first;
}

const ROTATION = { sizeBytes: 500_000_000, ageMs: 0, totalBytes: 2_000_000_000, gzip: true };

test("2.2 all defaults of a process", () => {
  assert.deepEqual(spec({}), {
    id: "web",
    command: { kind: "shell", line: "node ." },
    cwd: "/shop",
    env: {},
    path: [],
    overrun: false,
    autostart: false,
    watch: [],
    policy: {
      restart: "never",
      restartLimit: Infinity,
      restartResetMs: 60_000,
      graceMs: 0,
      terminateMs: 30_000,
      timeoutMs: 0,
      waits: false,
    },
    log: { console: false, decorateFiles: false, rotation: ROTATION, stored: true },
  });
});

test("2.1, 2.3, 2.4, 2.6 all defaults of the top level", () => {
  const { processes, ...config } = load({ processes: [] });
  assert.deepEqual(processes, []);
  assert.deepEqual(
    { ...config, warnings: [] },
    {
      file: "/shop/procman.json",
      name: "procman",
      stateDir: "/shop/.procman/procman",
      console: { decorate: false, colors: false },
      internalLogHours: 24,
      internalLogBytes: 1_000_000_000,
      api: { hostname: "127.0.0.1", revoked: [] },
      watcher: { intervalMs: 1_000, exts: ["ts", "tsx", "js", "jsx", "json"], match: ["**/*.*"], skip: ["**/.git/**"] },
      plugins: [],
      warnings: [],
    },
  );
});

test("the state folder carries the name, beside the file or below $PROCMAN_STATE_DIR", (t) => {
  assert.equal(load({ name: "x", processes: [] }).stateDir, "/shop/.procman/x");
  process.env.PROCMAN_STATE_DIR = "/var/lib/procman";
  t.after(() => delete process.env.PROCMAN_STATE_DIR);
  assert.equal(load({ name: "x", processes: [] }).stateDir, "/var/lib/procman/x");
});

test("restart when omitted: error with autostart or watch, else never", () => {
  assert.equal(spec({ autostart: true }).policy.restart, "error");
  assert.equal(spec({ watch: ["src"] }).policy.restart, "error");
  assert.equal(spec({ cron: "* * * * *" }).policy.restart, "never");
  assert.equal(spec({ autostart: true, restart: "never" }).policy.restart, "never");
  assert.equal(spec({ cron: "* * * * *", restart: "always" }).policy.restart, "always");
});

test("units: seconds become milliseconds, an omitted delay stays absent", () => {
  const { policy } = spec({
    timeout: 1.5,
    terminateGracePeriod: 2,
    terminateTimeout: 0.25,
    stopSignal: "SIGQUIT",
    killMode: "leader",
    restartDelayMs: 0,
    restartLimit: 5,
    restartResetMs: 10,
  });
  assert.deepEqual(policy, {
    restart: "never",
    restartDelayMs: 0,
    restartLimit: 5,
    restartResetMs: 10,
    graceMs: 2000,
    terminateMs: 250,
    stopSignal: "SIGQUIT",
    killMode: "leader",
    timeoutMs: 1500,
    waits: false,
  });
});

test("killMode group is the default: the policy doesn't mention it", () => {
  assert.ok(!("killMode" in spec({ killMode: "group" }).policy));
});

test("terminateGracePeriod and terminateTimeout of the top level are defaults for all", () => {
  const top = { terminateGracePeriod: 1, terminateTimeout: 2 };
  assert.deepEqual([spec({}, top).policy.graceMs, spec({}, top).policy.terminateMs], [1000, 2000]);
  assert.equal(spec({ terminateGracePeriod: 0 }, top).policy.graceMs, 0);
});

test("a variable may be called __proto__ like any other", () => {
  assert.deepEqual(Object.entries(spec({ env: JSON.parse('{ "__proto__": "x" }') as object }).env), [
    ["__proto__", "x"],
  ]);
});

test("relative paths resolve from the folder of the file", () => {
  const { cwd, pidFile, log, watch } = spec({
    cwd: "app",
    pidFile: "run/web.pid",
    watch: ["src", "/etc"],
    logger: { stdout: "a.log", stderr: "../b.log" },
  });
  assert.deepEqual(
    { cwd, pidFile, watch, stdout: log.stdout, stderr: log.stderr },
    {
      cwd: "/shop/app",
      pidFile: "/shop/run/web.pid",
      watch: ["/shop/src", "/etc"],
      stdout: "/shop/a.log",
      stderr: "/b.log",
    },
  );
  assert.deepEqual(spec({ worker: "job.js", cwd: "app" }).command, {
    kind: "worker",
    script: "/shop/job.js",
    args: [],
  });
  assert.deepEqual(spec({ worker: ["job.js", "./x"] }).command, {
    kind: "worker",
    script: "/shop/job.js",
    args: ["./x"],
  });
});

test("~ is the home of the process's user, else of procman's; ~name that of this account", (t) => {
  const { username, homedir: own } = userInfo();
  const { HOME } = process.env;
  process.env.HOME = "/elsewhere";
  t.after(() => {
    process.env.HOME = HOME;
  });
  const fields = {
    cwd: "~",
    path: "~/bin:/opt/bin",
    env: { PATH: "~/more", KEY: { file: "~/key" }, TEXT: "~/text" },
    envFile: "~/.env",
    watch: ["~/src"],
    pidFile: "~/{id}.pid",
    logger: { stdout: "~/a.log", stderr: `~${username}/b.log` },
  };
  const found = (home: string, more: object): void => {
    const { cwd, path, env, envFile, watch, pidFile, log } = spec({ ...fields, ...more });
    assert.deepEqual(
      { cwd, path, env, envFile, watch, pidFile, stdout: log.stdout, stderr: log.stderr },
      {
        ...{
          cwd: home,
          path: [`${home}/bin`, "/opt/bin", `${home}/more`],
          env: { KEY: { file: `${home}/key` }, TEXT: "~/text" },
        },
        ...{
          envFile: [`${home}/.env`],
          watch: [`${home}/src`],
          pidFile: `${home}/web.pid`,
          stdout: `${home}/a.log`,
          stderr: `${own}/b.log`,
        },
      },
    );
  };
  found("/elsewhere", {});
  found(own, { user: username });
  assert.deepEqual(spec({ worker: "~/job.js" }).command, { kind: "worker", script: "/elsewhere/job.js", args: [] });
  for (const cwd of ["~no-such-user/a", "./~", "a/~"]) assert.equal(spec({ cwd }).cwd, join("/shop", cwd));
});

test("2.2 variables in paths are filled in; those in env are filled in when a run starts", (t) => {
  process.env.TEST_DIR = "/data";
  t.after(() => delete process.env.TEST_DIR);
  const { cwd, env, envFile, path } = spec({
    cwd: "${TEST_DIR}/x",
    path: "${TEST_DIR}/bin:tools",
    envFile: ["a.env", "${NONE:-b}.env"],
    env: { URL: "${HOST}", KEY: { file: "${TEST_DIR}/key" }, TOKEN: { env: "T" } },
  });
  assert.deepEqual([cwd, path, envFile], ["/data/x", ["/data/bin", "/shop/tools"], ["/shop/a.env", "/shop/b.env"]]);
  assert.deepEqual(env, { URL: "${HOST}", KEY: { file: "/data/key" }, TOKEN: { env: "T" } });
});

test("env.PATH and path are appended to PATH, not set", () => {
  const { env, path } = spec({ env: { A: "1", PATH: "bin:/opt/x/bin:" }, path: ["tools", "/a:/b"] });
  assert.deepEqual(env, { A: "1" });
  assert.deepEqual(path, ["/shop/tools", "/a", "/b", "/shop/bin", "/opt/x/bin"]);
  assert.deepEqual(spec({ path: "bin" }).path, ["/shop/bin"]);
});

test("the instances of a cluster with a shared socket all name it, and have no frontend", () => {
  const [first, second] = specs({ cluster: { instances: 2, commonPort: 3000, mode: "share" } });
  assert.deepEqual([first?.share, first?.front], [{ hostname: "127.0.0.1", port: 3000 }, undefined]);
  assert.deepEqual(second?.share, first?.share);
  assert.equal(
    specs({ cluster: { instances: 1, commonPort: 3000, startPort: 4000, mode: "balance" } })[0]?.share,
    undefined,
  );
});

test("2.1 env and envFile of the top level are those of all processes; a process's own come after them, PATH is appended", () => {
  const more = {
    env: { A: 1, B: true, PATH: "/all" },
    envFile: ["all.env", { path: "${NOT_SET_HERE:-local}.env", optional: true }],
  };
  const { env, envFile, path } = spec(
    { env: { B: "own", C: -0.5, PATH: "/own" }, envFile: { path: "web.env" }, path: "first" },
    more,
  );
  assert.deepEqual(env, { A: "1", B: "own", C: "-0.5" });
  assert.deepEqual(envFile, ["/shop/all.env", { path: "/shop/local.env", optional: true }, "/shop/web.env"]);
  assert.deepEqual(path, ["/shop/first", "/own", "/all"]);
});

test("2.2 pathFirst is part of the specification only if it is configured, so an update of procman restarts nothing", () => {
  assert.deepEqual(spec({ pathFirst: ["node_modules/.bin", "~/bin:/opt"] }).pathFirst?.slice(0, 1), [
    "/shop/node_modules/.bin",
  ]);
  assert.ok(!("pathFirst" in spec({})));
});

test("2.2 a cluster becomes its instances, from 1, with ports from startPort", () => {
  const instances = specs({ cluster: { instances: 2, startPort: 3000 } });
  assert.deepEqual(
    instances.map(({ id, cluster }) => ({ id, cluster })),
    [
      { id: "web-1", cluster: { id: "web", index: 0, port: 3000 } },
      { id: "web-2", cluster: { id: "web", index: 1, port: 3001 } },
    ],
  );
  assert.deepEqual(
    specs({ cluster: { instances: 1 } }).map(({ id, cluster }) => ({ id, cluster })),
    [{ id: "web-1", cluster: { id: "web", index: 0 } }],
  );
  assert.equal(specs({ cluster: { instances: "max" } }).length, 3);
});

test("placeholders in log and pid files", () => {
  const cluster = { instances: 2 };
  const pattern = "log/{name}/{process}/{id}.{instance}.log";
  assert.deepEqual(
    specs({ cluster }, { name: "shop", logger: { stdout: pattern } }).map(({ log }) => log.stdout),
    ["/shop/log/shop/web/web-1.1.log", "/shop/log/shop/web/web-2.2.log"],
  );
  assert.equal(spec({ logger: { stdout: pattern } }).log.stdout, "/shop/log/procman/web/web..log");
  assert.deepEqual(
    specs({ cluster, pidFile: "{id}.pid" }).map(({ pidFile }) => pidFile),
    ["/shop/web-1.pid", "/shop/web-2.pid"],
  );
  assert.deepEqual(
    specs({ cluster, logger: { stdout: "one.log" } }).map(({ log }) => log.stdout),
    ["/shop/one.log", "/shop/one.log"],
  );
});

test("2.3 global logger settings are defaults, a process overrides them key by key", () => {
  const logger = {
    console: true,
    stdout: "all.log",
    stderr: "err.log",
    decorateFiles: true,
    rotate: { size: "1MiB", hours: 2 },
  };
  const rotation = { sizeBytes: 1_048_576, ageMs: 7_200_000, totalBytes: 2_000_000_000, gzip: true };
  const all = {
    console: true,
    decorateFiles: true,
    stdout: "/shop/all.log",
    stderr: "/shop/err.log",
    rotation,
    stored: true,
  };
  assert.deepEqual(spec({}, { logger }).log, all);
  assert.deepEqual(spec({ logger: { console: false, rotate: { hours: 0, gzip: false } } }, { logger }).log, {
    ...all,
    console: false,
    rotation: { ...rotation, ageMs: 0, gzip: false },
  });
  assert.deepEqual(spec({ logger: { stderr: "x.log" } }, { logger }).log, { ...all, stderr: "/shop/x.log" });
});

test("2.3 decorateFiles: each process knows which of its files others have, too", () => {
  const cluster = { instances: 2 };
  const shared = (fields: object) =>
    specs({ cluster, logger: { decorateFiles: true, ...fields } }).map(({ log }) => log.sharedFiles);
  assert.deepEqual(shared({ stdout: "one.log", stderr: "{id}.err" }), [["/shop/one.log"], ["/shop/one.log"]]);
  assert.deepEqual(shared({ stdout: "one.log", stderr: "one.log" }), [["/shop/one.log"], ["/shop/one.log"]]);
  assert.deepEqual(shared({ stdout: "{id}.log" }), [undefined, undefined]);
  assert.deepEqual(shared({ stdout: "one.log", decorateFiles: false }), [undefined, undefined]);
});

test("2.3 a process's stdout file takes stderr too, even from a global stderr file", () => {
  const { stdout, stderr } = spec(
    { logger: { stdout: "own.log" } },
    { logger: { stdout: "all.log", stderr: "err.log" } },
  ).log;
  assert.deepEqual({ stdout, stderr }, { stdout: "/shop/own.log", stderr: undefined });
});

test("rotate: on by default, off with false, on again for one process", () => {
  assert.deepEqual(spec({}).log.rotation, ROTATION);
  assert.equal(spec({ logger: { rotate: false } }).log.rotation, undefined);
  assert.equal(spec({}, { logger: { rotate: false } }).log.rotation, undefined);
  assert.deepEqual(spec({ logger: { rotate: {} } }, { logger: { rotate: false } }).log.rotation, ROTATION);
});

test("the result is frozen recursively, the input is not", () => {
  const input = { processes: [{ id: "a", cmd: "x", env: { A: "1" }, autostart: true }], api: { revoked: ["ci"] } };
  const config = load(input);
  assert.ok(
    [
      config,
      config.processes,
      config.processes[0],
      config.processes[0]?.env,
      config.processes[0]?.policy,
      config.processes[0]?.log.rotation,
      config.api.revoked,
    ].every(Object.isFrozen),
  );
  assert.ok(!Object.isFrozen(input.processes[0]?.env) && !Object.isFrozen(input.api.revoked));
});

test("2.2 cluster: {instance} and {port} in the command, folder, env files and variables of an instance", () => {
  const fields = {
    cmd: "serve --port={port} -n {instance} ${port} {id}",
    cwd: "data/{instance}",
    envFile: ["{instance}.env", "all.env"],
    env: {
      PORT: "{port}",
      URL: "http://localhost:{port}/${NAME}",
      KEY: { file: "{instance}.key" },
      TOKEN: { env: "{port}" },
    },
  };
  const [, second] = specs({ ...fields, cluster: { instances: 2, startPort: 3000 } });
  assert.deepEqual(second?.command, { kind: "shell", line: "serve --port=3001 -n 2 ${port} {id}" });
  assert.equal(second?.cwd, "/shop/data/2");
  assert.deepEqual(second?.envFile, ["/shop/2.env", "/shop/all.env"]);
  const env = {
    PORT: "3001",
    URL: "http://localhost:3001/${NAME}",
    KEY: { file: "/shop/2.key" },
    TOKEN: { env: "{port}" },
  };
  assert.deepEqual(second?.env, env);
  assert.deepEqual(specs({ worker: ["a.js", "{port}"], cluster: { instances: 1, startPort: 3000 } })[0]?.command, {
    kind: "worker",
    script: "/shop/a.js",
    args: ["3000"],
  });
  assert.deepEqual(specs({ cmd: "x {port} {instance}", cluster: { instances: 1 } })[0]?.command, {
    kind: "shell",
    line: "x {port} 1",
  });
  assert.deepEqual(spec({ cmd: "x {port} {instance}", env: { A: "{port}" } }).command, {
    kind: "shell",
    line: "x {port} {instance}",
  });
});

test("2.2 cluster: portVariable is part of the specification only if it is configured, so an update of procman restarts nothing", () => {
  assert.deepEqual(spec({ cluster: { instances: 1, startPort: 3000 } }).cluster, { id: "web", index: 0, port: 3000 });
  const cluster = { instances: 1, startPort: 3000, portVariable: "HTTP_PORT" };
  assert.deepEqual(spec({ cluster }).cluster, { id: "web", index: 0, port: 3000, portVariable: "HTTP_PORT" });
});

test("2.2 schedules: the time zone is that of the process, else that of all; without a schedule there is none", () => {
  const top = { timeZone: "Europe/Berlin" };
  assert.equal(spec({ cron: "0 3 * * *" }, top).timeZone, "Europe/Berlin");
  assert.equal(spec({ terminate: "0 3 * * *", timeZone: "Asia/Tokyo" }, top).timeZone, "Asia/Tokyo");
  assert.equal("timeZone" in spec({}, top), false);
  const { catchUp, jitter } = spec({ cron: "0 3 * * *", catchUp: true, jitter: 1.5 });
  assert.deepEqual([catchUp, jitter], [true, 1_500]);
});

test("numbers in env are passed as they are written, also in includes and profiles; elsewhere they are numbers", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-numbers-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const written = "1.10 1.0 12345678901234567890 1e3 -0 0.5 7 1E400".split(" ");
  const variables = (name: string) => `{${written.map((number, index) => `"${name}${index}": ${number}`).join()}}`;
  writeFileSync(join(folder, "more.json"), `{"processes": [{"id": "b", "cmd": "x", "env": ${variables("I")}}]}`);
  const text = `{
    "env": ${variables("T")}, // all
    "include": ["more.json"],
    "processes": [{"id": "a", "cmd": "x", "restartDelayMs": 1e3, "env": ${variables("P")}}],
    "profiles": {"env": {"env": ${variables("T")}, "processes": [{"id": "a", "timeout": 2.0, "env": ${variables("F")}}]}},
    "plugins": [{"url": "./p.mjs", "options": {"env": {"N": 1.10}}}],
  }`;
  const file = join(folder, "procman.json");
  const { processes, plugins } = resolveConfiguration(text, { file, profile: "env" });
  const values = (id: string, name: string) =>
    Object.entries(processes.find((process) => process.id === id)?.env ?? {}).flatMap(([key, value]) =>
      key.startsWith(name) ? [value] : [],
    );
  for (const [id, name] of [
    ["a", "T"],
    ["a", "P"],
    ["a", "F"],
    ["b", "T"],
    ["b", "I"],
  ] as const)
    assert.deepEqual(values(id, name), written, id + name);
  assert.equal(processes[0]?.policy.restartDelayMs, 1000);
  assert.equal(processes[0]?.policy.timeoutMs, 2000);
  assert.deepEqual(plugins[0]?.options, { env: { N: 1.1 } });
});

test("a number of a program that JavaScript can't hold has a warning", () => {
  const { warnings } = resolveConfiguration({
    processes: [{ id: "a", cmd: "x", autostart: true, env: { BIG: 2 ** 60, SMALL: 1.1 } }],
  });
  assert.deepEqual(
    warnings.map(({ path, message }) => `${path} ${message}`),
    [
      "processes[0].env.BIG Found 1152921504606847000, a number that JavaScript can't hold digit by digit, so it may have been another; write it as a string.",
    ],
  );
});

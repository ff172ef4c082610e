/** Apps of pm2 as processes of procman. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ecosystemOf, folderOfFiles, importOf } from "../../../test/support/import-rig.ts";

test("each field of an app with an equal is carried", async (context) => {
  const app = {
    name: "mail",
    script: "mail.js",
    args: "--all 'two words'",
    node_args: ["--max-old-space-size=512"],
    cwd: "apps/mail",
    env: { MODE: "fast", COUNT: 3, PRICE: "${cheap}" },
    env_production: { NODE_ENV: "production" },
    max_restarts: 10,
    min_uptime: "5s",
    restart_delay: 1_000,
    max_memory_restart: "300M",
    kill_timeout: 5_000,
    wait_ready: true,
    listen_timeout: 8_000,
    out_file: "logs/mail.log",
    error_file: "logs/mail.err.log",
    log_date_format: "YYYY",
    pid_file: "mail.pid",
    namespace: "Back End",
    treekill: false,
    stop_exit_codes: [0, 3],
  };
  const { config, notes } = await importOf(context, { "ecosystem.config.js": ecosystemOf([app]) });
  assert.deepEqual(config.processes[0], {
    id: "mail",
    cmd: "node --max-old-space-size=512 mail.js --all 'two words'",
    cwd: "apps/mail",
    autostart: true,
    stdin: true,
    env: { MODE: "fast", COUNT: 3, PRICE: "$" + "${cheap}", NODE_APP_INSTANCE: 0 },
    restart: "error",
    successExitCodes: [3],
    restartLimit: 9,
    minUptimeMs: 5_000,
    restartResetMs: 5_000,
    restartDelayMs: 1_000,
    memoryLimit: "300MiB",
    stopSignal: "SIGINT",
    terminateTimeout: 5,
    killMode: "leader",
    node: true,
    ready: { message: true, timeout: 30 },
    logger: { stdout: "apps/mail/logs/mail.log", stderr: "apps/mail/logs/mail.err.log", decorateFiles: true },
    pidFile: "apps/mail/mail.pid",
    groups: ["back-end"],
  });
  assert.deepEqual(config.profiles, { production: { processes: [{ id: "mail", env: { NODE_ENV: "production" } }] } });
  assert.deepEqual(notes, [
    'mail listen_timeout: without the message, pm2 counts it as started after 8 s; procman stops it after "timeout" of "ready", here 30 s',
    "mail pid_file: pm2 adds the number of the app: mail-0.pid",
  ]);
});

test("a program that sends ready later than pm2 waits isn't stopped for it", async (context) => {
  const app = { name: "mail", script: "mail.js", wait_ready: true };
  const readyOf = async (fields: object): Promise<unknown> =>
    (await importOf(context, { "ecosystem.config.js": ecosystemOf([{ ...app, ...fields }]) })).config.processes[0]
      ?.ready;
  assert.deepEqual(await readyOf({}), { message: true, timeout: 30 });
  assert.deepEqual(await readyOf({ listen_timeout: 1_000 }), { message: true, timeout: 30 });
  assert.deepEqual(await readyOf({ listen_timeout: 60_000 }), { message: true, timeout: 60 });
  const shell = ecosystemOf([{ ...app, interpreter: "bash", listen_timeout: 9_000 }]);
  const { notes } = await importOf(context, { "ecosystem.config.js": shell });
  assert.deepEqual(
    notes.map((note) => note.split(":")[0]),
    ["mail wait_ready", "mail listen_timeout"],
  );
});

test("instances in cluster mode share the port that the environment names; a variable that is incremented is a port", async (context) => {
  const apps = [
    { name: "web", script: "server.js", instances: 2, env: { PORT: 3000 } },
    { name: "job", script: "job.js", instances: "max", exec_mode: "cluster" },
    {
      name: "api",
      script: "api.py",
      instances: 3,
      exec_mode: "fork",
      env: { API_PORT: 4000 },
      increment_var: "API_PORT",
    },
    { name: "one", script: "one.js", instances: 1 },
  ];
  const { config, notes } = await importOf(context, { "ecosystem.config.js": ecosystemOf(apps) });
  const [web, job, api, one] = config.processes;
  assert.deepEqual(web?.cluster, { instances: 2, mode: "share", commonPort: 3000, hostname: "0.0.0.0" });
  assert.deepEqual([web?.node, web?.env], [true, { PORT: 3000, NODE_APP_INSTANCE: "${PROCMAN_CLUSTER_INSTANCE}" }]);
  assert.deepEqual(job?.cluster, { instances: "max" });
  assert.match(notes.join("\n"), /job exec_mode: pm2 lets the instances share the port.* "commonPort"/);
  assert.deepEqual(api?.cluster, { instances: 3, startPort: 4000, portVariable: "API_PORT" });
  assert.deepEqual(one?.env, { NODE_APP_INSTANCE: 0 });
  assert.equal(one?.cluster, undefined);
});

test("cron_restart is a schedule of restarts, or without autorestart a job", async (context) => {
  const apps = [
    { name: "web", script: "server.js", cron_restart: "0 4 * * *" },
    { name: "report", script: "report.sh", cron_restart: "0 3 * * *", autorestart: false },
  ];
  const { config, notes } = await importOf(context, { "ecosystem.config.cjs": ecosystemOf(apps) });
  const [web, report] = config.processes;
  assert.deepEqual([web?.restart, web?.terminate, web?.autostart], ["always", "0 4 * * *", true]);
  assert.deepEqual(
    [report?.cmd, report?.cron, report?.autostart, report?.restart],
    ["bash report.sh", "0 3 * * *", undefined, undefined],
  );
  assert.match(notes.join("\n"), /report cron_restart: pm2 also starts it at once/);
});

test("the interpreter follows from the ending, as in pm2; a program on PATH runs by itself", async (context) => {
  const scripts = ["a.js", "b.sh", "c.rb", "npm", "echo hello && sleep 5", "tool", "bin/native"];
  const apps = scripts.map((script, index) => ({ name: `p${index}`, script, args: "x" }));
  const files = {
    "ecosystem.config.js": ecosystemOf([
      ...apps,
      { name: "deno", script: "main.ts", interpreter: "deno", interpreter_args: "run -A" },
    ]),
    tool: "console.log(1)\n",
    "bin/native": "#!/bin/sh\n",
  };
  const { config } = await importOf(context, files);
  assert.deepEqual(
    config.processes.map(({ cmd }) => cmd),
    [
      "node a.js x",
      "bash b.sh x",
      "ruby c.rb x",
      "npm x",
      "echo hello && sleep 5",
      "node tool x",
      "bin/native x",
      "deno run -A main.ts",
    ],
  );
});

test("names that procman refuses are mapped, the same name twice gets a number, and both are said", async (context) => {
  const apps = ["Web App", "web app", "all", "..", "ÄÖ", "web-app"].map((name) => ({ name, script: "a.js" }));
  const { config, notes } = await importOf(context, { "ecosystem.config.js": ecosystemOf(apps) });
  assert.deepEqual(
    config.processes.map(({ id }) => id),
    ["web-app", "web-app_2", "all_", "process", "process_2", "web-app_3"],
  );
  assert.match(notes[0] ?? "", /^web-app name: "Web App" is called web-app/);
  assert.equal(notes.length, 6);
});

test("an id that collides with that of an instance is renamed, also where others name it", async (context) => {
  const apps = [
    { name: "web", script: "a.js", instances: 2, exec_mode: "fork" },
    { name: "web-1", script: "b.js", env_test: { A: "1" } },
  ];
  const { config, notes } = await importOf(context, { "ecosystem.config.js": ecosystemOf(apps) });
  const ids = config.processes.map(({ id }) => id);
  assert.equal(new Set(ids).size, 2);
  assert.ok(!(ids.includes("web") && ids.includes("web-1")), ids.join());
  assert.equal(
    JSON.stringify(config.profiles),
    JSON.stringify({ test: { processes: [{ id: ids[1], env: { A: "1" } }] } }),
  );
  assert.match(notes.join("\n"), /collides with another process or instance/);
});

test("unknown fields, wrong types and fields without an equal are comments that say what to do", async (context) => {
  const app = {
    name: "web",
    script: "a.js",
    max_restart: 3,
    kill_timeout: "soon",
    post_update: ["npm install"],
    instances: -1,
  };
  const { text, notes } = await importOf(context, {
    "ecosystem.config.js": ecosystemOf([app], { deploy: {}, aps: [] }),
  });
  for (const part of [
    /^ {6}\/\/ max_restart: pm2 has no such field.*Did you mean "max_restarts"\?/m,
    /^ {6}\/\/ kill_timeout: is left out: found "soon", expected a number\./m,
    /^ {6}\/\/ post_update: let your CI call these commands/m,
    /^ {6}\/\/ instances: -1 leaves processors free/m,
    /^ {2}\/\/ deploy: procman deploys nothing/m,
    /^ {2}\/\/ aps: is not a field of pm2\. Did you mean "apps"\?/m,
  ])
    assert.match(text, part);
  assert.equal(notes.length, 7);
});

test("a value that procman refuses is a comment with the reason, and the rest stays", async (context) => {
  const apps = [
    { name: "web", script: "a.js", cron_restart: "0 0 30 2 *", max_restarts: -1, user: "no-such-user-here" },
    { name: "none", args: "x" },
  ];
  const { config, notes, dropped, text } = await importOf(context, { "ecosystem.config.js": ecosystemOf(apps) });
  const [web] = config.processes;
  assert.deepEqual([web?.terminate, web?.restartLimit], [undefined, undefined]);
  assert.match(notes.join("\n"), /web terminate: procman refuses the value: Found "0 0 30 2 \*"/);
  // Without it the program would run as root.
  assert.deepEqual([web?.user, web?.inheritEnv], ["no-such-user-here", true]);
  assert.match(notes.join("\n"), /web user: stays, and `procman run` refuses it until .*: Found "no-such-user-here"/);
  assert.deepEqual(dropped, ["none"]);
  assert.match(text, /\/\/ none \(ecosystem\.config\.js\) is left out:\n {4}\/\/ script: is missing/);
});

test("ES modules, functions, JSON with comments and YAML are read alike", async (context) => {
  const files = {
    "a.config.mjs": 'export default () => ({ apps: [{ name: "a", script: "a.js" }] });',
    "b.config.js": 'export default { apps: [{ name: "b", script: "a.js" }] };',
    "package.json": '{ "type": "module" }',
    "ecosystem.json": '{ // apps\n "apps": [{ "name": "c", "script": "a.js" }] }',
    "ecosystem.config.yaml": "apps:\n  - name: d\n    script: a.js\n",
  };
  const { config } = await importOf(
    context,
    files,
    Object.keys(files).filter((name) => name !== "package.json"),
  );
  assert.deepEqual(
    config.processes.map(({ id, cmd }) => [id, cmd]),
    ["a", "b", "c", "d"].map((id) => [id, "node a.js"]),
  );
});

test("a list of pm2 jlist and a dump become apps: instances one cluster, without the environment of the shell and pm2's own log files", async (context) => {
  const own = {
    pm_exec_path: "/srv/shop/server.js",
    pm_cwd: "/srv/shop",
    exec_interpreter: process.execPath,
    exec_mode: "cluster_mode",
    node_args: [],
    args: ["--x"],
    autorestart: true,
    kill_timeout: 3_000,
    pm_out_log_path: "/home/me/.pm2/logs/web-out.log",
    pm_err_log_path: "/var/log/web-0.log",
    env: { PORT: "3000", PATH: "/bin", PWD: "/x", web: "{}", SHELL: "/bin/zsh", SSH_TTY: "/dev/pts/1" },
  };
  const list = [0, 1].map((id) => ({ name: "web", pm_id: id, pm2_env: { name: "web", ...own } }));
  const module = { name: "pm2-logrotate", pm2_env: { ...own, name: "pm2-logrotate", pmx_module: true } };
  for (const [name, entries] of [
    ["jlist.json", [...list, module]],
    ["dump.pm2", list.map(({ pm2_env }) => pm2_env)],
  ] as const) {
    const { config } = await importOf(context, { [name]: JSON.stringify(entries) });
    assert.equal(config.processes.length, 1, name);
    const [web] = config.processes;
    assert.equal(web?.cmd, "node /srv/shop/server.js --x");
    assert.equal(web?.cwd, "/srv/shop");
    assert.deepEqual(web?.env, { PORT: "3000", NODE_APP_INSTANCE: "${PROCMAN_CLUSTER_INSTANCE}" });
    assert.deepEqual(web?.cluster, { instances: 2, mode: "share", commonPort: 3000, hostname: "0.0.0.0" });
    assert.deepEqual(web?.logger, { stderr: "/var/log/web-{instance}.log" });
    assert.equal(web?.terminateTimeout, 3);
  }
});

const importedApp = async (
  context: Parameters<typeof importOf>[0],
  app: object,
  files: Readonly<Record<string, string>> = {},
): Promise<Awaited<ReturnType<typeof importOf>> & { readonly app: Readonly<Record<string, unknown>> }> => {
  const result = await importOf(context, {
    "ecosystem.config.js": ecosystemOf([{ name: "web", script: "web.js", ...app }]),
    ...files,
  });
  return { ...result, app: result.config.processes[0] ?? {} };
};

test("restarts that an app says nothing about are those of pm2: 16 starts, no delay, runs from 1 s on don't count", async (context) => {
  const restartsOf = async (fields: object): Promise<readonly unknown[]> => {
    const { app } = await importedApp(context, fields);
    return [app.restartLimit, app.restartDelayMs, app.restartResetMs];
  };
  assert.deepEqual(await restartsOf({}), [15, 0, 1_000]);
  assert.deepEqual(await restartsOf({ max_restarts: 2 }), [1, 0, 1_000]);
  assert.deepEqual(await restartsOf({ min_uptime: "3s" }), [15, 0, 3_000]);
  assert.deepEqual(await restartsOf({ autorestart: false }), [undefined, undefined, undefined]);
  assert.equal((await importedApp(context, {})).app.terminateTimeout, 1.6);
});

test("a limit of restarts that pm2 never reaches isn't written: it counts only in the time of so many short runs", async (context) => {
  const { app, notes } = await importedApp(context, { restart_delay: 5_000 });
  assert.deepEqual([app.restartLimit, app.restartDelayMs, notes], [undefined, 5_000, []]);
  const given = await importedApp(context, { max_restarts: 4, restart_delay: 5_000 });
  assert.equal(given.app.restartLimit, undefined);
  assert.match(given.notes.join(), /web max_restarts: pm2 counts only for 4 s .* there is no limit/);
  const growing = await importedApp(context, { max_restarts: 5, exp_backoff_restart_delay: 100 });
  assert.deepEqual([growing.app.restartLimit, growing.app.restartDelayMs], [4, undefined]);
});

test("a script with blanks is run by the shell, whatever the interpreter", async (context) => {
  for (const interpreter of ["none", "node", "bash"])
    assert.equal(
      (await importedApp(context, { script: "yarn start --x 1", interpreter })).app.cmd,
      "yarn start --x 1",
      interpreter,
    );
});

test("the Node of a version is that of nvm; without it the note says which one runs", async (context) => {
  const before = process.env.NVM_DIR;
  context.after(() => {
    if (before === undefined) delete process.env.NVM_DIR;
    else process.env.NVM_DIR = before;
  });
  const node = "versions/node/v20.20.2/bin/node";
  process.env.NVM_DIR = folderOfFiles(context, { [node]: "" });
  const found = await importedApp(context, { interpreter: "node@20.20.2" });
  assert.equal(found.app.cmd, `${process.env.NVM_DIR}/${node} web.js`);
  const missing = await importedApp(context, { interpreter: "node@18.0.0" });
  assert.equal(missing.app.cmd, "node web.js");
  assert.match(missing.notes.join(), /web interpreter: node@18\.0\.0: there is no \S+v18\.0\.0\/bin\/node, so it runs/);
});

test("watch without ignore_watch leaves out what pm2 does, and takes files without a dot", async (context) => {
  const { app } = await importedApp(context, { watch: true });
  assert.deepEqual(app.watcher, {
    exts: [],
    match: ["**/*"],
    skip: ["**/.*", "**/.*/**", "**/node_modules/**"],
  });
  const given = await importedApp(context, { watch: ["src"], ignore_watch: ["tmp", "**/*.log"] });
  assert.deepEqual(given.app.watcher, {
    exts: [],
    match: ["**/*"],
    skip: ["**/.git/**", "**/.procman/**", "**/tmp", "**/tmp/**", "**/*.log"],
  });
});

test("the port of env_production is that of the cluster, also if it is the only one", async (context) => {
  const cluster = { instances: 2, exec_mode: "cluster" };
  const both = await importedApp(context, { ...cluster, env: { PORT: 3300 }, env_production: { PORT: 3380 } });
  const shared = { mode: "share", commonPort: 3380, hostname: "0.0.0.0" };
  assert.deepEqual(both.config.profiles, {
    production: { processes: [{ id: "web", env: { PORT: 3380 }, node: true, cluster: shared }] },
  });
  const only = await importedApp(context, { ...cluster, env_production: { PORT: 3380 } });
  assert.equal(only.app.node, undefined);
  assert.deepEqual(only.config.profiles, both.config.profiles);
  const counted = await importedApp(context, {
    instances: 2,
    exec_mode: "fork",
    increment_var: "PORT",
    env: { PORT: 4000 },
    env_production: { PORT: 5000, A: "1" },
  });
  assert.deepEqual(counted.config.profiles, {
    production: { processes: [{ id: "web", env: { A: "1" }, cluster: { startPort: 5000 } }] },
  });
});

test("without PORT the instances share the port that the program names; several ports are left to the reader", async (context) => {
  const cluster = { instances: 2, exec_mode: "cluster" };
  for (const program of [
    "app.listen(process.env.PORT || 3007)",
    "const port = process.env.PORT ?? '3007'; listen(port)",
    "http.createServer().listen(3007, () => 0)",
    "server.listen({ port: 3007 })",
    "const port = parseInt(process.env['PORT']) || 3007",
  ]) {
    const { app, notes } = await importedApp(context, cluster, { "web.js": program });
    assert.deepEqual(app.cluster, { instances: 2, mode: "share", commonPort: 3007, hostname: "0.0.0.0" }, program);
    assert.equal(app.node, true);
    assert.match(notes.join(), /web exec_mode: the instances share the port 3007, as web\.js has it/);
  }
  const { app, notes } = await importedApp(context, cluster, { "web.js": "a.listen(3007); b.listen(3008)" });
  assert.deepEqual(app.cluster, { instances: 2 });
  assert.match(notes.join(), /web exec_mode: pm2 lets the instances share/);
});

test("a JSON file is JavaScript for pm2: keys without quotes, single quotes, a comma at the end", async (context) => {
  const text =
    "{ // apps\n apps: [{ name: 'a', script: \"a.js\", args: 'it\\'s \"x\" a: b', env: { URL: 'http://x' }, },], }";
  const { config } = await importOf(context, { "ecosystem.json": text });
  assert.deepEqual(
    config.processes.map(({ id, cmd, env }) => [id, cmd, env]),
    [["a", `node a.js 'it'\\''s' x a: b`, { URL: "http://x", NODE_APP_INSTANCE: 0 }]],
  );
  await assert.rejects(
    importOf(context, { "ecosystem.json": "{ apps: [{ name: 'a' script: 1 }] }" }),
    /ecosystem\.json:1:/,
  );
});

test("a scheduled restart with stop_exit_codes isn't written, as it would end the app; the note says what does it", async (context) => {
  const { app, notes } = await importedApp(context, { stop_exit_codes: [0], cron_restart: "0 4 * * *" });
  assert.deepEqual([app.restart, app.terminate], ["error", undefined]);
  assert.match(notes.join(), /web cron_restart: .*"cmd": "procman restart web", "cron": "0 4 \* \* \*"/);
});

test("pm2 serve is left out, with the command that does the same", async (context) => {
  const { dropped, notes } = await importedApp(context, {
    script: "serve",
    env: { PM2_SERVE_PATH: "dist", PM2_SERVE_PORT: 8090, PM2_SERVE_SPA: "true" },
  });
  assert.deepEqual(dropped, ["web"]);
  assert.match(notes.join(), /web script: "serve" .* "cmd": "npx serve --single --listen 8090 dist"/);
});

test("PATH replaces that of pm2, so its folders come first", async (context) => {
  const { app } = await importedApp(context, {
    env: { PATH: "/opt/a/bin:/usr/bin", A: "1" },
    env_test: { PATH: "/opt/b/bin" },
  });
  assert.deepEqual([app.env, app.pathFirst], [{ A: "1", NODE_APP_INSTANCE: 0 }, ["/opt/a/bin", "/usr/bin"]]);
});

test("an app of another user keeps pm2's environment", async (context) => {
  const { app } = await importedApp(context, { uid: "root" });
  assert.deepEqual([app.user, app.inheritEnv], ["root", true]);
  const { app: filtered, notes } = await importedApp(context, { uid: "root", filter_env: true });
  assert.equal(filtered.inheritEnv, true);
  assert.match(notes.join(), /web filter_env: pm2 passes all variables on nevertheless/);
});

test("each app has the number of its instance, also a single one: programs ask by it whether they are the first", async (context) => {
  assert.deepEqual((await importedApp(context, {})).app.env, { NODE_APP_INSTANCE: 0 });
  assert.deepEqual((await importedApp(context, { instance_var: "NUMBER" })).app.env, { NUMBER: 0 });
});

test("names of fields may be written in camel case", async (context) => {
  const { app, notes } = await importedApp(context, {
    maxRestarts: 4,
    killTimeout: 3_000,
    outFile: "a.log",
    errorFile: "a.log",
    interpreterArgs: "--no-warnings",
    env_camelCase: { A: "1" },
  });
  assert.deepEqual(
    [app.cmd, app.restartLimit, app.terminateTimeout, app.logger],
    ["node --no-warnings web.js", 3, 3, { stdout: "a.log" }],
  );
  assert.deepEqual(notes, ["web env_camelCase: the profile is called camelcase"]);
});

test("variables that are objects, lists or null are JSON", async (context) => {
  const { app, notes } = await importedApp(context, { env: { A: { b: ["${c}"] }, B: null, C: [1] } });
  assert.deepEqual(app.env, { A: '{"b":["$${c}"]}', B: "null", C: "[1]", NODE_APP_INSTANCE: 0 });
  assert.deepEqual(notes, []);
});

test("instances that share a file in pm2 share it here", async (context) => {
  const stdoutOf = async (fields: object): Promise<unknown> =>
    (await importedApp(context, { out_file: "a.log", error_file: "a.log", ...fields })).app.logger;
  assert.deepEqual(await stdoutOf({ instances: "max" }), { stdout: "a.log" });
  assert.deepEqual(await stdoutOf({ instances: "max", exec_mode: "cluster" }), { stdout: "a-{instance}.log" });
  assert.deepEqual(await stdoutOf({ instances: 2 }), { stdout: "a-{instance}.log" });
  assert.deepEqual(await stdoutOf({ instances: "max", merge_logs: false }), { stdout: "a-{instance}.log" });
});

test("a note says that pm2 adds the number of the app to the name of its pid file", async (context) => {
  const { app, notes } = await importedApp(context, { pid_file: "run/web.pid" });
  assert.equal(app.pidFile, "run/web.pid");
  assert.match(notes.join(), /web pid_file: pm2 adds the number of the app: run\/web-0\.pid/);
});

test("files that pm2 numbers from 0 have other names here, which is said", async (context) => {
  const file = { out_file: "logs/web.log", error_file: "logs/web.err.log" };
  const said = async (fields: object): Promise<string> =>
    (await importedApp(context, { ...file, ...fields })).notes.join();
  assert.match(
    await said({ instances: 1 }),
    /web merge_logs: pm2 writes logs\/web-0\.log, .* here the first file is logs\/web\.log/,
  );
  assert.match(await said({ instances: 2, exec_mode: "fork" }), /here the first file is logs\/web-1\.log/);
  assert.equal(await said({}), "");
  assert.equal(await said({ instances: 1, merge_logs: true }), "");
});

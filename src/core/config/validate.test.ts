import assert from "node:assert/strict";
import { test } from "node:test";
import { checkMeaning } from "./checks/checks.ts";
import { showPath } from "./document.ts";
import { ConfigurationError } from "./problems.ts";
import { resolveConfiguration } from "./validate.ts";

const OPTIONS = { file: "/shop/procman.jsonc", shownAs: "procman.jsonc", parallelism: 4 };

/** Problems as `line:column path message`; empty when it is valid. */
function problemsOf(input: unknown): readonly string[] {
  try {
    resolveConfiguration(input, OPTIONS);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`);
  }
}

/** The problems of one process with these fields. */
function about(fields: object, more: object = {}): string {
  return problemsOf({ processes: [{ id: "web", cmd: "x", ...fields }], ...more }).join("\n");
}

test("groups are names, or a list of names; a Unix group that doesn't exist is told the right field", () => {
  for (const groups of ["backend", ["a", "b-1"], "web"]) assert.equal(about({ groups }), "");
  const [{ groups } = {}] = resolveConfiguration(
    { processes: [{ id: "web", cmd: "x", groups: ["a", "b", "a"] }] },
    OPTIONS,
  ).processes;
  assert.deepEqual(groups, ["a", "b"]);
  for (const wrong of ["", "Big", "a b", [], [7], "group:a", { a: 1 }])
    assert.match(about({ groups: wrong }), /processes\[0\]\.groups/, String(wrong));
  assert.match(
    about({ group: "no-such-group" }),
    /no such group\. Create it, or correct the name; a group of processes is set by "groups"/,
  );
});

const warningsOf = (fields: object, more: object = {}) =>
  resolveConfiguration(
    { processes: [{ id: "web", cmd: "x", autostart: true, ...fields }], ...more },
    OPTIONS,
  ).warnings.map(({ path, message }) => `${path} ${message}`);

test("all problems are reported at once, in the order of the file, each with its place", () => {
  const source = `{
  "name": "Shop",
  "procesess": 1,
  "processes": [
    { "id": "web", "cmd": "x", "restart": "allways" },
    { "cmd": "x", "autostart": "true" },
    { "id": "web", "cron": "99 * * * *" }
  ]
}`;
  assert.deepEqual(problemsOf(source), [
    '2:11 name Found "Shop"; allowed: 1 to 64 characters from a-z, 0-9, ".", "_" and "-". Write it in lower case: "shop".',
    '3:3 procesess Found the unknown key "procesess". Did you mean "processes"?',
    '5:43 processes[0].restart Found "allways"; allowed: "always", "error", "never". Did you mean "always"?',
    '6:5 processes[1].id Missing key "id": 1 to 64 characters from a-z, 0-9, ".", "_" and "-".',
    '6:32 processes[1].autostart Found "true"; allowed: true or false. Write it without quotes: true.',
    '7:5 processes[2] Missing key "cmd" or "worker": a command line, or a script that runs in a separate Node process.',
    '7:13 processes[2].id Found "web"; processes[0].id already has the same id, for the process "web". Allowed: unique ids.',
    '7:28 processes[2].cron Found "99 * * * *"; allowed: a cron pattern. The minute 99 is out of range (0-59).',
  ]);
});

test("7 the error shows the place, the line with carets, what was found and what is allowed", () => {
  const source = '{\n  "processes": [\n    { "id": "web", "cmd": "x", "restart": "allways" }\n  ]\n}\n';
  assert.throws(() => resolveConfiguration(source, OPTIONS), {
    code: "configuration-invalid",
    exitCode: 78,
    message: `Cannot use procman.jsonc: 1 problem

procman.jsonc:3:43 processes[0].restart
  3 |     { "id": "web", "cmd": "x", "restart": "allways" }
    |                                           ^^^^^^^^^
  Found "allways"; allowed: "always", "error", "never". Did you mean "always"?`,
  });
});

test("data instead of text is checked too: problems have a path and no place", () => {
  assert.deepEqual(problemsOf({ processes: [{ id: "web", cmd: 5 }] }), [
    '0:0 processes[0].cmd Found 5; allowed: a command line, not empty. Write it in double quotes: "5".',
  ]);
  assert.deepEqual(problemsOf({ portRange: 20_000, processes: [] }), [
    '0:0 portRange Found 20000; allowed: two ports, such as "20000-23999".',
  ]);
  for (const input of [undefined, null, 5, [], () => 1]) assert.equal(problemsOf(input).length, 1);
});

test("duplicate keys in one object are an error", () => {
  assert.match(
    problemsOf('{ "processes": [], "processes": [] }').join(),
    /^1:20 processes Found "processes" a second time/,
  );
});

test("syntax errors are reported alone", () => {
  assert.deepEqual(problemsOf('{ "processes": [ }'), [
    "1:18  Found `}`; expected a value: a string in double quotes, a number, true, false, null, an object or an array.",
  ]);
});

test("2.1 processes is needed, and a list", () => {
  assert.deepEqual(problemsOf("{}"), ['1:1 processes Missing key "processes": a list of processes.']);
  assert.deepEqual(problemsOf('{ "processes": {} }'), [
    "1:16 processes Found an object; allowed: a list of processes.",
  ]);
});

test("unknown keys are errors everywhere, with the similar key or the section where it belongs", () => {
  assert.match(about({ restrat: "always" }), /unknown key "restrat"\. Did you mean "restart"\?/);
  assert.match(about({ instances: 4 }), /unknown key "instances"\. It belongs in "cluster"\./);
  for (const [key, meant] of [
    ["autorestart", 'Did you mean "restart"?'],
    ["name", 'Did you mean "id"?'],
    ["numprocs", 'It belongs in "cluster" as "instances".'],
    ["startsecs", 'Did you mean "minUptimeMs"?'],
    ["stdout_logfile", 'It belongs in "logger" as "stdout".'],
    ["healthcheck", 'Did you mean "health"?'],
  ] as const)
    assert.ok(about({ [key]: 1 }).includes(`unknown key "${key}". ${meant}`), key);
  assert.match(about({ logger: { colors: true } }), /logger\.colors Found the unknown key/);
  assert.match(about({ logger: { rotate: { hour: 1 } } }), /logger\.rotate\.hour .*Did you mean "hours"/);
  assert.match(about({ cluster: { instances: 1, way: "shared" } }), /cluster\.way Found the unknown key/);
  assert.equal(about({}, { api: { cors: ["https://app.example.org", "http://localhost:5173"] } }), "");
  for (const cors of ["*", "https://a.example/", "a.example", "https://*.example"])
    assert.match(
      about({}, { api: { cors: [cors] } }),
      /api\.cors\[0\] .*an origin such as "https:\/\/app\.example\.org"/,
    );
  assert.match(about({}, { api: { prot: 1 } }), /api\.prot .*Did you mean "port"/);
  assert.match(about({}, { watcher: { every: 1 } }), /Known here: interval, exts, match, skip/);
  assert.match(
    about({}, { plugins: [{ url: "./x.js", option: {} }] }),
    /plugins\[0\]\.option .*Did you mean "options"/,
  );
  assert.equal(problemsOf('{ "processes": [], "__proto__": {} }').length, 1);
});

test("keys of pm2, supervisord, systemd and compose, and keys at the wrong level, are answered with the right one", () => {
  for (const key of ["script", "command", "ExecStart"])
    assert.match(
      about({ [key]: "x" }),
      /unknown key ".*"\. Did you mean "cmd"\? It is the whole command line: "cmd": "node server\.js"\./,
    );
  for (const [key, meant] of [
    ["kill_timeout", "terminateTimeout"],
    ["env_file", "envFile"],
    ["environment", "env"],
    ["working_dir", "cwd"],
    ["max_memory_restart", "memoryLimit"],
    ["logs", "logger"],
  ] as const)
    assert.match(about({ [key]: 1 }), new RegExp(`unknown key "${key}"\\. Did you mean "${meant}"\\?`));
  for (const [key, answer] of [
    ["apps", 'Did you mean "processes"?'],
    ["cmd", 'It belongs in an entry of "processes".'],
    ["script", 'It belongs in an entry of "processes" as "cmd".'],
    ["command", 'It belongs in an entry of "processes" as "cmd".'],
    ["instances", 'It belongs in "cluster" of an entry of "processes".'],
  ] as const)
    assert.deepEqual(problemsOf(`{ "processes": [], "${key}": 1 }`), [
      `1:20 ${key} Found the unknown key "${key}". ${answer}`,
    ]);
});

test("8 name and id: 1 to 64 characters from a-z, 0-9, dot, underscore, hyphen", () => {
  for (const id of ["a", "a".repeat(64), "a.b_c-9", "..."]) assert.equal(about({ id }), "");
  for (const id of ["", "a".repeat(65), "a b", "ä", ".", "..", "a/b", 5, "a\n"])
    assert.match(about({ id }), /allowed: 1 to 64 characters/);
  assert.match(about({ id: "Web" }), /Write it in lower case: "web"\./);
  assert.match(about({ id: "My App" }), / Write "my-app"\./);
  for (const id of [".", ".."]) assert.match(about({ id }), /As a folder name it means another folder/);
  assert.match(about({ id: "all" }), /stands for all processes/);
});

test("a time with a unit is answered with the number to write", () => {
  assert.match(about({ timeout: "30s" }), /a number of seconds .* Write 30\.$/);
  assert.match(about({ terminateTimeout: "2m" }), / Write 120\.$/);
  assert.match(about({ restartDelayMs: "1.5 s" }), / Write 1500\.$/);
  assert.doesNotMatch(about({ timeout: "soon" }), /Write/);
});

test("a misspelt cmd is one problem: it isn't missing, too", () => {
  for (const key of ["comand", "script", "workr"]) {
    const problems = problemsOf({ processes: [{ id: "a", [key]: "x" }] });
    assert.equal(problems.length, 1, problems.join());
    assert.match(problems.join(), /Did you mean "(?:cmd|worker)"\?/);
  }
});

test("2.2 exactly one of cmd and worker", () => {
  assert.match(problemsOf({ processes: [{ id: "a" }] }).join(), /Missing key "cmd" or "worker"/);
  assert.match(about({ worker: "a.js" }), /worker Found both "cmd" and "worker"/);
  assert.deepEqual(problemsOf({ processes: [{ id: "a", worker: ["a.js", "--x"] }] }), []);
  assert.match(
    problemsOf({ processes: [{ id: "a", worker: [] }] }).join(),
    /worker Found an empty list; allowed: at least one entry/,
  );
  assert.match(problemsOf({ processes: [{ id: "a", worker: ["a.js", 5] }] }).join(), /worker\[1\] Found 5/);
});

test("a worker in TypeScript is refused where Node doesn't strip types, unless NODE_OPTIONS may bring a loader", () => {
  const findings = (process: object, stripsTypes: boolean) =>
    checkMeaning(
      { processes: [{ id: "a", ...process }] },
      { folder: "/", parallelism: 1, now: new Date(), stripsTypes },
    ).errors.map(({ path, message }) => `${showPath(path)} ${message}`);
  for (const worker of ["w.ts", "w.mts", "w.cts", ["w.ts", "--x"]]) {
    assert.deepEqual(findings({ worker }, true), []);
    assert.deepEqual(findings({ worker, env: { NODE_OPTIONS: "--import tsx" } }, false), []);
    assert.match(
      findings({ worker }, false).join(),
      /no TypeScript \(Node \d+\.\d+\.\d+; 22\.6 and later do\).*NODE_OPTIONS/,
    );
  }
  assert.match(findings({ worker: ["w.ts"] }, false).join(), /^processes\[0\]\.worker\[0\] Found "w\.ts"/);
  for (const worker of ["w.tsx", "w.jsx"]) assert.match(findings({ worker }, true).join(), /no JSX/);
  for (const worker of ["w.js", "w.mjs", "ts", ["w.js", "x.ts"]]) assert.deepEqual(findings({ worker }, false), []);
});

test("an invalid value is not also reported as missing", () => {
  assert.equal(problemsOf({ processes: [{ id: "a", cmd: 5 }, 7] }).length, 2);
});

test("empty strings, and strings with a NUL byte, are refused", () => {
  assert.match(about({ cmd: " \n" }), /not empty/);
  assert.match(about({ cwd: "a\0b" }), /cwd Found/);
  assert.match(about({ env: { A: "\0" } }), /env\.A Found/);
});

test("2.2 env: a secret names a file or a variable; PATH is a list of folders; variables in paths must be set", () => {
  assert.match(about({ env: { KEY: { file: "" } } }), /env\.KEY.*Found/);
  assert.match(about({ env: { KEY: { path: "x" } } }), /env\.KEY/);
  assert.match(
    about({ env: { PATH: { file: "x" } } }),
    /env\.PATH Found an object; allowed: a string, the folders to append\./,
  );
  assert.match(
    about({ cwd: "${NOT_SET}/x" }),
    /cwd Found "\$\{NOT_SET\}\/x", but NOT_SET is not set here; set it, or give a default: \$\{NOT_SET:-…\}\./,
  );
  assert.match(about({ path: ["a", "${NOT_SET}"] }), /path\[1\] Found/);
  assert.match(about({ envFile: "${NOT_SET}" }), /envFile Found/);
  assert.match(about({ envFile: [{ path: "${NOT_SET}", optional: true }] }), /envFile\[0\]\.path Found/);
  assert.match(about({ pathFirst: "${NOT_SET}" }), /pathFirst Found/);
  assert.match(about({ env: { KEY: { file: "${NOT_SET}" } } }), /env\.KEY\.file Found/);
});

test("env: values are strings, numbers or booleans, names have no =", () => {
  assert.equal(about({ env: { PORT: 80, DEBUG: false } }), "");
  assert.match(
    about({ env: { PORT: ["80"] } }),
    /env\.PORT Found a list; allowed: a string, a number, true or false, \{ "file": path \} or \{ "env": name \}\./,
  );
  assert.match(about({ env: { PATH: 80 } }), /env\.PATH Found 80; allowed: a string, the folders to append\./);
  assert.match(about({ env: { "A=B": "x" } }), /env\["A=B"\] Found "A=B"; allowed: a name/);
});

test("stdin is open, closed or a file", () => {
  for (const stdin of [true, false, { file: "answers.txt" }]) assert.equal(about({ stdin }), "", JSON.stringify(stdin));
  assert.match(
    about({ stdin: "answers.txt" }),
    /stdin Found "answers.txt"; allowed: true, false or \{ "file": path \}/,
  );
  assert.match(about({ stdin: { file: "" } }), /stdin\.file Found ""; allowed: a file path, not empty/);
  const file = { file: "answers.txt" };
  assert.match(about({ stdin: file, tty: true }), /stdin Found a file as "stdin" with "tty", .*; remove one of them/);
  assert.match(about({ stdin: { file: "${NOT_SET}" } }), /stdin\.file Found .* NOT_SET is not set here/);
});

test("stopSignal takes only signals that end a process", () => {
  for (const bad of ["QUIT", "SIGSTOP", "SIGKILL", 15])
    assert.match(about({ stopSignal: bad }), /stopSignal Found .*"SIGTERM", .*"SIGQUIT"/, `${bad}`);
  assert.match(about({ stopSignal: "SIGQIT" }), /Did you mean "SIGQUIT"\?/);
  assert.match(about({ killMode: "leaders" }), /killMode Found "leaders".*Did you mean "leader"\?/);
});

test("hooks are command lines, or objects with cmd and timeout; the default time limit is 60 s", () => {
  assert.match(
    about({ hooks: { beforeStart: 5 } }),
    /hooks\.beforeStart Found 5; allowed: a command line, or an object with cmd and timeout/,
  );
  assert.match(about({ hooks: { afterStop: { timeout: 5 } } }), /hooks\.afterStop\.cmd Missing key "cmd"/);
  assert.match(
    about({ hooks: { afterStop: { cmd: "x", timeout: -1 } } }),
    /hooks\.afterStop\.timeout Found -1; allowed: .*seconds/,
  );
  assert.match(about({ hooks: { beforStart: "x" } }), /"beforStart".*Did you mean "beforeStart"\?/);
  const hooks = { beforeStart: "echo {port}", afterStop: { cmd: "x", timeout: 0.5 } };
  const { processes } = resolveConfiguration({
    processes: [{ id: "a", cmd: "b", hooks, cluster: { instances: 1, startPort: 3000 } }],
  });
  assert.deepEqual(processes[0]?.policy.beforeStart, { line: "echo 3000", timeoutMs: 60_000 });
  assert.deepEqual(processes[0]?.policy.afterStop, { line: "x", timeoutMs: 500 });
});

test("successExitCodes takes exit codes and names of signals", () => {
  for (const bad of [3, [256], [-1], [1.5], ["TERM"], ["143"]])
    assert.match(
      about({ successExitCodes: bad }),
      /successExitCodes\S* Found .*; allowed: .*SIGTERM/,
      JSON.stringify(bad),
    );
  assert.equal(about({ successExitCodes: [0, 255, "SIGTERM"] }), "");
});

test("bounds: delays are not negative, counts are whole, ports are 1-65535", () => {
  for (const [key, bad] of [
    ["timeout", -1],
    ["restartDelayMs", -1],
    ["restartLimit", 1.5],
    ["restartLimit", -1],
    ["restartResetMs", "1"],
    ["terminateTimeout", -1],
    ["terminateGracePeriod", 1e9],
  ] as const) {
    assert.match(about({ [key]: bad }), new RegExp(`${key} Found`), `${key} ${bad}`);
  }
  for (const port of [0, 65_536, 80.5, "80"])
    assert.match(about({}, { api: { port } }), /a whole number from 1 to 65535/);
  for (const instances of [0, -1, 1.5, "min", 5000]) assert.match(about({ cluster: { instances } }), /or "max"/);
  assert.match(about({ cluster: {} }), /Missing key "instances"/);
  for (const internalLogHours of [-1, 367]) assert.match(about({}, { logger: { internalLogHours } }), /from 0 to 366/);
  assert.equal(about({ timeout: 0.5, restartDelayMs: 0, restartLimit: 0 }, { logger: { internalLogHours: 366 } }), "");
});

test("a number beyond the greatest value: the message names that value, not quotes", () => {
  const beyond = 2 ** 53;
  for (const fields of [{ memoryLimit: beyond }, { ulimits: { as: beyond } }, { restartLimit: beyond }])
    assert.match(about(fields), new RegExp(`Found ${beyond}; .* The greatest value is ${Number.MAX_SAFE_INTEGER}\\.$`));
  for (const key of ["user", "group"]) assert.match(about({ [key]: 2 ** 31 }), /The greatest value is 2147483647\.$/);
  for (const odd of ["+0", "-0", " 0", "\t0", "+1", "-1"])
    assert.match(about({ user: odd }), /this machine has no such user/, odd);
  for (const memoryLimit of [1.5, true]) assert.doesNotMatch(about({ memoryLimit }), /greatest|quotes/);
});

test("2.2 restart: the words of other programs are refused, and the word that is meant is named", () => {
  for (const [found, meant] of Object.entries({ no: "never", "on-failure": "error", "unless-stopped": "always" }))
    assert.match(about({ restart: found }), new RegExp(`Did you mean "${meant}"\\?`));
});

test("rotate: false, or an object with sizes in words", () => {
  for (const rotate of [false, {}, { size: 1000 }, { size: "1.5 GiB", total: "2TB", hours: 24, gzip: false }])
    assert.equal(about({ logger: { rotate } }), "");
  assert.match(
    about({ logger: { rotate: { size: "5 potatoes" } } }),
    /rotate\.size Found "5 potatoes"; allowed: a size such as "500MB"/,
  );
  assert.match(about({ logger: { rotate: true } }), /rotate Found true; allowed: false, or an object/);
});

test("2.2 cron, terminate: invalid patterns are refused with place and reason", () => {
  assert.match(
    problemsOf('{ "processes": [{ "id": "a", "cmd": "x",\n "terminate": "99 * * * *" }] }').join(),
    /^2:15 processes\[0\]\.terminate Found "99 \* \* \* \*"; .*The minute 99/,
  );
  assert.match(about({ cron: "@reboot" }), /"autostart"/);
  assert.match(about({ cron: "0 0 30 2 *" }), /no time in the future/);
  assert.equal(about({ cron: "0 0 3 * * *" }), "");
});

const pair = (first: object, second: object) =>
  problemsOf({
    processes: [
      { cmd: "x", ...first },
      { cmd: "x", ...second },
    ],
  }).join("\n");

test("an id that an instance has too is an error, in either order", () => {
  const cluster = { id: "web", cluster: { instances: 2 } };
  assert.match(
    pair(cluster, { id: "web-1" }),
    /processes\[1\]\.id Found "web-1"; processes\[0\]\.id already has the same id, for instance 1 of the cluster "web"/,
  );
  assert.match(
    pair({ id: "web-2" }, cluster),
    /processes\[1\]\.id Found "web", which has an instance "web-2"; processes\[0\]\.id/,
  );
  assert.equal(pair(cluster, { id: "web-3" }), "");
  assert.match(pair({ id: "web", cluster: { instances: "max" } }, { id: "web-4" }), /instance 4/);
});

test("overlapping ports are errors: ranges, common ports, the API's", () => {
  const range = (startPort: number, more = {}) => ({ cluster: { instances: 4, startPort, ...more } });
  assert.match(
    pair({ id: "a", ...range(3000) }, { id: "b", ...range(3003) }),
    /processes\[1\]\.cluster\.startPort Found 3003-3006; port 3003 belongs to processes\[0\]\.cluster\.startPort \(3000-3003\) already/,
  );
  assert.equal(pair({ id: "a", ...range(3000) }, { id: "b", ...range(3004) }), "");
  assert.match(about(range(3000, { commonPort: 3002 })), /commonPort Found 3002; port 3002 belongs to/);
  assert.match(about(range(3000), { api: { port: 3001 } }), /api\.port Found 3001/);
  assert.match(about(range(65_533)), /gives the last of 4 instances the port 65536; allowed: up to 65535/);
  assert.match(about({ cluster: { instances: 2, commonPort: 80 } }), /"commonPort" without "startPort"/);
});

test("no instance, too many instances and an unknown strategy are errors that say what is allowed", () => {
  for (const instances of [0, 100_000, 1.5, -1])
    assert.match(
      about({ cluster: { instances } }),
      /instances Found \S+; allowed: a whole number from 1 to 1024, or "max"/,
    );
  assert.match(
    about({ cluster: { instances: 2, startPort: 3000, commonPort: 80, strategy: "round-robbin" } }),
    /strategy Found "round-robbin"; allowed: "round-robin", "least-connections", "ip-hash"\. Did you mean "round-robin"\?/,
  );
});

test("a shared socket needs its port, no instance ports, and takes no field of the load balancer", () => {
  const share = (more: object): object => ({ cluster: { instances: 2, mode: "share", ...more } });
  assert.equal(about(share({ commonPort: 80, hostname: "0.0.0.0" })), "");
  assert.equal(about(share({ commonPort: 80, startPort: 3000 })), "");
  assert.match(about(share({})), /cluster\.mode Found "share" without "commonPort", the port that the instances share/);
  for (const only of [{ strategy: "ip-hash" }, { proxyProtocol: true }, { idleTimeout: 5 }, { maxConnections: 5 }])
    assert.match(
      about(share({ commonPort: 80, ...only })),
      new RegExp(
        `cluster\\.${Object.keys(only)} Found "${Object.keys(only)}" with "mode": "share": there is no load balancer`,
      ),
    );
  assert.match(
    about({ ...share({ commonPort: 80 }), ready: { fd: 3 } }),
    /ready\.fd Found 3, which is the shared socket/,
  );
  assert.equal(about({ ...share({ commonPort: 80 }), ready: { fd: 4 } }), "");
  assert.match(
    about(share({ commonPort: 80, mode: "shared" })),
    /cluster\.mode Found "shared"; allowed: "balance", "share"/,
  );
});

test("two processes can share a log file, but not a pid file", () => {
  assert.match(
    pair({ id: "a", pidFile: "run/x.pid" }, { id: "b", pidFile: "./run/x.pid" }),
    /processes\[1\]\.pidFile .* which processes\[0\]\.pidFile already uses/,
  );
  assert.equal(pair({ id: "a", pidFile: "{id}.pid" }, { id: "b", pidFile: "{id}.pid" }), "");
  assert.equal(pair({ id: "a", logger: { stdout: "x.log" } }, { id: "b", logger: { stdout: "x.log" } }), "");
  assert.match(about({ pidFile: "x.pid", cluster: { instances: 2 } }), /a path with \{id\} or \{instance\}/);
  assert.equal(about({ pidFile: "{process}-{instance}.pid", cluster: { instances: 2 } }), "");
  assert.equal(about({ pidFile: "x.pid", cluster: { instances: 1 } }), "");
});

test("placeholders that don't exist are errors that list those that do", () => {
  assert.match(
    about({ logger: { stdout: "{pid}.log" } }),
    /logger\.stdout Found the unknown placeholder \{pid\}; allowed: \{name\}, \{id\}, \{process\}, \{instance\}\. Did you mean \{id\}\?/,
  );
  assert.match(about({}, { logger: { stderr: "{}.log" } }), /^0:0 logger\.stderr/);
  assert.match(about({ pidFile: "{x-y-z}" }), /pidFile Found/);
});

test("an address to listen on is an IP address or the name of a host", () => {
  const api = (hostname: string): string => about({}, { api: { hostname } });
  for (const hostname of [
    "127.0.0.1",
    "0.0.0.0",
    "::",
    "::1",
    "fe80::1%eth0",
    "localhost",
    "db_1.internal.",
    "bücher.example",
    "127.1",
  ])
    assert.equal(api(hostname), "", hostname);
  for (const hostname of [
    "",
    "bad host",
    "not a host!",
    "[::1]",
    "localhost:80",
    "http://localhost",
    "a/b",
    "*",
    "host\n",
    "a@b",
  ])
    assert.match(
      api(hostname),
      /^0:0 api\.hostname Found .*; allowed: an IP address without brackets, or a host name such as "localhost"/,
      hostname,
    );
  assert.match(
    about({ cluster: { instances: 2, startPort: 3000, commonPort: 80, hostname: "bad host" } }),
    /cluster\.hostname Found "bad host"; allowed: an IP address/,
  );
});

test("doubtful values are warnings, not errors", () => {
  assert.match(
    warningsOf({ autostart: false })[0] ?? "",
    /^processes\[0\] No start policy: "web" is only started manually/,
  );
  assert.deepEqual(warningsOf({}), []);
  assert.deepEqual(warningsOf({ autostart: false, cron: "* * * * *" }), []);
  assert.deepEqual(warningsOf({ watch: ["src"] }), []);
  assert.match(
    warningsOf({ cluster: { instances: 2, startPort: 3000, strategy: "ip-hash" } })[0] ?? "",
    /strategy Found "strategy" without "commonPort"/,
  );
  assert.match(
    warningsOf({}, { api: { port: 6000 } })[0] ?? "",
    /^api\.port Found 6000: browsers and `fetch` block this port, .* pages and most libraries can't reach the API/,
  );
  assert.deepEqual(warningsOf({}, { api: { port: 6001 } }), []);
  assert.match(
    warningsOf({}, { plugins: [{ url: "https://host/x@1.0.0.mjs" }] })[0] ?? "",
    /^plugins\[0\]\.url Found .* without "integrity": the server could replace it/,
  );
  for (const fields of [
    { env: { URL: "x ${A:?no}" } },
    { cwd: "x ${A:?no}" },
    { env: { PATH: "x ${A:?no}" } },
    { envFile: ["x ${A:?no}"] },
  ])
    assert.match(warningsOf(fields)[0] ?? "", /Found "\$\{A:\?no\}", which stays as it is: /);
  assert.match(warningsOf({ env: { PROCMAN_RUN_ID: "x" } })[0] ?? "", /env\.PROCMAN_RUN_ID .*reserved/);
  assert.match(resolveConfiguration({ processes: [] }, OPTIONS).warnings[0]?.message ?? "", /no processes yet/);
});

test("2.2 {port:ID} with what can't be an id stays as it is, with a warning", () => {
  for (const [fields, warning] of [
    [{ cmd: "x {port:Web}", port: 3000 }, 'cmd Found "{port:Web}", which names no process: it stays as it is.'],
    [{ cmd: "x {port: web}" }, 'cmd Found "{port: web}", which names no process: it stays as it is.'],
  ] as const)
    assert.ok(
      warningsOf(fields).some((each) => each.endsWith(warning)),
      warningsOf(fields).join("\n"),
    );
  for (const fields of [
    { cmd: "[ {port} ${port:x}", port: 3000 },
    { cmd: "[ ${port}" },
    { cmd: "[ {port:web}", port: 1 },
  ])
    assert.deepEqual(
      warningsOf(fields).filter((each) => each.includes("{port")),
      [],
    );
});

test("2.2 cluster.portVariable: the name of a variable that nothing else sets, for instances with ports", () => {
  const cluster = (portVariable: string, more: object = { startPort: 3000 }) => ({
    cluster: { instances: 2, portVariable, ...more },
  });
  for (const name of ["PORT", "http_port", "PROCMAN_CLUSTER_PORT"]) assert.equal(about(cluster(name)), "", name);
  for (const name of ["", "A B", "1A", "PROCMAN_RUN_ID", "A=1"])
    assert.match(
      about(cluster(name)),
      /cluster\.portVariable Found .*; allowed: the name of a variable, such as "PORT"/,
      name,
    );
  assert.match(about(cluster("PORT", {})), /cluster\.portVariable Found "portVariable" without "startPort"/);
  assert.match(
    about({ ...cluster("PORT"), env: { PORT: "80" } }),
    /env\.PORT Found "PORT", which "cluster\.portVariable" sets\. Remove one of them/,
  );
});

test("2.2 {port} without a port is a warning, in a cluster without ports of the instances", () => {
  const cluster = { instances: 2 };
  for (const fields of [
    { cmd: "x {port}" },
    { hooks: { afterStop: { cmd: "x {port}" } } },
    { cwd: "{port}" },
    { envFile: ["{port}"] },
    { env: { A: "{port}" } },
  ]) {
    assert.match(
      warningsOf({ ...fields, cluster })[0] ?? "",
      /Found "\{port\}" without "cluster.startPort": it stays as it is/,
    );
    assert.deepEqual(warningsOf({ ...fields, cluster: { ...cluster, startPort: 3000 } }), []);
    assert.match(warningsOf(fields)[0] ?? "", /Found "\{port\}" without "port": it stays as it is/);
    assert.deepEqual(warningsOf({ ...fields, port: 3000 }), []);
  }
});

test("a shell that stays is a warning where a setting is meant for the program", () => {
  const share = { cluster: { instances: 2, mode: "share", commonPort: 3000 } };
  const cmd = "node x.js | tee log";
  const about = (what: string) =>
    new RegExp(
      `^processes\\[0\\]\\.cmd Found .* because its last command is a pipeline: the pid is the shell's, and ${what} the shell, not the program\\.`,
    );
  assert.match(warningsOf({ cmd, ...share })[0] ?? "", about("the shared socket concerns"));
  assert.match(
    warningsOf({ cmd, pidFile: "a.pid", stopSignal: "SIGINT" })[0] ?? "",
    about('"pidFile" and "stopSignal" concern'),
  );
  assert.match(warningsOf({ cmd, reloadSignal: "SIGHUP" })[0] ?? "", about('"reloadSignal" concerns'));
  assert.match(warningsOf({ cmd, killMode: "leader" })[0] ?? "", about('"killMode" concerns'));
  assert.match(
    warningsOf({ cmd: "for i in 1 2; do node x.js; done", pidFile: "a.pid" })[0] ?? "",
    /because "for" is part of the shell's grammar/,
  );
  assert.match(
    warningsOf({ cmd: ". ./env && node x.js", pidFile: "a.pid" })[0] ?? "",
    /needed after \.: .* Write exec before the program\.$/,
  );
  for (const fields of [{ cmd }, { cmd, stopSignal: "SIGTERM", killMode: "group" }])
    assert.deepEqual(warningsOf(fields), []);
  for (const line of [
    "A=1 node x.js > log",
    "cd x && node x.js",
    ". ./env && exec node x.js",
    "trap '' HUP; exec node x.js",
    "node x.js",
  ])
    assert.deepEqual(warningsOf({ cmd: line, pidFile: "a.pid", killMode: "leader" }), [], line);
});

test("a missing working directory is reported by the start, not by the validation", () => {
  assert.equal(about({ cwd: "/does/not/exist" }), "");
});

test("a byte order mark in front of the text is not part of line 1", () => {
  assert.deepEqual(problemsOf('\uFEFF{ "processes": 5 }'), ["1:16 processes Found 5; allowed: a list of processes."]);
});

test("2.2 the time zone of schedules, of a process and of all, is checked with its place", () => {
  const message =
    'Found "Europe/Belin"; allowed: the name of a time zone, such as "Europe/Berlin" or "UTC". There is no such time zone. Did you mean "Europe/Berlin"?';
  assert.match(
    about({ cron: "0 3 * * *", timeZone: "Europe/Belin" }),
    new RegExp(`processes\\[0\\]\\.timeZone ${message.replaceAll("?", "\\?")}$`),
  );
  assert.match(about({}, { timeZone: "Europe/Belin" }), / timeZone Found "Europe\/Belin"/);
  assert.equal(about({ terminate: "0 3 * * *", timeZone: "America/New_York" }, { timeZone: "UTC" }), "");
});

test("2.2 what only schedules have is pointless without one", () => {
  const without = (key: string, others: string): string =>
    `processes[0].${key} Found "${key}" without ${others}: there is no schedule that it could apply to.`;
  assert.deepEqual(warningsOf({ timeZone: "UTC", catchUp: true, jitter: 5 }), [
    without("timeZone", '"cron" or "terminate"'),
    without("catchUp", '"cron"'),
    without("jitter", '"cron"'),
  ]);
  assert.deepEqual(warningsOf({ terminate: "0 3 * * *", timeZone: "UTC", catchUp: false, jitter: 0 }), []);
});

test("numbers and booleans may be references: converted, then checked as if written so; a number of instances may be max", (context) => {
  const set = (name: string, value: string | undefined): void => {
    const before = process.env[name];
    context.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  };
  set("P_PORT", "4001");
  set("P_ON", "true");
  set("P_EMPTY", "");
  set("P_BAD", "many");
  set("P_NONE", undefined);
  const text = (fields: string, top = ""): string => `{ "processes": [{ "id": "web", "cmd": "x", ${fields} }]${top} }`;
  const config = resolveConfiguration(
    text(
      `"autostart": "\${P_ON}", "timeout": "\${P_NONE:-2}\${P_EMPTY:-.5}", "memoryLimit": "\${P_NONE:-5}00MB", "env": { "N": "\${P_PORT}" },
       "cluster": { "instances": "\${P_NONE:-2}", "startPort": "\${P_PORT:-3000}" }`,
      ', "api": { "port": "${P_EMPTY:-9000}" }, "logger": { "rotate": "${P_NONE:-false}" }',
    ),
  );
  const [first, second] = config.processes;
  assert.deepEqual(
    [first?.autostart, first?.policy.timeoutMs, first?.cluster?.port, second?.cluster?.port],
    [true, 2_500, 4_001, 4_002],
  );
  assert.deepEqual(
    [first?.memoryLimit, first?.env.N, config.api.port, first?.log.rotation],
    [500_000_000, "${P_PORT}", 9_000, undefined],
  );
  const all = resolveConfiguration(text('"cluster": { "instances": "${P_NONE:-max}" }'), { parallelism: 3 });
  assert.equal(all.processes.length, 3);
  const refusal = (fields: string): string => {
    try {
      resolveConfiguration(text(fields), { file: "procman.json" });
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  assert.match(
    refusal('"timeout": "${P_BAD:-2}"'),
    /procman\.json:1:55 processes\[0\]\.timeout\n[\s\S]*Found "many"; allowed: a number of seconds .*\. It is written as "\$\{P_BAD:-2\}"; P_BAD is "many"\.$/,
  );
  assert.match(
    refusal('"timeout": "${P_NONE}"'),
    /Found "\$\{P_NONE\}"; allowed: .* P_NONE is not set: set it where procman is started, or write a default, such as "\$\{P_NONE:-1\}"\.$/,
  );
  assert.match(
    refusal('"cluster": { "instances": "${P_NONE:-0}" }'),
    /Found 0; allowed: .* It is written as "\$\{P_NONE:-0\}"; P_NONE is not set\.$/,
  );
  assert.match(refusal('"autostart": "${P_PORT}"'), /Found 4001; allowed: true or false\. .*P_PORT is "4001"\.$/);
});

test("an object whose toString is not a function is a value like any other that is not allowed", () => {
  const odd = { toString: 1, __proto__: null };
  for (const process of [
    { cmd: odd },
    { groups: odd },
    { restart: odd },
    { env: { A: odd } },
    { cluster: { instances: odd } },
    { restartLimit: odd },
    { memoryMax: odd },
  ])
    assert.throws(
      () => resolveConfiguration(JSON.stringify({ processes: [{ id: "web", cmd: "x", autostart: true, ...process }] })),
      (error) => error instanceof ConfigurationError && /Found an object/.test(error.message),
      JSON.stringify(process),
    );
});

const BALANCED = { instances: 2, startPort: 3001, commonPort: 3000 };

test("scale needs a cluster, and something that changes its number", () => {
  assert.equal(about({ cluster: BALANCED, scale: { max: 8, targets: { cpu: 70, "metric:queue": 3 } } }), "");
  assert.match(about({ scale: { targets: { cpu: 70 } } }), /scale Found "scale" without "cluster", whose number/);
  assert.match(about({ cluster: BALANCED, scale: { max: 8 } }), /scale Found neither "targets" nor "schedules"/);
  assert.match(
    about({ cluster: BALANCED, scale: { targets: { memory: 7 } } }),
    /targets\.memory Found "memory"; allowed: cpu, connections, waiting or metric:NAME/,
  );
  assert.match(about({ cluster: BALANCED, scale: { targets: { cpu: 0 } } }), /Found 0; allowed: a number above 0/);
});

test("scale to zero needs idle, which stops and wakes all instances together", () => {
  const scale = { min: 0, targets: { cpu: 70 }, schedules: [{ cron: "0 8 * * *", min: 0 }] };
  const problems = about({ cluster: BALANCED, scale });
  assert.match(problems, /scale\.min Found 0 without "idle", which lets the cluster sleep/);
  assert.match(problems, /schedules\[0\]\.min Found 0 without "idle"/);
  const idle = { after: 60 };
  assert.equal(about({ cluster: BALANCED, scale: { min: 0, max: 4 }, idle }), "");
  assert.match(about({ cluster: BALANCED, scale: { max: 4 }, idle }), /scale Found neither "targets"/);
  const cluster = { ...BALANCED, instances: 1 };
  const process = { id: "web", cmd: "x", autostart: true, cluster, scale, idle };
  const { processes, warnings } = resolveConfiguration({ processes: [process] });
  assert.deepEqual([processes[0]?.scale?.min, processes[0]?.scale?.schedules?.[0]?.min, warnings], [1, 1, []]);
});

test("targets that count clients need the load balancer, and waiting a limit of connections", () => {
  const scale = (targets: object, cluster: object) => about({ cluster, scale: { targets } });
  assert.match(scale({ connections: 40 }, { instances: 2 }), /Found "connections" without a load balancer/);
  assert.match(
    scale({ connections: 40 }, { instances: 2, commonPort: 3000, mode: "share" }),
    /set "cluster\.commonPort", and remove "mode": "share"/,
  );
  assert.match(scale({ waiting: 1 }, BALANCED), /Found "waiting" without "cluster\.maxConnections"/);
  assert.equal(scale({ waiting: 1 }, { ...BALANCED, maxConnections: 20 }), "");
});

test("the bounds of scale and of its schedules are in order; processors are those of the machine", () => {
  const scale = (fields: object) => about({ cluster: BALANCED, scale: { targets: { cpu: 70 }, ...fields } });
  assert.equal(scale({ min: 4 }), "");
  assert.match(scale({ min: 5 }), /scale\.min Found 5; allowed: at most "max", which is 4, one for each processor\./);
  assert.doesNotMatch(scale({ min: 5, max: 3, schedules: [{ cron: "0 8 * * *" }] }), /schedules/);
  assert.match(scale({ min: 5, max: 3 }), /scale\.min Found 5; allowed: at most "max", which is 3\./);
  const schedules = (...list: readonly object[]) => scale({ min: 2, max: 3, schedules: list });
  assert.equal(schedules({ cron: "0 8 * * *", min: 3 }, { cron: "0 18 * * *" }), "");
  assert.match(
    schedules({ cron: "0 8 * * *", min: 4 }),
    /schedules\[0\]\.min Found 4; allowed: at most "max", which is 3/,
  );
  assert.match(
    schedules({ cron: "0 8 * * *", max: 1 }),
    /schedules\[0\]\.max Found 1; allowed: at least "min", which is 2/,
  );
  assert.match(
    schedules({ cron: "0 25 * * *" }),
    /schedules\[0\]\.cron Found "0 25 \* \* \*"; allowed: a cron pattern/,
  );
});

test("ports and ids of all instances that a cluster may get are its own", () => {
  const scale = { max: 8, targets: { cpu: 70 } };
  const problems = problemsOf({
    processes: [
      { id: "web", cmd: "x", cluster: BALANCED, scale },
      { id: "web-8", cmd: "x" },
      { id: "api", cmd: "x", cluster: { instances: 1, startPort: 3007 } },
    ],
  }).join("\n");
  assert.match(problems, /processes\[1\]\.id Found "web-8"; processes\[0\]\.id already has the same id/);
  assert.match(problems, /processes\[2\]\.cluster\.startPort Found 3007; port 3007 belongs to/);
});

test("a number outside of the bounds, and more memory than there is, are warnings", () => {
  const scale = { min: 3, max: 8, targets: { cpu: 70 } };
  assert.deepEqual(warningsOf({ cluster: BALANCED, scale }), [
    'processes[0].cluster.instances Found 2; "scale" allows 3 to 8: it becomes 3 once procman has started.',
  ]);
  const process = { id: "web", cmd: "x", autostart: true, cluster: BALANCED, scale };
  const ofLoad = resolveConfiguration({ processes: [process] }, { scale: () => 9 });
  assert.deepEqual(ofLoad.warnings, [], "the number is not that of the file");
  const [warning] = warningsOf({ cluster: { ...BALANCED, instances: 3 }, scale, memoryMax: "4TB" });
  assert.match(
    warning ?? "",
    /scale\.max 8 instances of up to "4TB" need 32\.0 TB, and \S+ GB are there: .* Lower "max"/,
  );
});

test("with the memory that an instance uses now, more than the machine has is a warning; a limit comes first", () => {
  const web = { id: "web", cmd: "x", autostart: true, cluster: BALANCED, scale: { max: 8, targets: { cpu: 70 } } };
  const about = (bytes: number, more = {}): string =>
    resolveConfiguration({ processes: [{ ...web, ...more }] }, { instanceMemory: new Map([["web", bytes]]) })
      .warnings.map(({ path, message }) => `${path} ${message}`)
      .join();
  assert.match(
    about(1e12),
    /^processes\[0\]\.scale\.max 8 instances of 1\.0 TB, which one uses now, need 8\.0 TB, and \S+ GB are there: .*Lower "max"/,
  );
  assert.deepEqual([about(1e6), about(1e12, { memoryLimit: "1MB" })], ["", ""]);
});

test("scale becomes a policy with its units converted, and the time zone of the process", () => {
  const scale = {
    max: "processors",
    targets: { waiting: 2, cpu: 70 },
    step: 2,
    schedules: [
      { cron: "0 8 * * *", min: 2 },
      { cron: "0 9 * * *", max: "processors" },
    ],
  };
  const cluster = { ...BALANCED, maxConnections: 20 };
  const [{ scale: spec } = {}] = resolveConfiguration(
    { timeZone: "UTC", processes: [{ id: "web", cmd: "x", cluster, scale }] },
    OPTIONS,
  ).processes;
  assert.deepEqual(spec, {
    min: 1,
    max: 4,
    targets: [
      { name: "waiting", limit: 2, capacity: 20 },
      { name: "cpu", limit: 70 },
    ],
    upAfterMs: 10_000,
    downAfterMs: 300_000,
    step: 2,
    schedules: [
      { pattern: "0 8 * * *", timeZone: "UTC", min: 2 },
      { pattern: "0 9 * * *", timeZone: "UTC", max: 4 },
    ],
  });
});

/** Files of other process managers as random values of their fields. Each part of a file says something that its manager doesn't do without it. */
import fc from "fast-check";
import type { ImportedKind } from "../../src/satellites/import/source-kinds.ts";

/** A file in parts. The first ones, `fixed`, make it one of its kind. */
export type GrammarFile = { readonly kind: ImportedKind; readonly fixed: Parts; readonly parts: Parts };
/** A path of keys, and the value there; of texts in lines, the line. */
type Parts = readonly (readonly [path: readonly string[], value: unknown])[];

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const one = (...values: readonly unknown[]): fc.Arbitrary<unknown> => fc.constantFrom(...values);
const text = fc.constantFrom(
  ...[
    "plain",
    "two words",
    "it's",
    'say "x"',
    "$HOME",
    "a${b}",
    "100%",
    "ä€",
    "a,b",
    "a#b",
    "{port}",
    "~/x",
    "-x",
    "a\\b",
  ],
  ...["*.js", "%h", "{{.X}}", "a=b", "x;y", "[a]", "//c", "*/", "\u2028", "true", "null", "0"],
);
const plain = fc.constantFrom("alpha", "beta2", "g/h.js", "k-l", "m_n");
const variables = fc.dictionary(
  fc.constantFrom("A", "B_1", "LONG_NAME", "PORT"),
  fc.oneof(text, fc.integer(), fc.boolean()),
  {
    minKeys: 1,
    maxKeys: 3,
  },
);
const words = fc.array(text, { minLength: 1, maxLength: 3 });

const PM2: Fields = {
  args: fc.oneof(text, words),
  node_args: fc.constantFrom("--no-warnings", ["--no-warnings", "--inspect"]),
  interpreter: one("bash", "python3", "/opt/x/node", "node@18.1.0"),
  cwd: one("sub", "/srv/shop", "a b"),
  env: variables,
  env_production: variables,
  instances: one(2, 3, "max", 0, -1, "4"),
  instance_var: one("NUMBER"),
  port: one(3_001, 4_002),
  autorestart: one(false),
  autostart: one(false),
  stop_exit_codes: one([0], [3, 4], 5, "6"),
  max_restarts: one(3, 0, 40),
  min_uptime: one(4_000, "5s", "2m"),
  restart_delay: one(700, 5_000),
  exp_backoff_restart_delay: one(150),
  kill_timeout: one(3_000, 9_000),
  wait_ready: one(true),
  listen_timeout: one(8_000, 40_000),
  shutdown_with_message: one(true),
  cron_restart: one("0 3 * * *", "*/5 * * * * *"),
  max_memory_restart: one("300M", "1G", 5e8),
  watch: one(true, ["src", "lib"], "src"),
  out_file: one("logs/a.log", "/var/log/a.log"),
  error_file: one("logs/b.log"),
  pid_file: one("a.pid"),
  namespace: one("Back End", "x"),
  filter_env: one(true, ["AWS_"], "X"),
  uid: one("root", 0),
  gid: one("root", 0),
  treekill: one(false),
  disable_logs: one(true),
  log_type: one("json"),
  post_update: one(["npm install"]),
  source_map_support: one(true),
  force: one(true),
  append_env_to_name: one(true),
  colour: one("red"),
};
const SUPERVISORD: Fields = {
  directory: one("sub", "/srv/%(program_name)s", "%(here)s/x"),
  environment: one('A="1,2"', "B='x y',C=z", 'D="%(ENV_HOME)s/x"', 'PATH="/opt/bin:/usr/bin"', "E=%(program_name)s"),
  numprocs: one("2", "3"),
  autostart: one("false", "no"),
  autorestart: one("true", "false"),
  startsecs: one("7", "0"),
  startretries: one("9", "1", "0"),
  exitcodes: one("0,3", "4"),
  stopsignal: one("INT", "SIGQUIT", "10", "KILL"),
  stopwaitsecs: one("4", "40"),
  stopasgroup: one("true"),
  user: one("root", "nobody"),
  umask: one("027", "2"),
  priority: one("5"),
  redirect_stderr: one("true"),
  stdout_logfile: one("logs/%(program_name)s.log", "/dev/stdout", "syslog"),
  stderr_logfile: one("/var/log/e.log", "/dev/stderr"),
  stdout_events_enabled: one("true"),
  stdout_capture_maxbytes: one("1MB"),
  stdout_syslog: one("true"),
  serverurl: one("http://127.0.0.1:9001"),
  colour: one("red"),
};
const DAEMON: Fields = {
  environment: one('COMMON="a b"', "PATH=/opt/bin"),
  umask: one("077"),
  user: one("root"),
  directory: one("/srv/run"),
  minfds: one("4096"),
  strip_ansi: one("true"),
};
const SERVICE: Fields = {
  WorkingDirectory: one("/srv/shop", "~"),
  Environment: one("A=1", '"B=two words" C=3', "PATH=/opt/bin"),
  EnvironmentFile: one("-/srv/shop/.env", "/etc/default/shop"),
  PassEnvironment: one("HOME LANG"),
  Type: one("notify", "forking", "oneshot"),
  Restart: one("always", "on-failure", "on-abort"),
  RuntimeMaxSec: one("1h", "600"),
  SuccessExitStatus: one("3", "SIGUSR1 4"),
  KillSignal: one("SIGINT", "SIGQUIT"),
  KillMode: one("mixed", "process"),
  TimeoutStopSec: one("5", "2min", "infinity"),
  ExecStartPre: one("/bin/mkdir -p /run/x"),
  ExecStartPost: one("/bin/true x"),
  ExecStop: one("/bin/kill -s QUIT $MAINPID", "/opt/stop"),
  ExecStopPost: one("/bin/rm -f /run/x"),
  ExecReload: one("/bin/kill -HUP $MAINPID", "/opt/reload"),
  User: one("root", "0"),
  Group: one("root"),
  UMask: one("0027", "77"),
  Nice: one("5", "-3"),
  OOMScoreAdjust: one("500"),
  IOSchedulingClass: one("idle", "best-effort"),
  IOSchedulingPriority: one("6"),
  LimitNOFILE: one("4096", "infinity", "1024:4096"),
  LimitCORE: one("0"),
  MemoryMax: one("640M"),
  MemoryHigh: one("500M"),
  CPUQuota: one("150%", "15.5%"),
  PIDFile: one("/run/x.pid"),
  StandardOutput: one("append:/var/log/x.log", "tty"),
  StandardError: one("file:/var/log/y.log"),
  WatchdogSec: one("30"),
  ProtectSystem: one("full"),
  LoadCredential: one("a:/etc/a"),
  UnsetEnvironment: one("A"),
  Colour: one("red"),
};
const UNIT: Fields = {
  After: one("db.service"),
  Before: one("mail.service"),
  Requires: one("db.service"),
  OnFailure: one("mail@%n.service"),
  StartLimitBurst: one("3"),
  StartLimitIntervalSec: one("60", "0"),
  ConditionPathExists: one("/etc/x"),
  OnSuccess: one("x.service"),
};
const SERVICES: Fields = {
  environment: fc.oneof(variables, one(["A=1", "B"])),
  env_file: one("more.env", ["more.env", { path: "x.env", required: false }]),
  restart: one("always", "unless-stopped", "on-failure:3"),
  stop_signal: one("SIGINT", "QUIT"),
  stop_grace_period: one("5s", "1m30s"),
  healthcheck: one({ test: "true", interval: "3s" }, { test: ["CMD", "x", "y z"] }),
  profiles: one(["debug"]),
  scale: one(2),
  ports: one(["3000:3000"], ["127.0.0.1:80:80/udp"]),
  working_dir: one("/app"),
  user: one("node", "1000:1000"),
  mem_limit: one("300m"),
  cpus: one("0.5", 2),
  ulimits: one({ nofile: 4_096 }, { nofile: { soft: 1_024, hard: 2_048 } }),
  volumes: one(["./data:/data"]),
  networks: one(["back"]),
  container_name: one("x"),
  logging: one({ options: { "max-size": "10m", "max-file": "3" } }),
  develop: one({ watch: [{ path: "src", action: "sync" }] }),
  deploy: one(
    { replicas: 3 },
    { restart_policy: { condition: "any", delay: "3s" } },
    { resources: { limits: { memory: "1g" } } },
  ),
  oom_score_adj: one(300),
  init: one(true),
  cap_add: one(["ALL"]),
  secrets: one(["key"]),
  colour: one("red"),
};
const PROCESSES: Fields = {
  working_dir: one("sub", "/srv"),
  environment: one(["A=1", "B=${HOME}"], ["C=a b"]),
  env_file: one("more.env"),
  availability: one(
    { restart: "always" },
    { restart: "on_failure", max_restarts: 3, backoff_seconds: 4 },
    { restart: "exit_on_failure" },
  ),
  shutdown: one({ signal: 2 }, { timeout_seconds: 4 }, { command: "x" }, { parent_only: true }),
  depends_on: one({ base: { condition: "process_healthy" } }, { nobody: {} }),
  readiness_probe: one(
    { http_get: { host: "127.0.0.1", port: 3_000 } },
    { exec: { command: "true" }, period_seconds: 3 },
  ),
  liveness_probe: one({ exec: { command: "true" } }),
  ready_log_line: one("listening"),
  schedule: one({ cron: "0 3 * * *" }, { interval: "5m" }),
  replicas: one(2, 3),
  namespace: one("back", ["a", "b"]),
  disabled: one(true),
  is_daemon: one(true),
  is_tty: one(true),
  is_elevated: one(true),
  log_location: one("a.log", "logs/{PC_REPLICA_NUM}.log"),
  success_exit_codes: one([3]),
  watch: one(["src"], { paths: [{ path: "lib", exclude: ["gen/**", "*.tmp"] }] }, { paths: [{ include: ["*.go"] }] }),
  log_configuration: one({ no_color: true }),
  launch_timeout_seconds: one(9),
  colour: one("red"),
};

/** Some of the fields, each at the path. */
function some(fields: Fields, path: readonly string[]): fc.Arbitrary<Parts> {
  return fc
    .subarray(Object.keys(fields), { minLength: 1, maxLength: Math.min(7, Object.keys(fields).length) })
    .chain((names) =>
      fc.tuple(
        ...names.map((name) =>
          (fields[name] as fc.Arbitrary<unknown>).map((value) => [[...path, name], value] as const),
        ),
      ),
    );
}

const line = (prefix: fc.Arbitrary<string>, end: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(prefix, end).map(([before, after]) => `${before}${after}`);
const command = line(fc.constantFrom("node a.js ", "./run ", "cd x && y "), text);
const times = fc
  .constantFrom("*/5 * * * *", "0 3 1,15 * 1-5", "@daily", "@reboot", "@every_minute")
  .map((each) => `${each} `);

const CRON_VARIABLES = [
  ...["MAILTO=ops@example.org", "PATH=/opt/bin", "SHELL=/bin/bash", "HOME=/srv", "A = 'x y'", "TZ=Asia/Tokyo"],
  ...["CRON_TZ=Europe/Berlin", "RANDOM_DELAY=5"],
];

function someLines(all: readonly string[]): fc.Arbitrary<Parts> {
  return fc.subarray([...all]).map((chosen) => chosen.map((each) => [[each], each] as const));
}

/** Lines that each say something. */
function lines(arbitrary: fc.Arbitrary<string>): fc.Arbitrary<Parts> {
  return fc
    .uniqueArray(arbitrary, { minLength: 1, maxLength: 5 })
    .map((all) => all.map((each, index) => [[String(index)], each] as const));
}

function file(kind: ImportedKind, fixed: Parts, ...parts: readonly fc.Arbitrary<Parts>[]): fc.Arbitrary<GrammarFile> {
  return fc.tuple(...parts).map((all) => ({ kind, fixed, parts: all.flat() }));
}

export const anyGrammarFile: fc.Arbitrary<GrammarFile> = fc.oneof(
  file("pm2", [[["0", "script"], "web.js"]], some(PM2, ["0"])),
  file(
    "supervisord",
    [[["program:web", "command"], "serve x"]],
    some(SUPERVISORD, ["program:web"]),
    some(DAEMON, ["supervisord"]),
  ),
  file("systemd", [[["Service", "ExecStart"], "/bin/serve x"]], some(SERVICE, ["Service"]), some(UNIT, ["Unit"])),
  file(
    "compose",
    [
      [["services", "web", "build"], "."],
      [["services", "web", "command"], "serve x"],
    ],
    some(SERVICES, ["services", "web"]),
  ),
  file(
    "process-compose",
    [
      [["processes", "web", "command"], "serve x"],
      [["processes", "base", "command"], "base"],
    ],
    some(PROCESSES, ["processes", "web"]),
  ),
  file("crontab", [[["first"], "1 2 3 4 5 /bin/first"]], someLines(CRON_VARIABLES), lines(line(times, command))),
  file(
    "procfile",
    [[["first"], "first: /bin/first"]],
    lines(
      line(
        plain.map((each) => `${each.replace(/\W/g, "_")}: `),
        command,
      ),
    ),
  ),
);

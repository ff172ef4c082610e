/** Units of systemd, and crontabs, as processes of procman. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { importOf } from "../../../test/support/import-rig.ts";
import { cronOf, spanOf } from "./on-calendar.ts";

const WEB = `[Unit]
After=network.target migrate.service postgresql.service
Requires=migrate.service
StartLimitBurst=5
StartLimitIntervalSec=10

[Service]
WorkingDirectory=/srv/shop
EnvironmentFile=-/srv/shop/.env
Environment=NODE_ENV=production "GREETING=hello world" PRICE=$5
ExecStartPre=-/bin/mkdir -p /run/shop
ExecStart=/usr/bin/node server.js \\
  --name "two words" --home \${HOME} $OPTIONS 100%%
ExecReload=/bin/kill -HUP $MAINPID
ExecStopPost=/bin/rm -f web.lock
Restart=on-failure
RestartSec=1500ms
SuccessExitStatus=3 SIGKILL
KillMode=mixed
KillSignal=SIGINT
TimeoutStopSec=1min 30s
LimitNOFILE=4096:8192
MemoryMax=512M
CPUQuota=150%
Nice=5
RuntimeMaxSec=1h
StandardOutput=append:/var/log/web.log
PrivateTmp=yes
WatchdogSec=10
Colour=red

[Install]
WantedBy=multi-user.target
`;

test("each directive of a service with an equal is carried, drop-ins included", async (context) => {
  const files = {
    "web.service": WEB,
    "migrate.service": "[Service]\nType=oneshot\nExecStart=/srv/shop/migrate.sh\n",
    "web.service.d/10-limits.conf": "[Service]\nNice=7\nExecReload=\nExecReload=/bin/kill -USR1 $MAINPID\n",
  };
  const { config, notes } = await importOf(context, files, ["web.service", "migrate.service"]);
  assert.deepEqual(config.processes[0], {
    id: "web",
    cmd: "/usr/bin/node server.js --name 'two words' --home \"${HOME}\" $OPTIONS 100%",
    hooks: { beforeStart: "{ /bin/mkdir -p /run/shop || true; }", afterStop: "/bin/rm -f web.lock" },
    reloadSignal: "SIGUSR1",
    cwd: "/srv/shop",
    autostart: true,
    restart: "error",
    restartDelayMs: 1_500,
    restartLimit: 5,
    restartResetMs: 10_000,
    timeout: 3_600,
    successExitCodes: [3, "SIGKILL"],
    stopSignal: "SIGINT",
    terminateTimeout: 90,
    killMode: "leader",
    env: { NODE_ENV: "production", GREETING: "hello world", PRICE: "$5" },
    envFile: { path: "/srv/shop/.env", optional: true },
    nice: 7,
    ulimits: { nofile: 4_096 },
    memoryMax: "512MiB",
    cpuQuota: 150,
    logger: { stdout: "/var/log/web.log" },
    dependsOn: [{ id: "migrate", condition: "finished" }],
  });
  for (const part of [
    /web PrivateTmp: procman has no sandbox/,
    /web WatchdogSec: "health" asks it/,
    /web Colour: is not a directive that this import knows/,
    /web After: postgresql\.service is not imported/,
  ])
    assert.match(notes.join("\n"), part);
  assert.doesNotMatch(notes.join("\n"), /network\.target/);
});

test("a timer makes its service a schedule, a path unit makes it watch, a template a cluster", async (context) => {
  const service = "[Service]\nExecStart=/bin/job %p %i\n";
  const files = {
    "report.service": service,
    "report.timer":
      "[Timer]\nOnCalendar=Mon..Fri *-*-* 03:30:00 Europe/Berlin\nPersistent=true\nRandomizedDelaySec=5min\n",
    "sync.service": service,
    "sync.path": "[Path]\nPathModified=/srv/in\n",
    "web@.service": service,
    "web@7.service": service,
    "lonely.timer": "[Timer]\nOnCalendar=daily\n",
    "odd.service": service,
    "odd.timer": "[Timer]\nOnCalendar=*-02~03\nOnBootSec=5min\n",
  };
  const { config, notes } = await importOf(context, files, Object.keys(files));
  const [report, sync, template, instance, odd] = config.processes;
  assert.deepEqual(
    [report?.cron, report?.timeZone, report?.catchUp, report?.jitter, report?.autostart, report?.restart],
    ["30 3 * * MON-FRI", "Europe/Berlin", true, 300, undefined, undefined],
  );
  assert.deepEqual(sync?.watch, ["/srv/in"]);
  assert.deepEqual([template?.cmd, template?.cluster], ["/bin/job web {instance}", { instances: 1 }]);
  assert.equal(instance?.cmd, "/bin/job web 7");
  assert.equal(odd?.cron, undefined);
  for (const part of [
    /lonely\.timer: is for lonely\.service: import that/,
    /odd OnCalendar: \*-02~03: write it as "cron"/,
    /odd OnBootSec: 5min/,
  ])
    assert.match(notes.join("\n"), part);
});

test("a line that is none of a unit is an error with its place; a unit without ExecStart is left out", async (context) => {
  await assert.rejects(
    importOf(context, { "a.service": "[Service]\nExecStart /bin/true\n" }),
    /a\.service:2:1[\s\S]*expected \[Section\] or Directive=value/,
  );
  const { dropped } = await importOf(context, { "a.service": "[Service]\nType=oneshot\n" });
  assert.deepEqual(dropped, ["a"]);
});

test("calendar expressions are cron patterns with the same times; what cron can't say is refused", () => {
  for (const [text, pattern] of [
    ["daily", "0 0 * * *"],
    ["*-*-* 03:00:00", "0 3 * * *"],
    ["*:0/15", "*/15 * * * *"],
    ["Mon,Wed *-*-* 12:00", "0 12 * * MON,WED"],
    ["Sat,Sun 20:30:10", "10 30 20 * * SAT,SUN"],
    ["*-*-1,15 04:00:00", "0 4 1,15 * *"],
    ["Mon *-*-1 00:00:00", "0 0 1 * +MON"],
    ["2030-06-01 12:00:00", "0 0 12 1 6 * 2030"],
    ["08..17:00", "0 8-17 * * *"],
  ] as const)
    assert.equal(cronOf(text)?.pattern, pattern, text);
  for (const text of ["", "*-02~03", "nonsense", "*-*-* 03:00:00.5"]) assert.equal(cronOf(text), undefined, text);
  assert.deepEqual(
    [spanOf("1min 30s"), spanOf("90"), spanOf("infinity"), spanOf("1 blue"), spanOf("")],
    [90, 90, Number.POSITIVE_INFINITY, undefined, undefined],
  );
});

test("a crontab: times, nicknames, variables, input behind percent signs, the shell, and users of system tables", async (context) => {
  const text = `# jobs
MAILTO=me@example.org
PATH=/usr/local/bin:/usr/bin
TOKEN = "a \${b}"
*/5 * * * * cd /srv && ./backup.sh --all > log
@daily date +\\%F
30 6 * * 1-5 mail -s hello root%Hello%it's me
SHELL=/bin/bash
@reboot /usr/bin/thing
`;
  const { config, notes } = await importOf(context, { crontab: text });
  const common = { cwd: "~", env: { TOKEN: "a $${b}" }, pathFirst: ["/usr/local/bin", "/usr/bin"] };
  assert.deepEqual(config.processes, [
    { id: "backup", cmd: "cd /srv && ./backup.sh --all > log", cron: "*/5 * * * *", overrun: true, ...common },
    { id: "date", cmd: "date +%F", cron: "0 0 * * *", overrun: true, ...common },
    {
      id: "mail",
      cmd: "printf '%s\\n' Hello 'it'\\''s me' | { mail -s hello root; }",
      cron: "30 6 * * 1-5",
      overrun: true,
      ...common,
    },
    { id: "thing", cmd: "/bin/bash -c /usr/bin/thing", autostart: true, restart: "never", ...common },
  ]);
  assert.match(notes.join("\n"), /backup MAILTO: me@example\.org: `procman logs backup` has the output/);
  const system = await importOf(context, { "cron.d/jobs": "0 1 * * * root /bin/job --x\n" });
  assert.deepEqual([system.config.processes[0]?.cmd, system.config.processes[0]?.cron], ["/bin/job --x", "0 1 * * *"]);
  await assert.rejects(
    importOf(context, { crontab: "* * * * * true\n* * true\n" }),
    /crontab:2:1[\s\S]*expected NAME=value, or five times and a command/,
  );
});

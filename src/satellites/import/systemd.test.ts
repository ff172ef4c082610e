/** Units of systemd, and crontabs, as processes of procman. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { folderOfFiles, importOf } from "../../../test/support/import-rig.ts";
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
    // Five starts in 10 s: only runs below half a second are as many, with the delay of 1.5 s.
    restartLimit: 4,
    restartResetMs: 500,
    timeout: 3_600,
    successExitCodes: [3, "SIGKILL", "SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE"],
    stopSignal: "SIGINT",
    terminateTimeout: 90,
    killMode: "leader",
    env: { NODE_ENV: "production", GREETING: "hello world", PRICE: "$5" },
    envFile: { path: "/srv/shop/.env", optional: true },
    inheritEnv: false,
    pathFirst: ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"],
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
    /web LimitNOFILE: the hard limit is 8192: procman sets both to one value, here the soft one/,
    /web After: postgresql\.service is not imported/,
  ])
    assert.match(notes.join("\n"), part);
  assert.doesNotMatch(notes.join("\n"), /network\.target/);
});

test("standard input from a file is carried; another one is noted", async (context) => {
  const files = {
    "web.service": "[Service]\nExecStart=/bin/web\nStandardInput=file:/srv/answers.txt\n",
    "none.service": "[Service]\nExecStart=/bin/none\nStandardInput=null\n",
    "tty.service": "[Service]\nExecStart=/bin/tty\nStandardInput=tty\nTTYPath=/dev/tty9\n",
  };
  const { config, notes } = await importOf(context, files, Object.keys(files));
  assert.deepEqual(
    config.processes.map(({ stdin }) => stdin),
    [{ file: "/srv/answers.txt" }, undefined, undefined],
  );
  assert.deepEqual(
    notes.filter((note) => /StandardInput|TTY/.test(note)).map((note) => note.replace(/:.*/s, "")),
    ["tty StandardInput", "tty TTYPath"],
  );
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
  const common = {
    cwd: "~",
    env: { TOKEN: "a $${b}" },
    pathFirst: ["/usr/local/bin", "/usr/bin"],
    inheritEnv: ["HOME", "LOGNAME", "USER"],
  };
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

const importedService = async (
  context: Parameters<typeof importOf>[0],
  lines: string,
  unit = "",
): Promise<Awaited<ReturnType<typeof importOf>> & { readonly service: Readonly<Record<string, unknown>> }> => {
  const result = await importOf(context, {
    "web.service": `[Unit]\n${unit}\n[Service]\nExecStart=/bin/serve\n${lines}\n`,
  });
  return { ...result, service: result.config.processes[0] ?? {} };
};

test("restarts are limited as by systemd: so many starts in the interval, by default 5 in 10 s", async (context) => {
  const limitsOf = async (lines: string, unit = ""): Promise<readonly unknown[]> => {
    const { service } = await importedService(context, lines, unit);
    return [service.restartLimit, service.restartDelayMs, service.restartResetMs];
  };
  assert.deepEqual(await limitsOf("Restart=always"), [4, 100, 1_900]);
  // A service that runs for 4.5 s never has three starts in 10 s.
  assert.deepEqual(await limitsOf("Restart=on-failure\nRestartSec=500ms", "StartLimitBurst=3"), [2, 500, 2_833]);
  assert.deepEqual(await limitsOf("Restart=always\nRestartSec=5"), [undefined, 5_000, undefined]);
  assert.deepEqual(await limitsOf("Restart=always", "StartLimitIntervalSec=0"), [undefined, 100, undefined]);
  assert.deepEqual(await limitsOf("Restart=always", "StartLimitIntervalSec=infinity"), [4, 100, 2_073_600_000]);
  assert.deepEqual(await limitsOf(""), [undefined, undefined, undefined]);
  const { notes } = await importedService(context, "Restart=always\nRestartSec=5", "StartLimitBurst=3");
  assert.match(notes.join(), /web StartLimitBurst: 3 is never reached, because RestartSec waits too long/);
});

test("kinds of Restart= that procman lacks are said, and ends by SIGTERM and the like are no errors", async (context) => {
  const { service, notes } = await importedService(context, "Restart=on-abnormal\nRestartForceExitStatus=75");
  assert.deepEqual([service.restart, service.successExitCodes], ["error", ["SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE"]]);
  assert.match(notes.join("\n"), /web Restart: on-abnormal: systemd doesn't restart it after an exit code/);
  assert.match(notes.join("\n"), /web RestartForceExitStatus: restarts after certain codes only/);
});

test("several commands in one line, and a semicolon that is an argument", async (context) => {
  const lines =
    "Type=oneshot\nExecStart=\nExecStart=/bin/echo one ; -/bin/echo 'two ; x' \\; three\nExecStart=/bin/last";
  const { service } = await importedService(context, lines);
  assert.equal(service.cmd, "/bin/echo one && { /bin/echo 'two ; x' ';' three || true; } && /bin/last");
});

test("After= and Before= order the services; a note names each other directive of [Unit]", async (context) => {
  const service = "[Service]\nExecStart=/bin/x\n";
  const { config, notes } = await importOf(
    context,
    {
      "db.service": `[Unit]\nDescription=x\nBefore=web.service mail.service multi-user.target\n${service}`,
      "web.service": `[Unit]\nConditionEnvironment=A\nOnSuccess=x.service\n${service}`,
    },
    ["db.service", "web.service"],
  );
  assert.deepEqual(config.processes[1]?.dependsOn, [{ id: "db", condition: "finished" }]);
  assert.deepEqual(notes, [
    "db Before: mail.service is not imported: import it together with this unit",
    'web ConditionEnvironment: A: let a "beforeStart" hook check it, docs/guide/processes.md',
    "web OnSuccess: x.service: is not a directive that this import knows; see docs/guide/migrate.md",
  ]);
});

test("limits that are fractions, alone or no numbers are carried, or said", async (context) => {
  const limited = async (lines: string): Promise<Awaited<ReturnType<typeof importOf>>> =>
    importOf(context, { "web.service": `[Service]\nExecStart=/bin/x\n${lines}\n` });
  const { config } = await limited("CPUQuota=15.5%\nIOSchedulingPriority=6");
  assert.deepEqual(
    [config.processes[0]?.cpuQuota, config.processes[0]?.ioNice],
    [16, { class: "best-effort", level: 6 }],
  );
  const { notes } = await limited("CPUQuota=much\nNice=low");
  assert.match(notes.join("\n"), /web cpuQuota: procman refuses the value: Found "much"/);
  assert.match(notes.join("\n"), /web nice: procman refuses the value: Found "low"/);
});

test("a variable in an env file replaces the same one in the unit; a note names an env file that is missing here", async (context) => {
  const folder = folderOfFiles(context, { "web.env": "A=file\nB=2\n" });
  const { config, notes } = await importOf(context, {
    "web.service": `[Service]\nExecStart=/bin/x\nEnvironment=A=unit C=3\nEnvironmentFile=${folder}/web.env\nEnvironmentFile=-/nowhere/x\n`,
  });
  assert.deepEqual(config.processes[0]?.env, { C: "3" });
  assert.deepEqual(notes, [
    'web EnvironmentFile: /nowhere/x isn\'t here: what it has of C replaces Environment= there, and not "env" here',
  ]);
});

test("behind a colon nothing is a variable, also not a word alone", async (context) => {
  const { config } = await importOf(context, { "web.service": "[Service]\nExecStart=:/bin/serve $A ${B} x$$\n" });
  assert.equal(config.processes[0]?.cmd, "/bin/serve '$A' '${B}' 'x$$'");
});

test("ExecStop= that is only a signal is the signal of a stop; any other command is said", async (context) => {
  for (const [command, signal] of [
    ["/bin/kill -s QUIT $MAINPID", "SIGQUIT"],
    ["-/usr/bin/kill -SIGINT ${MAINPID}", "SIGINT"],
    ["kill -HUP $MAINPID", "SIGHUP"],
    ["/bin/kill $MAINPID", undefined],
  ] as const) {
    const { service, notes } = await importedService(context, `ExecStop=${command}`);
    assert.deepEqual([service.stopSignal, notes], [signal, []], command);
  }
  const { notes } = await importedService(context, "ExecStop=/usr/bin/serve --stop");
  assert.match(notes.join(), /web ExecStop: procman runs no command to stop a process/);
});

test("a service gets only the variables that it names, and systemd's own PATH or its own", async (context) => {
  const { service } = await importedService(
    context,
    "Environment=PATH=/opt/bin:/usr/bin A=1\nPassEnvironment=HOME LANG",
  );
  assert.deepEqual(
    [service.env, service.pathFirst, service.inheritEnv],
    [{ A: "1" }, ["/opt/bin", "/usr/bin"], ["HOME", "LANG"]],
  );
  const file = "systemd/user/web.service";
  const { config } = await importOf(context, { [file]: "[Service]\nExecStart=/bin/serve\n" });
  assert.deepEqual([config.processes[0]?.inheritEnv, config.processes[0]?.pathFirst], [undefined, undefined]);
});

test("a user that is missing here stays, so that the program never runs as root instead", async (context) => {
  const { service, notes } = await importedService(context, "User=no-such-user-here\nGroup=no-such-group-here");
  assert.deepEqual([service.user, service.group], ["no-such-user-here", "no-such-group-here"]);
  assert.match(notes.join("\n"), /web user: stays, and `procman run` refuses it/);
  assert.match(notes.join("\n"), /web group: stays, and `procman run` refuses it/);
});

test("an env file that systemd reads in another way is named, with the variables and without their values", async (context) => {
  const text = "# x\n; y\nA=p#ss\nB=one # two\nC=a \\\n  b\nD=\"x\\ny\"\nE='x # y'\nF=plain \nG=\"a\" 'b'\n";
  const folder = folderOfFiles(context, { "web.env": text });
  const { notes } = await importedService(context, `EnvironmentFile=-${folder}/web.env\nEnvironmentFile=-/nowhere/x`);
  assert.deepEqual(
    notes.filter((note) => note.includes("EnvironmentFile")),
    [
      `web EnvironmentFile: procman reads B, C, D, G of ${folder}/web.env in another way: write the values in quotes, in one line`,
    ],
  );
});

test("a timer of an instance makes that instance of its template; the template alone runs nothing", async (context) => {
  const files = {
    "backup@.service": "[Service]\nExecStart=/bin/backup %i\n",
    "backup@home.timer": "[Timer]\nOnCalendar=daily\n",
    "backup@srv.timer": "[Timer]\nOnCalendar=hourly\n",
    "nightly.timer": "[Timer]\nOnCalendar=weekly\nUnit=backup@all.service\n",
  };
  const { config } = await importOf(context, files, Object.keys(files));
  assert.deepEqual(
    config.processes.map(({ id, cmd, cron }) => [id, cmd, cron]),
    [
      ["backup-home", "/bin/backup home", "0 0 * * *"],
      ["backup-srv", "/bin/backup srv", "0 * * * *"],
      ["backup-all", "/bin/backup all", "0 0 * * MON"],
    ],
  );
});

test("a crontab and a Procfile may have any character in a command", async (context) => {
  const odd = "a \u2028 b";
  const { config } = await importOf(context, { crontab: `@daily ${odd}\n`, Procfile: `web: ${odd}\n` }, [
    "crontab",
    "Procfile",
  ]);
  assert.deepEqual(
    config.processes.map(({ cmd }) => cmd),
    [odd, odd],
  );
});

test("each of a hundred jobs with the same fault has its note, and the written file is valid", async (context) => {
  const { config, notes } = await importOf(context, { crontab: "1 2 3 $ 5 /bin/x\n".repeat(100) });
  assert.deepEqual([config.processes.length, config.processes.filter(({ cron }) => cron !== undefined)], [100, []]);
  assert.equal(notes.filter((note) => note.includes('procman refuses the value: Found "1 2 3 $ 5"')).length, 100);
});

test("a crontab: the last percent sign ends the last line, as in cron", async (context) => {
  const text = "@daily cat%a%\n@daily cat%\n@daily cat%a\n@daily cat%%\n";
  const { config } = await importOf(context, { crontab: text });
  assert.deepEqual(
    config.processes.map(({ cmd }) => cmd),
    ["printf '%s\\n' a | { cat; }", "cat", "printf '%s\\n' a | { cat; }", "printf '%s\\n' '' | { cat; }"],
  );
});

test("a crontab: a job that leaves something running is said, because procman ends it", async (context) => {
  const jobs = [
    "@reboot ./server &",
    "@reboot nohup ./other > log 2>&1 &",
    "@daily screen -d -m x",
    "@daily a && b 2>&1 | c 'x & y' >& log",
  ];
  const { notes } = await importOf(context, { crontab: `${jobs.join("\n")}\n` });
  assert.deepEqual(
    notes.filter((note) => note.includes("in the background")).map((note) => note.split(" ")[0]),
    ["server", "other", "screen"],
  );
});

test("a crontab whose lines all name a user is one of the system, wherever it lies", async (context) => {
  const { config } = await importOf(context, { crontab: "0 1 * * * root cd / && run-parts x\n@daily nobody /bin/y\n" });
  assert.deepEqual(
    config.processes.map(({ cmd, user, inheritEnv }) => [cmd, user, inheritEnv]),
    [
      ["cd / && run-parts x", "root", undefined],
      ["/bin/y", "nobody", undefined],
    ],
  );
  const own = await importOf(context, { crontab: "0 1 * * * root cd /\n0 2 * * * ./x root\n" });
  assert.equal(own.config.processes[0]?.cmd, "root cd /");
});

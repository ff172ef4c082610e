import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, fileOf, notesAbout } from "../../../../test/support/export-rig.ts";

const WEB = { id: "web", cmd: "node server.js", autostart: true };

function unit(name: string, process?: object): string {
  return fileOf(exported("systemd", process === undefined ? undefined : { name: "shop", processes: [process] }), name);
}

/** The lines of a unit with these keys. */
function linesOf(text: string, ...keys: readonly string[]): readonly string[] {
  return text.split("\n").filter((line) => keys.some((key) => line.startsWith(`${key}=`)));
}

test("words, variables and quotes are written so that systemd reads them as they are", () => {
  const text = unit("shop-web.service", {
    ...WEB,
    cmd: "echo $HOME 100%",
    env: { TEXT: 'a "b" \\ %n $x\nline', PLAIN: "1" },
  });
  assert.deepEqual(linesOf(text, "Environment", "ExecStart"), [
    String.raw`Environment="TEXT=a \"b\" \\ %%n $x\nline"`,
    "Environment=PLAIN=1",
    'ExecStart=/bin/sh -c "echo $$HOME 100%%"',
  ]);
});

test("with an env file, which would override Environment=, the shell sets the variables of the configuration", () => {
  const text = unit("shop-web.service", {
    ...WEB,
    envFile: ["web.env", { path: "local.env", optional: true }],
    env: { LEVEL: "2" },
  });
  assert.deepEqual(linesOf(text, "Environment", "EnvironmentFile", "ExecStart"), [
    "EnvironmentFile=/srv/shop/web.env",
    "EnvironmentFile=-/srv/shop/local.env",
    String.raw`ExecStart=/bin/sh -c "export LEVEL=2\nexec /usr/bin/node server.js"`,
  ]);
});

test("a file as standard input is that of the unit", () => {
  const text = unit("shop-web.service", { ...WEB, stdin: { file: "my answers.txt" } });
  assert.deepEqual(linesOf(text, "StandardInput"), ["StandardInput=file:/srv/shop/my answers.txt"]);
});

test("secrets are credentials of systemd, or come from a file that the report names", () => {
  const process = { ...WEB, env: { KEY: { file: "/run/secrets/key" }, TOKEN: { env: "TOKEN" } } };
  const text = unit("shop-web.service", process);
  assert.deepEqual(linesOf(text, "EnvironmentFile", "LoadCredential"), [
    "EnvironmentFile=/etc/shop/web.env",
    "LoadCredential=KEY:/run/secrets/key",
  ]);
  const notes = notesAbout(exported("systemd", { name: "shop", processes: [process] }), "env");
  assert.deepEqual(notes, ["web: write TOKEN=… to /etc/shop/web.env, for root alone"]);
});

test("a process that others wait for is a unit that they wait for: until it is ready, or until it has finished", () => {
  assert.deepEqual(linesOf(unit("shop-web-1.service"), "Requires", "Wants", "After"), [
    "Requires=shop-migrate.service",
    "After=shop-migrate.service",
  ]);
  assert.deepEqual(linesOf(unit("shop-migrate.service"), "Wants", "After", "Type", "RemainAfterExit"), [
    "Wants=shop-db.service",
    "After=shop-db.service",
    "Type=oneshot",
    "RemainAfterExit=yes",
  ]);
  assert.match(
    unit("shop-db.service"),
    /^ExecStartPost=\/bin\/bash -c "until \( .*\/dev\/tcp\/127\.0\.0\.1\/7000.* \) .*; do sleep 0\.1; done"$/m,
  );
  assert.deepEqual(linesOf(unit("shop-db.service"), "TimeoutStartSec"), ["TimeoutStartSec=10"]);
});

test("restarts, stops and limits are those of the process", () => {
  assert.deepEqual(
    linesOf(
      unit("shop-mail.service"),
      "StartLimitBurst",
      "SuccessExitStatus",
      "Restart",
      "RestartForceExitStatus",
      "Nice",
      "IOSchedulingPriority",
      "OOMScoreAdjust",
      "StandardOutput",
    ),
    [
      "StartLimitBurst=6",
      "SuccessExitStatus=3 SIGTERM",
      "Restart=on-failure",
      "RestartForceExitStatus=SIGHUP SIGINT SIGPIPE",
      "Nice=5",
      "IOSchedulingPriority=6",
      "OOMScoreAdjust=300",
      "StandardOutput=append:/srv/shop/logs/mail.log",
    ],
  );
  assert.deepEqual(
    linesOf(
      unit("shop-web-2.service"),
      "Restart",
      "KillSignal",
      "TimeoutStopSec",
      "LimitNOFILE",
      "UMask",
      "ExecReload",
    ),
    [
      "ExecReload=/bin/kill -HUP $MAINPID",
      "Restart=always",
      "KillSignal=SIGINT",
      "TimeoutStopSec=5",
      "LimitNOFILE=4096",
      "UMask=027",
    ],
  );
  assert.deepEqual(linesOf(unit("shop-db.service"), "MemoryMax", "CPUQuota"), ["MemoryMax=256000000", "CPUQuota=150%"]);
});

test("each instance has its port; schedules are timers with zone, jitter and missed starts; the target starts what starts by itself", () => {
  assert.match(unit("shop-web-2.service"), /^Environment=PORT=3002$/m);
  assert.deepEqual(
    linesOf(
      unit("shop-report.timer"),
      "OnCalendar",
      "AccuracySec",
      "Persistent",
      "RandomizedDelaySec",
      "FixedRandomDelay",
    ),
    [
      "OnCalendar=Mon..Fri *-*-* 03:00:00 Europe/Berlin",
      "AccuracySec=1s",
      "Persistent=yes",
      "RandomizedDelaySec=30",
      "FixedRandomDelay=yes",
    ],
  );
  const wanted = linesOf(unit("shop.target"), "Wants").map((line) => line.slice("Wants=shop-".length));
  assert.deepEqual(wanted, [
    "db.service",
    "migrate.service",
    "web-1.service",
    "web-2.service",
    "mail.service",
    "report.timer",
  ]);
});

test("systemd limits only the starts of a process that has a limit: schedules may be dense, and starts by hand frequent", () => {
  const limits = (process: object): readonly string[] =>
    linesOf(unit("shop-web.service", { ...WEB, ...process }), "StartLimitIntervalSec", "StartLimitBurst");
  const none = ["StartLimitIntervalSec=0"];
  assert.deepEqual(
    [limits({}), limits({ restart: "never" }), limits({ autostart: false, cron: "* * * * * *" })],
    [none, none, none],
  );
  assert.deepEqual(limits({ restartLimit: 2, restartResetMs: 5_000 }), [
    "StartLimitBurst=3",
    "StartLimitIntervalSec=15",
  ]);
});

test("a schedule of stops is a timer that restarts a process that is always restarted, and stops another one", () => {
  const stop = (restart: string): string =>
    unit("shop-web-terminate.service", { ...WEB, restart, terminate: "0 4 * * *" });
  assert.match(stop("always"), /^ExecStart=systemctl --no-block try-restart shop-web\.service$/m);
  assert.match(stop("error"), /^ExecStart=systemctl --no-block stop shop-web\.service$/m);
});

test("instances with a shared socket get it from a unit of systemd", () => {
  const text = (name: string): string =>
    unit(name, { ...WEB, cluster: { instances: 2, mode: "share", commonPort: 3000 } });
  assert.deepEqual(linesOf(text("shop-web.socket"), "ListenStream", "Service"), [
    "ListenStream=127.0.0.1:3000",
    "Service=shop-web-1.service",
  ]);
  assert.deepEqual(linesOf(text("shop-web-2.service"), "Sockets", "Requires"), [
    "Requires=shop-web.socket",
    "Sockets=shop-web.socket",
  ]);
});

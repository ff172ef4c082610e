/** Tables of units and of lines of crontabs, one for each kind: what a program sees is the same under systemd or cron and, imported, under procman. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bootForeign, FOLDER, fresh, PROGRAM, seenIn, WRITTEN, written } from "../support/foreign-box.ts";
import type { Seen } from "../support/peer-rig.ts";
import { assertSameRows, countsOf, type PeerRow, type PeerRows } from "../support/peer-table.ts";
import { isMissing } from "../support/system-programs.ts";
import { SystemdBox } from "../support/systemd-box.ts";

type Unit = PeerRow & { readonly service: readonly string[]; readonly unit?: readonly string[] };

const UNITS = "/etc/systemd/system";
/** Variables that each manager has of its own. */
const OTHERS = ["PATH", "LANG"];

function unitsOf(node: string): Readonly<Record<string, Unit>> {
  const run = `${node} ${PROGRAM} NAME`;
  const runs = (args: string, ...service: readonly string[]): Unit => ({
    starts: 1,
    signals: 1,
    service: [`ExecStart=${run} ${args}`, ...service],
  });
  const line = (command: string, ...service: readonly string[]): Unit => ({
    ...runs(""),
    service: [`ExecStart=${command}`, ...service],
  });
  const ends = (args: string, starts: number, ...service: readonly string[]): Unit => ({
    ...runs(args, ...service),
    starts,
    signals: 0,
  });
  const settles = (args: string, starts: number, ...service: readonly string[]): Unit => ({
    ...runs(args, ...service),
    starts,
  });
  // A busy machine starts Node slowly: a minute for five starts.
  const limited = (unit: Unit, ...lines: readonly string[]): Unit => ({
    ...unit,
    unit: ["StartLimitIntervalSec=60", ...lines],
  });
  const seldom = "Restart=on-failure";
  return {
    words: runs(`"two words" 'a b' a\\x41 "q\\"q" $$HOME 100%% a;b \\; x#y "it's" * ~`),
    variables: runs(`$A "\${A}" \${B}x $UNSET "\${UNSET}" p$B`, `Environment="A=x  y" B=1 "C=it's" D=$A`),
    plain: line(`:${run} $A \${A}`, "Environment=A=1"),
    tolerated: { ...line(`-${run} exit 3`, seldom), signals: 0 },
    named: line(`@/bin/sh shell -c 'exec ${run} x'`),
    lines: runs("a \\\n  b \\\n# a comment\n  c"),
    file: runs("x", `EnvironmentFile=${FOLDER}/a.env`, "EnvironmentFile=-/nowhere.env", "Environment=A=first E=5"),
    reset: runs("x", "Environment=A=1 B=2", "Environment=", "Environment=C=3"),
    folder: runs("x", `WorkingDirectory=${FOLDER}/sub`),
    home: runs("x", "WorkingDirectory=~", "User=procman-deploy"),
    group: runs("x", "User=procman-deploy", "Group=daemon"),
    umask: runs("x", "UMask=0027"),
    limits: line(
      `/bin/sh -c 'exec ${run} "$(nice)" "$(ulimit -Sn)" "$(cat /proc/self/oom_score_adj)"'`,
      ...["Nice=5", "LimitNOFILE=4096", "OOMScoreAdjust=300"],
    ),
    specifiers: runs("%n %N %p %H %% %t"),
    template: runs("%i %p %n"),
    dropin: runs("x $MORE"),
    before: line(
      `/bin/sh -c 'exec ${run} "$$(cat ${WRITTEN}/pre)"'`,
      `ExecStartPre=/bin/sh -c 'echo 1 > ${WRITTEN}/pre'`,
    ),
    twice: { ...ends("exit 0", 2, "Type=oneshot", `ExecStart=${run} exit 0`) },
    // Restarts.
    always: settles("exit 0 2", 3, "Restart=always"),
    failed: settles("exit 3 2", 3, seldom),
    success: ends("exit 0", 1, seldom),
    coded: ends("exit 3", 1, seldom, "SuccessExitStatus=3"),
    never: ends("exit 3", 1),
    delayed: { ...settles("exit 3 2", 3, seldom, "RestartSec=700ms"), gapMs: 700 },
    crash: limited(ends("exit 3", 5, seldom)),
    few: limited(ends("exit 3", 3, seldom), "StartLimitBurst=3"),
    // A start each 1.6 s and more: never two in 2 s.
    steady: {
      ...ends("", 4, seldom),
      service: [`ExecStart=/bin/sh -c '${run} exit 0; sleep 1.5; exit 3'`, seldom],
      unit: ["StartLimitBurst=2", "StartLimitIntervalSec=2"],
      isEndless: true,
    },
    timed: { ...runs("x", "RuntimeMaxSec=1") },
    // Order.
    job: { ...ends("", 1), service: ["Type=oneshot", `ExecStart=/bin/sh -c 'sleep 0.5; exec ${run} exit 0'`] },
    late: { ...runs("x"), unit: ["After=procman-test-job.service"], startsAfter: "job" },
    // systemctl asks for one stop after another.
    above: { ...runs("x"), unit: ["After=procman-test-below.service"], stopsBefore: "below" },
    below: runs("x"),
    // Stops.
    signal: runs("x", "KillSignal=SIGINT"),
    // systemd sends SIGTERM as soon as kill has ended: which one is handled first is a matter of luck.
    command: runs("ignore SIGTERM", "ExecStop=/bin/kill -s QUIT $MAINPID"),
    deaf: { ...runs("ignore SIGTERM", "TimeoutStopSec=2"), signals: 0, killedAfterMs: 2_000 },
    tree: runs("child"),
    "tree-child": runs(""),
    mixed: runs("child", "KillMode=mixed"),
    "mixed-child": { ...runs(""), signals: 0, isLeft: true },
  };
}

/** Lines of a crontab; each writes down once. */
const JOBS: Readonly<Record<string, readonly [before: string, line: string]>> = {
  percent: ["", '\\%F "100\\%" | cat'],
  words: ["", `"two words" 'a b' a\\ b`],
  shell: ["", "$(echo a b) `echo c` $((1 + 1)) && true"],
  glob: ["", "sub/*"],
  comment: ["", "x # a comment of the shell"],
  variable: ["", '"$GREETING" ${GREETING}x'],
  unset: ["", 'a$UNSET"b"'],
  home: ["", '"$HOME" ~'],
  assigned: ["", '"$OWN"'],
  input: ["", "$(cat)%first%it's second"],
  quoted: [' "QUOTED" = "a b"', '"$QUOTED"'],
  single: ["SINGLE='c  d'", '"$SINGLE"'],
  blank: ["BLANK = e  f ", '"$BLANK"'],
  empty: ['EMPTY=""', '"[$EMPTY]"'],
  equals: ["EQUALS=a=b=c", '"$EQUALS"'],
  hash: ["HASH=p#ss # x", '"$HASH"'],
  dollar: ["DOLLAR=$HOME/x", '"$DOLLAR"'],
  later: ["GREETING=other", '"$GREETING"'],
  path: ["PATH=/opt:NODE:/usr/bin:/bin", "${PATH\\%\\%:*}"],
  folder: [`HOME=${FOLDER}/sub`, '"$HOME" *'],
  bash: ["SHELL=/bin/bash", "{a,b} <<< x"],
  sh: ["SHELL=/bin/sh", "x"],
  zone: ["TZ=Asia/Tokyo", '"$(date +\\%Z)"'],
  mail: ["MAILTO=nobody", "x"],
  logname: ["", '"$LOGNAME"'],
};

describe("imported units and crontabs", { skip: SystemdBox.skip }, () => {
  let box: SystemdBox;

  before(async () => {
    box = await bootForeign();
  });

  after(() => box.close());

  /** What all have seen from start to stop. */
  async function account(
    rows: PeerRows,
    start: string,
    stop: string,
  ): Promise<Readonly<Record<string, readonly [seen: readonly Seen[], lived: number]>>> {
    await fresh(box);
    await box.must(start);
    await written(box, countsOf(rows, "starts"), "args");
    await box.must(stop);
    await written(box, countsOf(rows, "signals"), "signal");
    const all = await Promise.all(
      Object.keys(rows).map(async (name) => {
        const lived = await box.run(`tail -n 1 ${WRITTEN}/${name}.lived`);
        return [name, [await seenIn(box, name), Number(lived.out)]] as const;
      }),
    );
    return Object.fromEntries(all);
  }

  test("systemd: words, variables, folder, user, limits, restarts and stops of each kind of unit", async () => {
    const rows = unitsOf(await box.must("command -v node"));
    assert.ok(Object.keys(rows).length >= 25);
    const named = Object.entries(rows).filter(([name]) => !name.endsWith("-child"));
    for (const [name, { unit = [], service }] of named)
      await box.write(
        `${UNITS}/procman-test-${name === "template" ? "template@" : name}.service`,
        `[Unit]\n${unit.join("\n")}\n[Service]\n${service.join("\n").replaceAll("NAME", name)}\n`,
      );
    await box.write(`${UNITS}/procman-test-dropin.service.d/more.conf`, "[Service]\nEnvironment=MORE=more\n");
    await box.write(`${FOLDER}/a.env`, "A=\"x y\"\nB=p#ss\n# a comment\nC='c d'\nD=a=b\n");
    const names = named.map(([name]) => `procman-test-${name === "template" ? "template@a" : name}.service`);
    const there = await account(
      rows,
      `systemctl daemon-reload && systemctl start ${names.join(" ")}`,
      `systemctl stop ${names.join(" ")}`,
    );
    const folder = `${FOLDER}/imported`;
    // An instance has no file of its own.
    await box.must(`cp ${UNITS}/procman-test-template@.service ${UNITS}/procman-test-template@a.service`);
    await box.must(
      `mkdir ${folder} && cd ${folder} && procman import ${names.map((name) => `${UNITS}/${name}`).join(" ")}`,
    );
    const here = await account(
      rows,
      `cd ${folder} && { OUTER=1 procman run --detach || [ $? = 1 ]; }`,
      `cd ${folder} && procman terminate`,
    );
    const records = { procman: here, systemd: there } as const;
    const of = (run: string, name: string): readonly [readonly Seen[], number] =>
      records[run as keyof typeof records][name] ?? [[], 0];
    assertSameRows(
      { seen: (run, name) => of(run, name)[0], lived: (run, name) => of(run, name)[1] },
      "systemd",
      Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, { ...row, except: OTHERS }])),
      ["OUTER", "HOME", "USER"],
    );
  });

  test("cron: words, variables, folder and input of each kind of line", async (context) => {
    if (isMissing(context, "cron")) return;
    assert.ok(Object.keys(JOBS).length >= 25);
    const node = await box.must("dirname $(command -v node)");
    const lines = Object.entries(JOBS).map(([name, [variable, args]]) => {
      const command = `${name === "assigned" ? "OWN=own " : ""}node ${PROGRAM} ${name} exit 0 ${args}`;
      return `${variable.replace("NODE", node)}\n@reboot ${command}\n`;
    });
    const crontab = `PATH=${node}:/usr/bin:/bin\nHOME=${FOLDER}\nGREETING = "a b"\n${lines.join("")}`;
    const counts = Object.fromEntries(Object.keys(JOBS).map((name) => [name, 1]));
    const rows = Object.fromEntries(
      Object.keys(JOBS).map((name): [string, PeerRow] => [name, { starts: 1, signals: 0, except: OTHERS }]),
    );
    const result = async (): Promise<Readonly<Record<string, readonly Seen[]>>> => {
      await written(box, counts, "args");
      const all = await Promise.all(Object.keys(JOBS).map(async (name) => [name, await seenIn(box, name)] as const));
      return Object.fromEntries(all);
    };
    await fresh(box);
    await box.must(`touch ${FOLDER}/sub/one ${FOLDER}/sub/two`);
    await box.write(`${FOLDER}/cron/crontab`, crontab);
    await box.must(`crontab ${FOLDER}/cron/crontab`);
    await box.must("rm -f /run/crond.reboot; systemd-run --unit=procman-test-cron --quiet cron -f");
    const there = await result();
    await box.must("systemctl stop procman-test-cron");
    await fresh(box);
    await box.must(`cd ${FOLDER}/cron && procman import crontab && LOGNAME=root OUTER=1 procman run --detach`);
    const here = await result();
    await box.must(`cd ${FOLDER}/cron && procman terminate`);
    const records: Readonly<Record<string, Readonly<Record<string, readonly Seen[]>>>> = { procman: here, cron: there };
    assertSameRows({ seen: (run, name) => records[run]?.[name] ?? [], lived: () => 0 }, "cron", rows, [
      "OUTER",
      "HOME",
      "LOGNAME",
    ]);
  });
});

/** What a program sees under systemd and cron themselves, and under procman, is the same: exported units, imported units, an imported crontab. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { comparable, type Seen } from "../support/peer-rig.ts";
import { ROOT } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { SystemdBox } from "../support/systemd-box.ts";

const FOLDER = "/srv/units";
const PROGRAM = `${FOLDER}/write-down.cjs`;
const VARIABLES = ["GREETING", "QUOTE", "PERCENT", "EMPTY", "PORT"];

const PROCESSES = [
  {
    id: "words",
    cmd: `node ${PROGRAM} words 'two words' '$HOME' 100% '"quoted"' 'a\\b'`,
    autostart: true,
    restart: "always",
    stopSignal: "SIGINT",
    cwd: `${FOLDER}/sub`,
    umask: "027",
    env: { GREETING: "two words", QUOTE: `it's "here"`, PERCENT: "100 % of $HOME", EMPTY: "" },
  },
  { id: "other", cmd: `node ${PROGRAM} other`, autostart: true, user: "procman-deploy", dependsOn: ["words"] },
  { id: "again", cmd: `node ${PROGRAM} again exit 3 1`, autostart: true, restart: "error" },
  { id: "once", cmd: `node ${PROGRAM} once exit 0`, autostart: true },
  { id: "many", cmd: `node ${PROGRAM} many`, autostart: true, cluster: { instances: 2, startPort: 17_001 } },
] as const;

const STARTS = { words: 1, other: 1, again: 2, once: 1, many: 2 };
const SIGNALS = { words: 1, other: 1, again: 1, many: 2 };

describe("units and crontabs", { skip: SystemdBox.skip }, () => {
  let box: SystemdBox;

  before(async () => {
    box = await SystemdBox.boot();
    await box.must("useradd --create-home --shell /bin/sh procman-deploy");
    await box.must(`mkdir -p ${FOLDER}/sub`);
    // The same variable for all: how each of them passes it on is not a subject here.
    const text = readFileSync(join(ROOT, "test/programs/write-down.cjs"), "utf8");
    await box.write(PROGRAM, text.replaceAll("process.env.WRITTEN_DOWN", JSON.stringify(`${FOLDER}/written`)));
  });

  after(() => box.close());

  async function fresh(): Promise<void> {
    await box.must(`rm -rf ${FOLDER}/written && mkdir -m 777 ${FOLDER}/written`);
  }

  async function seen(name: string): Promise<readonly Seen[]> {
    const text = await box.must(`cat ${FOLDER}/written/${name}.jsonl`);
    return text.split("\n").map((line) => JSON.parse(line) as Seen);
  }

  /** Waits until each program has written so many of these. */
  async function written(counts: Readonly<Record<string, number>>, what: "args" | "signal"): Promise<void> {
    for (const [name, count] of Object.entries(counts))
      await box.eventually(`[ "$(grep -c '"${what}"' ${FOLDER}/written/${name}.jsonl)" = ${count} ]`);
  }

  /** What all have seen from start to stop. */
  async function account(start: string, stop: string): Promise<Readonly<Record<string, readonly string[]>>> {
    await fresh();
    await box.must(start);
    await written(STARTS, "args");
    await box.must(stop);
    await written(SIGNALS, "signal");
    const all = await Promise.all(
      Object.keys(STARTS).map(async (name) => [name, comparable(await seen(name), VARIABLES)] as const),
    );
    return Object.fromEntries(all);
  }

  test("what `export --to systemd` writes runs under systemd as under procman; imported again, too", async () => {
    await box.write(`${FOLDER}/procman.jsonc`, JSON.stringify({ name: "procman-test-shop", processes: PROCESSES }));
    // It reports the first end of `again` with 1.
    const procmanIn = (folder: string) =>
      account(`cd ${folder} && { procman run --detach || [ $? = 1 ]; }`, `cd ${folder} && procman terminate`);
    const here = await procmanIn(FOLDER);
    assert.equal(here.words?.length, 2);
    await box.must(
      `cd ${FOLDER} && procman export --to systemd --output out && cp out/* /etc/systemd/system/ && systemctl daemon-reload`,
    );
    const verified = await box.run(`systemd-analyze verify --man=no ${FOLDER}/out/*`);
    assert.deepEqual([verified.code, verified.err], [0, ""]);
    assert.deepEqual(
      await account("systemctl start procman-test-shop.target", "systemctl stop procman-test-shop.target"),
      here,
    );
    await box.must(`mkdir ${FOLDER}/back && cd ${FOLDER}/back && procman import ../out/*.service ../out/*.target`);
    assert.deepEqual(await procmanIn(`${FOLDER}/back`), here);
  });

  test("limits of starts and the environment that a unit leaves out are systemd's under procman, too", async () => {
    const node = await box.must("command -v node");
    const limit = (burst: string, interval: number): string =>
      `[Unit]\n${burst}\nStartLimitIntervalSec=${interval}\n[Service]\nRestart=on-failure\n`;
    const run = (args: string): string => `${node} ${PROGRAM} ${args}`;
    const units = {
      // A busy machine starts Node slowly: a minute for five starts.
      crash: `${limit("", 60)}ExecStart=${run("crash exit 3")}\n`,
      few: `${limit("StartLimitBurst=3", 60)}ExecStart=${run("few exit 3")}\n`,
      // A start each 1.6 s and more: never two in 2 s.
      steady: `${limit("StartLimitBurst=2", 2)}ExecStart=/bin/sh -c '${run("steady exit 0")}; sleep 1.5; exit 3'\n`,
      // systemd sends SIGTERM as soon as kill has ended: which one is handled first is a matter of luck.
      plain: `[Service]\nExecStart=${run("plain ignore SIGTERM")}\nExecStop=/bin/kill -s QUIT $MAINPID\n`,
    };
    for (const [name, text] of Object.entries(units))
      await box.write(`/etc/systemd/system/procman-test-${name}.service`, text);
    const starts = { crash: 5, few: 3, plain: 1 };
    const result = async (start: string, stop: string): Promise<readonly unknown[]> => {
      await fresh();
      await box.must(start);
      await written(starts, "args");
      await box.eventually(`[ "$(grep -c '"args"' ${FOLDER}/written/steady.jsonl)" -ge 4 ]`);
      await box.must(stop);
      await written({ plain: 1 }, "signal");
      const all = await Promise.all(Object.keys(starts).map((name) => seen(name)));
      return all.map((each) => comparable(each, ["HOME", "OUTER", "USER"]));
    };
    const names = Object.keys(units).map((name) => `procman-test-${name}`);
    const under = await result(
      `systemctl daemon-reload && systemctl start ${names.join(" ")}`,
      `systemctl stop ${names.join(" ")}`,
    );
    const files = names.map((name) => `/etc/systemd/system/${name}.service`).join(" ");
    await box.must(`mkdir ${FOLDER}/limits && cd ${FOLDER}/limits && procman import ${files}`);
    assert.deepEqual(
      await result(
        `cd ${FOLDER}/limits && { OUTER=1 procman run --detach || [ $? = 1 ]; }`,
        `cd ${FOLDER}/limits && procman terminate`,
      ),
      under,
    );
  });

  test("the timer of an exported schedule starts its job again and again", async () => {
    const job = { id: "job", cmd: `node ${PROGRAM} job exit 0`, cron: "* * * * * *" };
    await box.write(`${FOLDER}/timer/procman.jsonc`, JSON.stringify({ name: "procman-test-timer", processes: [job] }));
    await fresh();
    await box.must(`cd ${FOLDER}/timer && procman export --to systemd --output out && cp out/* /etc/systemd/system/`);
    await box.must("systemctl daemon-reload && systemctl start procman-test-timer.target");
    await box.eventually(`[ "$(grep -c '"args"' ${FOLDER}/written/job.jsonl)" -ge 3 ]`);
    await box.must("systemctl stop procman-test-timer.target");
  });

  test("a crontab's commands see the same under cron and, imported, under procman", async (context) => {
    if (isMissing(context, "cron")) return;
    const crontab = `HOME=${FOLDER}/sub\nGREETING = "a b"\n@reboot node ${PROGRAM} line \\%F "$GREETING" $HOME | cat\n@reboot cat >${FOLDER}/written/input%first%it's second\n@reboot cat >${FOLDER}/written/ended%a%\n@reboot cat >${FOLDER}/written/empty%\n`;
    const path = "PATH=$(dirname $(command -v node)):/usr/bin:/bin";
    await fresh();
    await box.write(`${FOLDER}/cron/crontab`, crontab);
    await box.must(`cd ${FOLDER}/cron && procman import crontab`);
    const result = async (): Promise<readonly unknown[]> => {
      await written({ line: 1 }, "args");
      await box.eventually(`grep -q second ${FOLDER}/written/input`);
      await box.eventually(`[ -s ${FOLDER}/written/ended ] && [ -e ${FOLDER}/written/empty ]`);
      const [{ args, cwd, uid, env } = {}] = await seen("line");
      const { GREETING, HOME, OUTER } = env ?? {};
      const sizes = await box.must(`cd ${FOLDER}/written && wc -c input ended empty`);
      return [args, cwd, uid, { GREETING, HOME, OUTER }, sizes, await box.must(`cat ${FOLDER}/written/input`)];
    };
    await box.must(`{ echo "${path}"; cat ${FOLDER}/cron/crontab; } | crontab -`);
    await box.must("rm -f /run/crond.reboot; systemd-run --unit=procman-test-cron --quiet cron -f");
    const under = await result();
    assert.deepEqual(under.slice(0, 3), [["%F", "a b", `${FOLDER}/sub`], `${FOLDER}/sub`, 0]);
    await box.must("systemctl stop procman-test-cron");
    await fresh();
    await box.must(`cd ${FOLDER}/cron && OUTER=1 procman run --detach`);
    assert.deepEqual(await result(), under);
    await box.must(`cd ${FOLDER}/cron && procman terminate`);
  });
});

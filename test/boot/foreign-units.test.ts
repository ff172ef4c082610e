/** What a program sees under systemd and cron themselves, and under procman, is the same: exported units, an imported crontab. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bootForeign, FOLDER, fresh, PROGRAM, seenIn, WRITTEN, written } from "../support/foreign-box.ts";
import { comparable } from "../support/peer-rig.ts";
import { isMissing } from "../support/system-programs.ts";
import { SystemdBox } from "../support/systemd-box.ts";

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
    box = await bootForeign();
  });

  after(() => box.close());

  /** What all have seen from start to stop. */
  async function account(start: string, stop: string): Promise<Readonly<Record<string, readonly string[]>>> {
    await fresh(box);
    await box.must(start);
    await written(box, STARTS, "args");
    await box.must(stop);
    await written(box, SIGNALS, "signal");
    const all = await Promise.all(
      Object.keys(STARTS).map(async (name) => [name, comparable(await seenIn(box, name), VARIABLES)] as const),
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

  test("the timer of an exported schedule starts its job again and again", async () => {
    const job = { id: "job", cmd: `node ${PROGRAM} job exit 0`, cron: "* * * * * *" };
    await box.write(`${FOLDER}/timer/procman.jsonc`, JSON.stringify({ name: "procman-test-timer", processes: [job] }));
    await fresh(box);
    await box.must(`cd ${FOLDER}/timer && procman export --to systemd --output out && cp out/* /etc/systemd/system/`);
    await box.must("systemctl daemon-reload && systemctl start procman-test-timer.target");
    await box.eventually(`[ "$(grep -c '"args"' ${WRITTEN}/job.jsonl)" -ge 3 ]`);
    await box.must("systemctl stop procman-test-timer.target");
  });

  test("a crontab's commands see the same under cron and, imported, under procman", async (context) => {
    if (isMissing(context, "cron")) return;
    const crontab = `HOME=${FOLDER}/sub\nGREETING = "a b"\n@reboot node ${PROGRAM} line \\%F "$GREETING" $HOME | cat\n@reboot cat >${WRITTEN}/input%first%it's second\n@reboot cat >${WRITTEN}/ended%a%\n@reboot cat >${WRITTEN}/empty%\n`;
    const path = "PATH=$(dirname $(command -v node)):/usr/bin:/bin";
    await fresh(box);
    await box.write(`${FOLDER}/cron/crontab`, crontab);
    await box.must(`cd ${FOLDER}/cron && procman import crontab`);
    const result = async (): Promise<readonly unknown[]> => {
      await written(box, { line: 1 }, "args");
      await box.eventually(`grep -q second ${WRITTEN}/input`);
      await box.eventually(`[ -s ${WRITTEN}/ended ] && [ -e ${WRITTEN}/empty ]`);
      const [{ args, cwd, uid, env } = {}] = await seenIn(box, "line");
      const { GREETING, HOME, OUTER } = env ?? {};
      const sizes = await box.must(`cd ${WRITTEN} && wc -c input ended empty`);
      return [args, cwd, uid, { GREETING, HOME, OUTER }, sizes, await box.must(`cat ${WRITTEN}/input`)];
    };
    await box.must(`{ echo "${path}"; cat ${FOLDER}/cron/crontab; } | crontab -`);
    await box.must("rm -f /run/crond.reboot; systemd-run --unit=procman-test-cron --quiet cron -f");
    const under = await result();
    assert.deepEqual(under.slice(0, 3), [["%F", "a b", `${FOLDER}/sub`], `${FOLDER}/sub`, 0]);
    await box.must("systemctl stop procman-test-cron");
    await fresh(box);
    await box.must(`cd ${FOLDER}/cron && OUTER=1 procman run --detach`);
    assert.deepEqual(await result(), under);
    await box.must(`cd ${FOLDER}/cron && procman terminate`);
  });
});

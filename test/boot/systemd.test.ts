/** 1.1 procman as a unit of a real systemd (docs/guide/start-at-boot.md): it boots, is killed, stops, reloads, and the machine loses its power. */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SystemdBox } from "../support/systemd-box.ts";

const FOLDER = "/srv/my shop 100%";
const FILE = `${FOLDER}/procman.jsonc`;
const UNIT = "procman-shop.service";
const STATE = `'${FOLDER}'/.procman/shop`;

/** A whole second, in which a process with a schedule of each second is started, passes. */
async function scheduledTime(): Promise<void> {
  const second = (): number => Math.floor(Date.now() / 1_000);
  for (const until = second() + 2; second() < until; ) await sleep(20);
}

const DB = { id: "db", cmd: "exec sleep 10001", autostart: true };
/** It writes its end to a file, so that an order can be seen. */
const WEB = {
  id: "web",
  cmd: "trap 'echo web >>/srv/ends; exit' TERM; while :; do sleep 0.1; done",
  autostart: true,
  dependsOn: ["db"],
};

describe("a unit of systemd", { skip: SystemdBox.skip }, () => {
  let box: SystemdBox;

  before(async () => {
    box = await SystemdBox.boot();
    await configure(DB, WEB);
    await box.must(`cd '${FOLDER}' && procman install`);
  });

  after(() => box.close());

  beforeEach(async () => {
    await box.must(`systemctl reset-failed; systemctl start ${UNIT}`);
    await running("db", "web");
  });

  function configure(...processes: readonly object[]): Promise<void> {
    return box.write(FILE, JSON.stringify({ name: "shop", processes }));
  }

  /** Waits until these run. */
  function running(...ids: readonly string[]): Promise<string> {
    return box.eventually(`procman status --config '${FOLDER}' ${ids.join(" ")}`);
  }

  async function pidOf(id: string): Promise<number> {
    const [record] = JSON.parse(await box.must(`procman status --config '${FOLDER}' --json ${id}`)) as {
      pid: number;
    }[];
    return record?.pid ?? 0;
  }

  function property(name: string): Promise<string> {
    return box.must(`systemctl show --property=${name} --value ${UNIT}`);
  }

  async function pids(): Promise<readonly number[]> {
    return [await pidOf("db"), await pidOf("web")];
  }

  /** Waits until systemd has another main process, which is ready. */
  function successor(of: string): Promise<string> {
    return box.eventually(
      `[ "$(systemctl show --property=MainPID --value ${UNIT})" != ${of} ] && systemctl is-active ${UNIT}`,
    );
  }

  test("is valid for systemd's own checker, enabled, and active when procman is ready", async () => {
    const { code, out, err } = await box.run(`systemd-analyze verify /etc/systemd/system/${UNIT}`);
    assert.deepEqual([code, out, err], [0, "", ""]);
    assert.equal(await box.must(`systemctl is-enabled ${UNIT}`), "enabled");
    assert.deepEqual(
      [
        await property("StatusErrno"),
        await property("ActiveState"),
        await property("WatchdogUSec"),
        await property("Delegate"),
      ],
      ["0", "active", "1min", "yes"],
    );
  });

  test("a killed keeper is started again by systemd, and adopts its processes", async () => {
    const [processes, keeper] = [await pids(), await property("MainPID")];
    await box.must(`kill -9 ${keeper}`);
    await successor(keeper);
    assert.deepEqual(await pids(), processes);
  });

  test("all parts killed at once: systemd starts procman again, and the processes have the same pids", async () => {
    const [processes, keeper] = [await pids(), await property("MainPID")];
    await box.must("pkill -9 -f '^procman.shop.:'");
    await successor(keeper);
    assert.deepEqual(await pids(), processes);
  });

  test("a keeper that hangs is replaced by systemd's watchdog, and its processes keep running", async () => {
    await box.write(`/run/systemd/system/${UNIT}.d/watchdog.conf`, "[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n");
    await box.must(`systemctl daemon-reload; systemctl restart ${UNIT}`);
    await running("db", "web");
    const [processes, keeper] = [await pids(), await property("MainPID")];
    await box.must(`kill -STOP ${keeper}`);
    await successor(keeper);
    assert.deepEqual(await pids(), processes);
    assert.match(await box.must(`journalctl --unit=${UNIT} --output=cat`), /Watchdog timeout/);
    await box.must(`rm -r /run/systemd/system/${UNIT}.d; systemctl daemon-reload; systemctl restart ${UNIT}`);
  });

  test("`systemctl reload` applies the changed configuration, and restarts nothing else", async () => {
    const processes = await pids();
    await configure(DB, WEB, { id: "mail", cmd: "exec sleep 10003", autostart: true });
    await box.must(`systemctl reload ${UNIT}`);
    await running("mail");
    assert.deepEqual(await pids(), processes);
    await box.write(FILE, "{");
    const refused = await box.run(`systemctl reload ${UNIT}`);
    assert.equal(refused.code, 1);
    assert.match(await box.must(`journalctl --unit=${UNIT} --output=cat`), /procman\.jsonc:1:2/);
    assert.deepEqual([await property("ActiveState"), await pids()], ["active", processes]);
    await configure(DB, WEB);
    await box.must(`systemctl reload ${UNIT}`);
  });

  test("`systemctl restart` ends all processes and starts them again", async () => {
    const [db, web] = await pids();
    await box.must(`systemctl restart ${UNIT}`);
    await running("db", "web");
    const alive = await box.run(`kill -0 ${db} || kill -0 ${web}`);
    assert.equal(alive.code, 1);
  });

  test("`systemctl stop` ends all processes in order, and leaves nothing", async () => {
    await box.must("rm -f /srv/ends");
    const db = await pidOf("db");
    await box.must(
      `(while kill -0 ${db}; do sleep 0.01; done; echo db >>/srv/ends) 2>/dev/null & systemctl stop ${UNIT}`,
    );
    assert.equal(await box.eventually("grep -q db /srv/ends && cat /srv/ends"), "web\ndb");
    assert.deepEqual(
      [await property("ActiveState"), await property("Result"), await property("TasksCurrent")],
      ["inactive", "success", "[not set]"],
    );
  });

  test("`procman terminate` ends it, too, and systemd doesn't start it again", async () => {
    await box.must(`procman terminate --config '${FOLDER}'`);
    await box.eventually(`[ "$(systemctl show --property=ActiveState --value ${UNIT})" = inactive ]`);
    assert.equal(await property("Result"), "success");
  });

  test("a stop that the keeper doesn't answer kills its processes after the time that systemd grants", async () => {
    await box.write(`/run/systemd/system/${UNIT}.d/stop.conf`, "[Service]\nTimeoutStopSec=1\n");
    await box.must("systemctl daemon-reload");
    const [db, web] = await pids();
    await box.must(`kill -STOP ${await property("MainPID")}`);
    await box.run(`systemctl stop ${UNIT}`);
    await box.eventually(`! kill -0 ${db} && ! kill -0 ${web}`);
    await box.must(`rm -r /run/systemd/system/${UNIT}.d; systemctl daemon-reload`);
  });

  test("a stop that takes longer than systemd grants gets more time while the keeper answers", async () => {
    await configure(DB, WEB, {
      id: "slow",
      cmd: "trap 'sleep 2; echo slow >>/srv/ends; exit' TERM; while :; do sleep 0.1; done",
      autostart: true,
    });
    await box.write(`/run/systemd/system/${UNIT}.d/stop.conf`, "[Service]\nTimeoutStopSec=1\n");
    await box.must(`rm -f /srv/ends; systemctl daemon-reload; systemctl reload ${UNIT}`);
    await running("slow");
    await box.must(`systemctl stop ${UNIT}`);
    assert.match(await box.must("cat /srv/ends"), /slow/);
    assert.equal(await property("Result"), "success");
    await box.must(`rm -r /run/systemd/system/${UNIT}.d; systemctl daemon-reload`);
    await configure(DB, WEB);
  });

  test("an invalid configuration fails the start once, and says where", async () => {
    await box.must(`systemctl stop ${UNIT}`);
    await box.write(FILE, '{ "processes": [ { "id": "A" } ] }');
    const { code } = await box.run(`systemctl start ${UNIT}`);
    assert.equal(code, 1);
    assert.deepEqual(
      [await property("ActiveState"), await property("ExecMainStatus"), await property("NRestarts")],
      ["failed", "78", "0"],
    );
    await configure(DB, WEB);
  });

  test("processes get none of systemd's variables for the keeper", async () => {
    assert.doesNotMatch(await box.must(`tr '\\0' '\\n' </proc/${await pidOf("db")}/environ`), /NOTIFY_SOCKET|WATCHDOG/);
  });

  test("memoryMax: the kernel's limit where the unit has the controller of cgroup v2, else procman's, and the log says why", async () => {
    await configure(DB, WEB, { id: "eater", cmd: "exec sleep 10004", autostart: true, memoryMax: "64MB" });
    await box.must(`systemctl reload ${UNIT}`);
    await running("eater");
    const cgroup = await box.must(`sed -n 's/^0:://p' /proc/${await pidOf("eater")}/cgroup`);
    const hasSubgroup = Number((await box.must("systemctl --version")).split(/\s/)[1]) >= 254;
    const limit = await box.run(
      `cat $(findmnt --noheadings --output=TARGET --types=cgroup2 | head -1)${cgroup}/memory.max`,
    );
    if (hasSubgroup && limit.code === 0) assert.equal(limit.out.trim(), String(64 * 1024 * 1024));
    else
      assert.match(
        await box.must(`procman logs --config '${FOLDER}' --category service`),
        /Cannot enforce "memoryMax" through the kernel: .*instead memory is checked/,
      );
    await configure(DB, WEB);
    await box.must(`systemctl reload ${UNIT}`);
  });

  test("after a reboot the processes run, and a schedule that was missed is said", async () => {
    await configure(DB, WEB, { id: "report", cmd: "echo report", cron: "* * * * * *", catchUp: true });
    await box.must(`systemctl reload ${UNIT}`);
    await box.reboot(scheduledTime);
    await running("db", "web");
    assert.match(
      await box.eventually(`procman logs --config '${FOLDER}' report --category lifecycle | grep missed`),
      /missed/,
    );
    await configure(DB, WEB);
    await box.must(`systemctl reload ${UNIT}`);
  });

  test("after a power cut that leaves an empty journal, everything runs once", async () => {
    const before = await pids();
    await box.powerCut(() => box.must(`: >${STATE}/run/journal`));
    await running("db", "web");
    assert.equal(await box.must("pgrep -c -f '^sleep 10001'"), "1");
    assert.equal((await pids()).length, before.length);
  });

  test("20 processes run soon after the start of the unit", async (context) => {
    const many = Array.from({ length: 20 }, (_, index) => ({
      id: `p${index}`,
      cmd: `date +%s%6N >/srv/started-${index}; exec sleep 10002`,
      autostart: true,
    }));
    await box.must(`systemctl stop ${UNIT}; rm -f /srv/started-*`);
    await configure(DB, WEB, ...many);
    const times: number[] = [];
    for (let round = 0; round < 3; round++) {
      await box.must(`systemctl restart ${UNIT}`);
      await box.eventually("[ $(cat /srv/started-* | wc -l) = 20 ]");
      const start = await box.must(
        `systemctl show --timestamp=us+utc --property=ExecMainStartTimestamp --value ${UNIT}`,
      );
      const [, date, time] = start.split(" ");
      const [, wholeMs, us] = /^(.*\.\d{3})(\d{3})$/.exec(`${date}T${time}`) ?? [];
      const last = Number((await box.must("cat /srv/started-* | sort | tail -1")).trim());
      times.push(last / 1_000 - (Date.parse(`${wholeMs}Z`) + Number(us) / 1_000));
      await box.must("rm -f /srv/started-*");
    }
    context.diagnostic(
      `20 processes ran ${times.map((ms) => ms.toFixed(0)).join(", ")} ms after the start of the unit`,
    );
    assert.ok(Math.min(...times) > 0);
    // The goal is 300 ms; a loaded machine may take longer.
    assert.ok(Math.min(...times) < 2_000, times.join(", "));
    await configure(DB, WEB);
  });
});

/** 1.1 What `procman install` writes for init systems other than systemd, run by their own programs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, type TestContext, test } from "node:test";
import { procman } from "../support/cli.ts";
import { folderWith } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";
import { SystemdBox } from "../support/systemd-box.ts";

const FILE = "/srv/shop/procman.jsonc";
const WEB = { id: "web", cmd: "exec sleep 10001", autostart: true };
const MAIL = { id: "mail", cmd: "exec sleep 10002", autostart: true };

/** Of its states. */
const OPENRC_FOLDERS = [
  "daemons",
  "exclusive",
  "failed",
  "inactive",
  "options",
  "scheduled",
  "started",
  "starting",
  "stopping",
];

describe("init systems", { skip: SystemdBox.skip }, () => {
  let box: SystemdBox;

  before(async () => {
    box = await SystemdBox.boot();
    await box.must("useradd --create-home --shell /bin/sh procman-deploy");
    await configure(WEB);
  });

  after(() => box.close());

  async function configure(...processes: readonly object[]): Promise<void> {
    await box.write(FILE, JSON.stringify({ name: "shop", processes }));
    await box.must("chown -R procman-deploy /srv/shop");
  }

  function isUp(id: string): Promise<string> {
    return box.eventually(SystemdBox.as("procman-deploy", `procman status -c /srv/shop ${id}`));
  }

  function pidOf(seconds = 10001): Promise<string> {
    return box.eventually(`pgrep -u procman-deploy -f '^sleep ${seconds}'`);
  }

  function keeper(): Promise<string> {
    return box.eventually("pgrep -u procman-deploy -f 'procman.shop.: keeper'");
  }

  /** The same for all that supervise: kill, reload, end. */
  async function livesBy({ reload, stop }: { readonly reload: string; readonly stop: string }): Promise<void> {
    const [web, first] = [await pidOf(), await keeper()];
    await isUp("web");
    await box.must("pkill -9 -f '^procman.shop.:'");
    await box.eventually(`[ "$(pgrep -u procman-deploy -f 'procman.shop.: keeper')" != "${first}" ]`);
    await isUp("web");
    assert.equal(await pidOf(), web, "a kill of all parts spares the processes");
    await configure(WEB, MAIL);
    await box.must(reload);
    await pidOf(10002);
    assert.equal(await pidOf(), web, "a reload restarts nothing else");
    await box.must(stop);
    await box.eventually("! pgrep -u procman-deploy -f '^sleep 1000' && ! pgrep -f '^procman.shop.:'");
    await configure(WEB);
  }

  /** It ends by itself, and isn't started again: it would be within a second. */
  async function endsByTerminate(isDown: string): Promise<void> {
    await isUp("web");
    await box.must(SystemdBox.as("procman-deploy", "procman terminate -c /srv/shop"));
    await box.eventually(isDown);
    assert.equal((await box.run("pgrep -f '^procman.shop.:'")).code, 1);
  }

  async function isGone(): Promise<void> {
    assert.equal(await box.must("ls /etc/procman /etc/sv 2>/dev/null | grep shop; pgrep -f '^sleep 1000' || true"), "");
  }

  test("runit: under the real runsvdir it is restarted, reloads, stops in order, and is taken away", async (context) => {
    if (isMissing(context, "runsvdir")) return;
    await box.must("mkdir -p /srv/services && systemd-run --unit=procman-test-runit --quiet runsvdir -P /srv/services");
    const install =
      "procman install --config /srv/shop --run-as procman-deploy --init runit --service-dir /srv/services";
    assert.match(await box.must(install), /procman-shop: installed for runit; shop is running/);
    await livesBy({ reload: "sv reload /srv/services/procman-shop", stop: "sv -w 20 stop /srv/services/procman-shop" });
    await box.must("sv start /srv/services/procman-shop");
    // `sv status` says "down" also just before `finish` runs.
    await endsByTerminate("grep -qx down /srv/services/procman-shop/supervise/stat");
    await box.must("sv start /srv/services/procman-shop");
    await isUp("web");
    const { err } = await box.run("procman uninstall --config /srv/shop");
    assert.equal(err, "");
    assert.equal(await box.must("ls /srv/services"), "");
    await isGone();
    await box.must("systemctl stop procman-test-runit");
  });

  test("s6: under the real s6-svscan it is restarted, reloads, stops in order, and is taken away", async (context) => {
    if (isMissing(context, "s6-svscan")) return;
    await box.must("mkdir -p /srv/scan && systemd-run --unit=procman-test-s6 --quiet s6-svscan /srv/scan");
    await box.eventually("[ -p /srv/scan/.s6-svscan/control ]");
    const install = "procman install --config /srv/shop --run-as procman-deploy --init s6 --service-dir /srv/scan";
    assert.match(await box.must(install), /procman-shop: installed for s6; shop is running/);
    await livesBy({ reload: "s6-svc -h /srv/scan/procman-shop", stop: "s6-svc -wD -d /srv/scan/procman-shop" });
    await box.must("s6-svc -u /srv/scan/procman-shop");
    await endsByTerminate("s6-svstat /srv/scan/procman-shop | grep -q ^down");
    await box.must("s6-svc -u /srv/scan/procman-shop");
    await isUp("web");
    const { err } = await box.run("procman uninstall --config /srv/shop");
    assert.equal(err, "");
    assert.equal(await box.must("ls /srv/scan"), "");
    await isGone();
    // It may miss a SIGTERM that comes right after its last service has gone.
    await box.must("systemctl kill --signal=KILL procman-test-s6");
  });

  test("OpenRC: its script runs under supervise-daemon: it is restarted, reloads, stops in order, and is taken away", async (context) => {
    if (isMissing(context, "openrc-run")) return;
    // What OpenRC's own boot leaves.
    await box.must(
      `mkdir -p ${OPENRC_FOLDERS.map((each) => `/run/openrc/${each}`).join(" ")} && echo default >/run/openrc/softlevel`,
    );
    const install = "procman install --config /srv/shop --run-as procman-deploy --init openrc";
    assert.match(await box.must(install), /procman-shop: installed for openrc; shop is running/);
    assert.match(await box.must("rc-update show default"), /procman-shop/);
    await livesBy({ reload: "rc-service procman-shop reload", stop: "rc-service procman-shop stop" });
    await box.must("rc-service procman-shop start");
    await isUp("web");
    const { err } = await box.run("procman uninstall --config /srv/shop");
    assert.equal(err, "");
    assert.doesNotMatch(await box.must("rc-update show default; ls /etc/init.d"), /procman-shop/);
    await isGone();
  });

  test("cron: the machine's and a user's crontab start procman in the background at boot", async (context) => {
    if (isMissing(context, "cron")) return;
    const install = "procman install --config /srv/shop --run-as procman-deploy --init cron";
    assert.match(await box.must(install), /\/etc\/cron\.d\/procman-shop: installed for cron; shop is running/);
    await box.must(SystemdBox.as("procman-deploy", "procman terminate -c /srv/shop"));
    // As at boot: cron runs these lines once for each.
    await box.must("rm -f /run/crond.reboot; systemd-run --unit=procman-test-cron --quiet cron -f");
    await isUp("web");
    await box.must("procman uninstall --config /srv/shop; ls /etc/cron.d | grep procman || true");
    await isGone();
    await box.must("systemctl stop procman-test-cron; echo '0 3 * * * true' | crontab -u procman-deploy -");
    const command = `cd /srv/shop && procman install --user --init cron`;
    assert.equal((await box.as("procman-deploy", command)).code, 0);
    assert.equal((await box.as("procman-deploy", command)).err, "", "again: it is running, and the line is the same");
    assert.equal(
      await box.must("crontab -u procman-deploy -l"),
      "0 3 * * * true\n@reboot /bin/sh /home/procman-deploy/.config/procman/shop.sh run --detach # procman-shop",
    );
    await box.as("procman-deploy", "procman terminate --name shop");
    await box.must(
      "rm -f /run/crond.reboot; systemctl reset-failed; systemd-run --unit=procman-test-cron --quiet cron -f",
    );
    await isUp("web");
    assert.equal((await box.as("procman-deploy", "cd /srv/shop && procman uninstall")).err, "");
    assert.equal(await box.must("crontab -u procman-deploy -l"), "0 3 * * * true");
    await isGone();
  });
});

test("launchd: the job is a well-formed property list with what `install` was asked for", async (context: TestContext) => {
  if (isMissing(context, "python3")) return;
  const folder = folderWith(context, { name: "shop", processes: [WEB] });
  const { code, out, err } = await procman(folder, ["install", "--user", "--init", "launchd", "--dry-run"], {
    HOME: "/Users/m & <m>",
    XDG_CONFIG_HOME: "",
  });
  assert.equal(code, 0, err);
  const plist = /<\?xml[\s\S]*<\/plist>\n/.exec(out)?.[0] ?? "";
  const read = `import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))`;
  const job = JSON.parse(execFileSync("python3", ["-c", read], { encoding: "utf8", input: plist })) as Record<
    string,
    unknown
  >;
  assert.deepEqual(job, {
    Label: "procman.shop",
    ProgramArguments: ["/bin/sh", "/Users/m & <m>/.config/procman/shop.sh", "run", "--guarded"],
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 1,
    AbandonProcessGroup: true,
    ExitTimeOut: 600,
    ProcessType: "Standard",
    StandardOutPath: "/Users/m & <m>/Library/Logs/procman-shop.log",
    StandardErrorPath: "/Users/m & <m>/Library/Logs/procman-shop.log",
  });
  assert.match(out, /\nlaunchctl enable gui\/\d+\/procman\.shop\n/);
});

/** 1.1 `procman install` and `uninstall` on a machine with systemd: users, updates, a Node that is replaced, and what is refused. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { NODE_FOLDER, SystemdBox } from "../support/systemd-box.ts";

const PROCESSES = [{ id: "web", cmd: "exec sleep 10001", autostart: true }];

describe("installing", { skip: SystemdBox.skip }, () => {
  let box: SystemdBox;

  before(async () => {
    box = await SystemdBox.boot();
    await box.must(
      "useradd --create-home --shell /bin/sh procman-deploy; useradd --create-home --shell /bin/sh procman-alice",
    );
  });

  after(() => box.close());

  async function configure(folder: string, name: string, owner = "root"): Promise<void> {
    await box.write(`${folder}/procman.jsonc`, JSON.stringify({ name, processes: PROCESSES }));
    await box.must(`chown -R ${owner} ${folder}`);
  }

  /** What `install` answers when it refuses. */
  async function refusal(command: string, code = 1): Promise<string> {
    const outcome = await box.run(command);
    assert.deepEqual([outcome.code, outcome.out], [code, ""], outcome.err);
    return outcome.err;
  }

  test("a system service runs as another user, its processes with that user's home; `uninstall` stops it and leaves nothing", async () => {
    await configure("/srv/shop", "shop", "procman-deploy");
    const out = await box.must("procman install --config /srv/shop --run-as procman-deploy");
    assert.match(
      out,
      /^procman-shop\.service: installed for systemd; shop is running\n"sudo systemctl stop procman-shop\.service" stops it/,
    );
    const pid = await box.must("pgrep -f '^sleep 10001'");
    assert.equal(await box.must(`stat -c %U /proc/${pid}`), "procman-deploy");
    assert.match(await box.must(`tr '\\0' '\\n' </proc/${pid}/environ`), /^HOME=\/home\/procman-deploy$/m);
    assert.match(
      await box.must("procman uninstall --config /srv/shop"),
      /^procman-shop\.service: removed; shop no longer starts at boot$/,
    );
    assert.equal((await box.run(`kill -0 ${pid}`)).code, 1);
    assert.equal(
      await box.must(
        "ls /etc/procman; systemctl list-unit-files --no-legend 'procman-*'; find /etc/systemd -name 'procman*'",
      ),
      "",
    );
    assert.match(
      await refusal("procman uninstall --config /srv/shop"),
      /Cannot uninstall shop: nothing starts it at boot/,
    );
  });

  test("`install` again updates the unit, and restarts nothing; `--dry-run` changes nothing", async () => {
    await configure("/srv/again", "again");
    const shown = await box.must("procman install --config /srv/again --dry-run");
    assert.equal(await box.must("ls /etc/procman"), "");
    await box.must("procman install --config /srv/again");
    const written = await box.must("cat /etc/systemd/system/procman-again.service");
    assert.ok(shown.includes(written), shown);
    assert.match(
      shown,
      /\nsystemctl daemon-reload\nsystemctl enable procman-again\.service\nsystemctl start procman-again\.service$/,
    );
    const main = await box.must("systemctl show --property=MainPID --value procman-again");
    await box.must("sed -i 's/^WatchdogSec=.*/WatchdogSec=5/' /etc/systemd/system/procman-again.service");
    assert.match(
      await box.must("procman install --config /srv/again"),
      /updated for systemd; again is running; what has changed applies from its next start/,
    );
    assert.equal(await box.must("cat /etc/systemd/system/procman-again.service"), written);
    assert.equal(await box.must("systemctl show --property=MainPID --value procman-again"), main);
    await box.must("rm /srv/again/procman.jsonc; procman uninstall --name again");
    assert.equal(await box.must("ls /etc/procman; pgrep -f '^sleep 10001' || true"), "");
  });

  test("a user's service: `install` says how it starts at boot; it runs in the user's systemd", async () => {
    await box.must("mkdir -p '/home/procman-alice/my app 100%'");
    await box.write(
      "/home/procman-alice/my app 100%/procman.jsonc",
      JSON.stringify({ name: "mine", processes: PROCESSES }),
    );
    await box.must("chown -R procman-alice /home/procman-alice");
    const early = await box.as("procman-alice", "cd '/home/procman-alice/my app 100%' && procman install");
    assert.equal(early.code, 1);
    assert.match(early.err, /Cannot install: "systemctl --user daemon-reload" has failed/);
    await box.must("systemctl start user@$(id -u procman-alice).service");
    const { code, out, err } = await box.as("procman-alice", "cd '/home/procman-alice/my app 100%' && procman install");
    assert.equal(code, 0, err);
    assert.match(out, /^procman-mine\.service: installed for systemd; mine is running/);
    assert.match(err, /"sudo loginctl enable-linger procman-alice" lets it start at boot/);
    const user = "env XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user";
    assert.equal((await box.as("procman-alice", `${user} is-active procman-mine`)).out, "active\n");
    await box.must("mkdir -p /var/lib/systemd/linger && touch /var/lib/systemd/linger/procman-alice");
    const again = await box.as("procman-alice", "cd '/home/procman-alice/my app 100%' && procman install");
    assert.equal(again.err, "");
    await box.reboot();
    assert.match(await box.eventually("pgrep -u procman-alice -f '^sleep 10001'"), /^\d+$/);
    assert.equal((await box.as("procman-alice", "procman uninstall --name mine")).err, "");
    assert.equal(
      await box.must("find /home/procman-alice/.config -name '*mine*'; pgrep -f '^sleep 10001' || true"),
      "",
    );
    await box.must("rm /var/lib/systemd/linger/procman-alice");
  });

  test("a Node that a version manager has replaced: it starts with the new one, and `status` says what is gone until it is renewed", async () => {
    await configure("/srv/nvm", "nvm");
    await box.must("procman install --config /srv/nvm");
    const next = NODE_FOLDER.replace(/[^/]*$/, "v99.0.0");
    await box.must(`mv ${NODE_FOLDER} ${next}; systemctl kill --signal=KILL procman-nvm`);
    await box.eventually(
      `systemctl is-active procman-nvm && [ "$(readlink /proc/$(systemctl show --property=MainPID --value procman-nvm)/exe)" = ${next}/bin/node ]`,
    );
    await box.reboot();
    const at = `PATH=${next}/bin:$PATH`;
    assert.equal(
      await box.eventually("readlink /proc/$(systemctl show --property=MainPID --value procman-nvm)/exe"),
      `${next}/bin/node`,
    );
    const status = await box.run(`${at} procman status --config /srv/nvm`);
    assert.equal(status.code, 0, status.err);
    assert.match(
      status.err,
      /^procman: what starts nvm at boot points to Node that is gone: .*\/bin\/node, and procman that is gone: .*; "procman install --system" renews it$/m,
    );
    await box.must(`${at} procman install --config /srv/nvm`);
    assert.equal((await box.run(`${at} procman status --config /srv/nvm`)).err, "");
    await box.must(`${at} procman uninstall --config /srv/nvm; mv ${next} ${NODE_FOLDER}`);
  });

  test("without any Node the start fails, and says what to do", async () => {
    await configure("/srv/none", "none");
    await box.must("procman install --config /srv/none --no-start");
    assert.equal((await box.run("systemctl is-active procman-none")).out, "inactive\n");
    await box.must(`mv ${NODE_FOLDER}/bin/node /opt/away`);
    // The machine's own Node would do.
    const hidden = "/usr/bin/node /usr/local/bin/node";
    await box.must(`for each in ${hidden}; do [ ! -e $each ] || mount --bind /dev/null $each; done`);
    await box.run("systemctl start procman-none");
    assert.match(
      await box.must("journalctl --unit=procman-none --output=cat"),
      /Cannot start none: Node is gone \(.*\/bin\/node\).*install it, then run "procman install"/,
    );
    await box.must(
      `for each in ${hidden}; do [ ! -e $each ] || umount $each; done; mv /opt/away ${NODE_FOLDER}/bin/node; procman uninstall --name none`,
    );
  });

  test("a start that fails shows the last lines of the journal, and says what is left", async () => {
    await configure("/srv/closed", "closed");
    assert.match(
      await refusal("procman install --config /srv/closed --run-as procman-deploy"),
      /"systemctl start procman-closed\.service" has failed: [\s\S]*\| procman: Cannot run: the state folder .* can't be used: EACCES[\s\S]*\nprocman-closed\.service is there and starts closed at the next boot; "procman uninstall" removes it/,
    );
    assert.equal((await box.run("procman uninstall --config /srv/closed")).err, "");
  });

  test("a unit that is not procman's is not overwritten", async () => {
    await configure("/srv/foreign", "foreign");
    await box.write("/etc/systemd/system/procman-foreign.service", "[Service]\nExecStart=/bin/true\n");
    const before = await box.must("cat /etc/systemd/system/procman-foreign.service");
    assert.match(
      await refusal("procman install --config /srv/foreign"),
      /\/etc\/systemd\/system\/procman-foreign\.service exists, and "procman install" has not written it; move it away, or give the configuration another "name"/,
    );
    assert.equal(await box.must("cat /etc/systemd/system/procman-foreign.service; ls /etc/procman"), before);
    await box.must("rm /etc/systemd/system/procman-foreign.service");
  });

  test("a name is installed once: another file, or the other way of starting, is refused with what to do", async () => {
    await configure("/srv/one", "twice");
    await configure("/srv/two", "twice");
    await box.must("procman install --config /srv/one --no-start");
    assert.match(
      await refusal("procman install --config /srv/two"),
      /twice starts at boot with \/srv\/one\/procman\.jsonc; "procman uninstall --name twice --system"/,
    );
    assert.match(
      await refusal("procman install --config /srv/one --init cron"),
      /twice already starts at boot by systemd \(--system\)/,
    );
    await box.must("procman uninstall --name twice");
  });

  test("root runs nothing that another user can change", async () => {
    await configure("/srv/open", "open", "procman-deploy");
    assert.match(
      await refusal("procman install --config /srv/open"),
      /root would run \/srv\/open\/procman\.jsonc at boot, but \/srv\/open belongs to procman-deploy.*--run-as/,
    );
    await box.must("chown -R root /srv/open; chmod 777 /srv/open");
    assert.match(await refusal("procman install --config /srv/open"), /other users may write in \/srv\/open\./);
    await box.must("chmod 755 /srv/open");
    await box.write(
      "/srv/open/procman.jsonc",
      JSON.stringify({ name: "open", include: ["/srv/parts/more.jsonc"], processes: PROCESSES }),
    );
    await box.write("/srv/parts/more.jsonc", '{ "processes": [] }');
    await box.must("chown procman-deploy /srv/parts/more.jsonc");
    assert.match(
      await refusal("procman install --config /srv/open"),
      /but \/srv\/parts\/more\.jsonc belongs to procman-deploy/,
    );
    await box.must(`chown root /srv/parts/more.jsonc; chown procman-deploy ${NODE_FOLDER}/bin/node`);
    assert.match(
      await refusal("procman install --config /srv/open"),
      new RegExp(`root would run .*, but ${NODE_FOLDER}/bin/node belongs to procman-deploy`),
    );
    await box.must(`chown root ${NODE_FOLDER}/bin/node`);
  });

  test("what can't be done is refused before anything is written", async () => {
    await configure("/srv/bad", "bad");
    const install = "procman install --config /srv/bad";
    assert.match(
      (await box.as("procman-deploy", `${install} --system`)).err,
      /only root may change the machine; "sudo procman install --system", or --user/,
    );
    assert.match(
      await refusal(`${install} --init sysv`, 64),
      /Cannot use --init sysv: allowed: systemd, launchd, openrc, runit, s6, cron/,
    );
    assert.match(
      await refusal(`${install} --run-as nobody2`, 64),
      /Cannot use --run-as "nobody2": this machine has no user of this name/,
    );
    assert.match(
      await refusal(`${install} --run-as 1001`, 64),
      /no user of this name; create it, or correct the name \(no number\)/,
    );
    assert.match(await refusal(`${install} --user --system`, 64), /Cannot use --user and --system together/);
    assert.match(
      await refusal(`SUDO_USER=procman-alice ${install} --user`, 64),
      /it would be for root, not for procman-alice/,
    );
    assert.match(await refusal(`${install} --user --init runit`, 64), /runit starts nothing for a user/);
    await box.must("mkdir '/srv/line\nbreak' && cp /srv/bad/procman.jsonc '/srv/line\nbreak/'");
    assert.match(
      await refusal("procman install --config '/srv/line\nbreak'"),
      /has a line break or another control character; rename it/,
    );
    await box.must("procman run --detach --config /srv/bad");
    assert.match(
      await refusal(install),
      /bad is already running \(pid \d+\) and was not started by what "procman install" wrote; stop it with "procman terminate" first, or use --no-start/,
    );
    await box.must("procman terminate --config /srv/bad");
    await box.write("/srv/bad/procman.jsonc", "{ 1 }");
    assert.match(await refusal(install, 78), /procman\.jsonc:1:3/);
    assert.equal(await box.must("ls /etc/procman"), "");
  });
});

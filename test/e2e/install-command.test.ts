/** 1.1 `procman install` without a change of the machine: what it prints, refuses, and what `status` says of it. test/boot has the rest. */
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, type Outcome, procman } from "../support/cli.ts";

const WEB = { id: "web", cmd: "exec sleep 1000", autostart: true };

test("`--dry-run` shows the launcher and the line of the crontab, and writes nothing", async (context) => {
  const { folder } = homeOf(context, [WEB]);
  const home = join(folder, "my home 100%");
  const { code, out, err } = await procman(folder, ["install", "--user", "--init", "cron", "--dry-run"], {
    XDG_CONFIG_HOME: home,
  });
  assert.deepEqual([code, err], [0, ""]);
  assert.match(
    out,
    new RegExp(`^# ${home}/procman/test\\.sh \\(mode 0755\\)\n#!/bin/sh\n# Written by "procman install"`),
  );
  assert.match(
    out,
    /\n# added to the crontab of \w+:\n# {3}@reboot \/bin\/sh '.*my home 100\\%\/procman\/test\.sh' run --detach # procman-test\n/,
  );
  assert.equal(existsSync(home), false);
});

test("a user's crontab: `install`, again, `status` with a Node that is gone, `uninstall`", async (context) => {
  const { folder, state } = homeOf(context, [WEB]);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  // `crontab` of cron, for a file.
  writeFileSync(
    join(bin, "crontab"),
    `#!/bin/sh\ncd ${folder}\ncase $1 in -l) cat tab 2>/dev/null || { echo "no crontab for me" >&2; exit 1; } ;; -) cat >tab ;; esac\n`,
  );
  chmodSync(join(bin, "crontab"), 0o755);
  const env = { XDG_CONFIG_HOME: join(folder, "config"), PATH: `${bin}:${process.env.PATH}` };
  const run = (...args: readonly string[]): Promise<Outcome> => procman(folder, args, env);
  const installed = await run("install", "--user", "--init", "cron");
  assert.deepEqual([installed.code, installed.err], [0, ""]);
  const tab = readFileSync(join(folder, "tab"), "utf8");
  assert.match(tab, /^@reboot \/bin\/sh .*\/config\/procman\/test\.sh run --detach # procman-test\n$/);
  assert.equal((await run("status", "web")).code, 0);
  assert.match((await run("install", "--user", "--init", "cron")).out, /updated for cron; test is running/);
  assert.equal(readFileSync(join(folder, "tab"), "utf8"), tab);
  const launcher = join(folder, "config/procman/test.sh");
  assert.equal(statSync(launcher).mode & 0o777, 0o755);
  const [gone, text] = [join(folder, "v1.2.3/bin/node"), readFileSync(launcher, "utf8")];
  writeFileSync(launcher, text.replace(/"node":"[^"]*"/, `"node":"${gone}"`));
  const status = await run("status");
  assert.equal(status.code, 0);
  assert.equal(
    status.err,
    `procman: what starts test at boot points to Node that is gone: ${gone}; "procman install --user" renews it\n`,
  );
  writeFileSync(launcher, text);
  const removed = await run("uninstall", "--user");
  assert.deepEqual([removed.code, removed.err], [0, ""]);
  assert.deepEqual(
    [readFileSync(join(folder, "tab"), "utf8"), existsSync(launcher), existsSync(join(state, "endpoint.json"))],
    ["", false, false],
  );
  const again = await run("uninstall", "--user");
  assert.deepEqual(
    [again.code, again.err],
    [1, 'procman: Cannot uninstall test: nothing starts it at boot that "procman install" has written\n'],
  );
});

test("a configuration that is invalid, a name that is none and options that exclude each other are refused", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "true", restrt: "always" }]);
  assert.equal((await procman(folder, ["install", "--dry-run"])).code, 78);
  assert.match(
    (await procman(folder, ["uninstall", "--name", "../../etc/x"])).err,
    /Cannot uninstall \.\.\/\.\.\/etc\/x: nothing starts it at boot/,
  );
  assert.match(
    (await procman(folder, ["uninstall", "--name", "test", "-c", "."])).err,
    /Cannot use --config and --name together/,
  );
});

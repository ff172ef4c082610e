/** 1.1 What is written for each init system: names and paths of every kind, and what was installed before. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { BootRecord } from "./boot-record.ts";
import { cronPlan, withCronLine } from "./cron-job.ts";
import { launcherText } from "./launcher.ts";
import { openrcPlan } from "./openrc-script.ts";
import { systemdPlan } from "./systemd-unit.ts";

const ODD = `/srv/it's "my" 100% $HOME \\shop & <co>`;

const RECORD: BootRecord = {
  init: "systemd",
  scope: "system",
  name: "my.shop",
  config: `${ODD}/procman.jsonc`,
  node: "/usr/bin/node",
  script: "/usr/lib/node_modules/procman/dist/procman.cjs",
  user: "deploy",
  home: "/home/deploy",
  path: "/usr/bin:/bin",
};

const LAUNCHER = "/etc/procman/my.shop.sh";
const USERS = { ...RECORD, scope: "user" } as const;

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "procman-boot-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A program that prints how it was called. */
function program(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

/** Runs a launcher whose Nodes are shell scripts: they print their path, and what they are to run. */
function launched(context: TestContext, record: Partial<BootRecord>, args: readonly string[] = ["run"]): string {
  const place = folder(context);
  const file = join(place, "launcher.sh");
  const config = join(place, `it's 100%`);
  mkdirSync(config);
  writeFileSync(file, launcherText({ ...RECORD, config: join(config, "procman.jsonc"), ...record }));
  return execFileSync("/bin/sh", [file, ...args], { encoding: "utf8", stdio: "pipe" })
    .trimEnd()
    .replaceAll(place, "");
}

const FAKE_NODE = '[ "$1" = -e ] && exit 0; echo "$0 $*"';

test("in a unit of systemd, `%` and `$` of a path are not specifiers and variables", () => {
  const text = systemdPlan({ ...USERS }, `${ODD}/x.sh`, 252).files[0]?.text ?? "";
  assert.match(text, /^ExecStart=\/bin\/sh "\/srv\/it's \\"my\\" 100%% \$\$HOME \\\\shop & <co>\/x\.sh" run$/m);
  assert.match(text, /^RequiresMountsFor="\/srv\/it's \\"my\\" 100%% \$HOME \\\\shop & <co>"$/m);
  assert.doesNotMatch(text, /^(?:User|DelegateSubgroup)=/m);
});

test("a system unit has its user; from systemd 254 on procman's own processes get a cgroup below that of the unit", () => {
  const text = systemdPlan(RECORD, LAUNCHER, 254).files[0]?.text ?? "";
  assert.match(text, /^User=deploy$/m);
  assert.match(text, /^DelegateSubgroup=procman$/m);
});

test("OpenRC and cron take no dot in a name; `%` in a crontab is not a line break", () => {
  assert.equal(openrcPlan(RECORD, LAUNCHER).files[0]?.path, "/etc/init.d/procman-my_shop");
  const system = cronPlan(RECORD, LAUNCHER).files[0];
  assert.deepEqual(
    [system?.path, system?.text.split("\n").at(-2)],
    ["/etc/cron.d/procman-my_shop", "@reboot deploy /bin/sh /etc/procman/my.shop.sh run --detach"],
  );
  const line = cronPlan({ ...USERS, name: "shop" }, "/home/100% me/x.sh").crontab;
  assert.equal(line, "@reboot /bin/sh '/home/100\\% me/x.sh' run --detach # procman-shop");
});

test("the crontab keeps its other lines; a line for the same name is replaced, and taken out", () => {
  const before = "# mine\n0 3 * * * backup # procman-shops\n";
  const line = "@reboot /bin/sh /a.sh run --detach # procman-shop";
  const installed = withCronLine(before, line, true);
  assert.equal(installed, `${before}${line}\n`);
  assert.equal(
    withCronLine(installed, line.replace("/a.sh", "/b.sh"), true),
    `${before}${line.replace("/a.sh", "/b.sh")}\n`,
  );
  assert.equal(withCronLine(installed, line, false), before);
  assert.equal(withCronLine("", line, false), "");
});

test("the launcher runs procman with the file, its profile and any further words, in the file's folder", (context) => {
  const place = folder(context);
  program(join(place, "node"), `${FAKE_NODE}; pwd; echo "$HOME $USER $PROCMAN_STATE_DIR $PATH"`);
  writeFileSync(join(place, "procman.cjs"), "");
  const given = {
    node: join(place, "node"),
    script: join(place, "procman.cjs"),
    profile: "it's on",
    stateRoot: "/var/my lib",
  };
  const [run, cwd, variables] = launched(context, given, ["run", "--guarded"]).split("\n");
  assert.equal(
    run,
    `${place}/node ${place}/procman.cjs run --config /it's 100%/procman.jsonc --profile=it's on --guarded`,
  );
  assert.deepEqual([cwd, variables], ["/it's 100%", "/home/deploy deploy /var/my lib /usr/bin:/bin"]);
  assert.match(launched(context, given, ["reload"]), /procman\.cjs reload --config \/it's 100%\/procman\.jsonc$/m);
});

test("the launcher asks the shell for the home of a user whom only a directory service knows", (context) => {
  const place = folder(context);
  program(join(place, "node"), `echo "$HOME"`);
  program(join(place, "procman.cjs"), "");
  assert.equal(
    launched(context, { node: join(place, "node"), script: join(place, "procman.cjs"), user: "root", home: "~root" }),
    "/root",
  );
});

test("if Node is gone, the launcher starts the newest Node beside it that works, and the procman of that Node", (context) => {
  const nodes = join(folder(context), "my versions/node");
  for (const version of ["v18.0.0", "v22.1.0", "v24.0.0"])
    program(join(nodes, version, "bin/node"), version === "v24.0.0" ? "exit 1" : `${FAKE_NODE}; echo "$PATH"`);
  const scriptOf = (version: string): string => join(nodes, version, "lib/node_modules/procman/dist/procman.cjs");
  program(scriptOf("v22.1.0"), "");
  const [run, path] = launched(context, { node: join(nodes, "v20.19.0/bin/node"), script: scriptOf("v20.19.0") }).split(
    "\n",
  );
  assert.equal(run, `${nodes}/v22.1.0/bin/node ${scriptOf("v22.1.0")} run --config /it's 100%/procman.jsonc`);
  assert.equal(path, `${nodes}/v22.1.0/bin:/usr/bin:/bin`);
});

test("if Yarn or pnpm has replaced procman by a version in another folder, the launcher starts that one", (context) => {
  const node = join(folder(context), "node");
  program(node, FAKE_NODE);
  for (const [root, old, next] of [
    ["my app-1.2.3/.yarn/unplugged", "procman-npm-1.0.0-4e89398c5e", "procman-npm-1.1.0-5f9a4a9d6f"],
    ["store/links/@/procman", "1.0.0/aa", "1.1.0/bb"],
  ] as const) {
    const place = join(folder(context), root);
    const scriptOf = (version: string): string => join(place, version, "node_modules/procman/dist/procman.cjs");
    program(scriptOf(next), "");
    mkdirSync(join(place, "left-pad-npm-1.3.0-0a1b2c3d4e"));
    assert.match(launched(context, { node, script: scriptOf(old) }), new RegExp(`^\\S+ ${scriptOf(next)} run `));
  }
});

test("the launcher says what is gone if nothing replaces it", (context) => {
  const place = folder(context);
  const node = join(place, "node");
  program(node, FAKE_NODE);
  const script = join(place, "1.0.0/procman.cjs");
  assert.throws(
    () => launched(context, { node, script }),
    ({ status, stderr }: { readonly status?: number; readonly stderr?: string }) =>
      status === 127 && stderr?.includes(`procman is gone (${script})`) === true,
  );
  symlinkSync(node, join(place, "procman"));
  assert.match(
    launched(context, { node, script, path: `${place}:/usr/bin:/bin` }),
    new RegExp(`^${node} ${place}/procman run`),
  );
});

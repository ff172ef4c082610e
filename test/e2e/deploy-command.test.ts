/** `procman deploy`, `procman releases` and a rollback to a release. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { DeploymentRecord, ReleaseRecord } from "../../src/core/contract/deployment-record.ts";
import type { HistoryEntry } from "../../src/core/contract/history-record.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman } from "../support/cli.ts";
import { freeRange } from "../support/free-ports.ts";
import { eventually } from "../support/procman-process.ts";
import { DIST } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

type Home = ReturnType<typeof homeOf>;

/** It says in which release it runs, and lasts. */
const PROGRAM =
  "console.log(`version ${require('node:fs').readFileSync(`${__dirname}/VERSION`, 'utf8').trim()}`); setInterval(() => undefined, 1e6);\n";
const WEB = {
  id: "web",
  cmd: "node main.js",
  cwd: "current",
  autostart: true,
  ready: { log: "version" },
  minUptimeMs: 50,
};

async function started(
  context: Parameters<typeof homeOf>[0],
  releases: object = {},
  processes: readonly object[] = [WEB],
): Promise<Home> {
  const home = homeOf(context, []);
  writeFileSync(join(home.folder, "procman.json"), JSON.stringify({ name: "test", releases, processes }));
  await procman(home.folder, ["run", "--detach"]);
  return home;
}

/** A folder to deploy. */
function build({ folder }: Home, version: string, files: Readonly<Record<string, string>> = {}): string {
  const place = join(folder, "builds", version);
  mkdirSync(place, { recursive: true });
  const all = { VERSION: `${version}\n`, "main.js": PROGRAM, ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(place, name), text);
  return place;
}

const deploy = ({ folder }: Home, ...args: readonly string[]) => procman(folder, ["deploy", ...args, "--wait"]);
const versionIn = ({ folder }: Home): string => readFileSync(join(folder, "current/VERSION"), "utf8").trim();
const listed = async ({ folder }: Home): Promise<readonly ReleaseRecord[]> =>
  JSON.parse((await procman(folder, ["releases", "--json"])).out);
const records = async ({ folder }: Home): Promise<readonly ProcessRecord[]> =>
  (JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[]).flatMap(
    (record) => record.instances ?? [record],
  );

/** With a token of the scope `admin`: status and code of the error. */
async function deployByPort({ folder, state }: Home, order: object): Promise<readonly [number, string]> {
  const token = (await procman(folder, ["token", "--consumer", "ci", "--scope", "admin"])).out.trim();
  const { port } = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8"));
  const answer = await fetch(`http://127.0.0.1:${port}/deployments`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(order),
  });
  return [answer.status, ((await answer.json()) as { readonly code: string }).code];
}

test("a release is made, prepared and put in use; a second one replaces it, and rollback goes back", async (context) => {
  const home = await started(context, {
    prepare: ["echo prepared in $(basename $PWD) > PREPARED; cat PREPARED"],
    before: ["cat VERSION >> ../../migrated"],
    after: ["cat VERSION >> ../../notified"],
    gate: { seconds: 1 },
  });
  const { folder } = home;
  const first = await deploy(home, build(home, "one"));
  assert.equal(first.code, 0, first.err);
  const id = readlinkSync(join(folder, "current")).replace("releases/", "");
  assert.match(first.out, new RegExp(`preparing it\\n\\+ echo prepared in .*\\n {2}prepared in ${id}\\n`));
  assert.match(first.out, new RegExp(`\\nRelease ${id} is in use\\.\\n$`));
  assert.equal(versionIn(home), "one");
  const plan = await procman(folder, ["deploy", build(home, "two"), "--dry-run"]);
  assert.match(plan.out, new RegExp(`switch ${join(folder, "current")} from ${id} to .*\\nrestart web\\nafter: cat`));
  assert.equal((await listed(home)).length, 1, "a dry run makes nothing");
  assert.equal((await deploy(home, join(folder, "builds/two"))).code, 0);
  const [present, former] = await listed(home);
  assert.deepEqual([present?.current, present?.pids.length, former?.id, former?.current], [true, 1, id, undefined]);
  const back = await procman(folder, ["rollback"]);
  assert.deepEqual([back.code, back.out], [0, `Release ${id} is in use.\n`]);
  assert.equal(versionIn(home), "one");
  assert.deepEqual(
    ["migrated", "notified"].map((name) => readFileSync(join(folder, name), "utf8")),
    ["one\ntwo\n", "one\ntwo\none\n"],
  );
  const [newest, second] = JSON.parse((await procman(folder, ["history", "--json"])).out) as readonly HistoryEntry[];
  assert.deepEqual([newest?.release, newest?.releaseBefore, newest?.active], [id, present?.id, true]);
  const forth = await procman(folder, ["rollback", String(second?.number)]);
  assert.equal(forth.out, `Release ${present?.id} is in use.\n`);
  assert.match(
    (await procman(folder, ["rollback", "20200101-000000"])).err,
    /Cannot roll back: .* has no release "20200101-000000"; it has /,
  );
  assert.match((await procman(folder, ["rollback", "one"])).err, /roll back to "one": .*the id of a release/);
  const shown = await procman(folder, ["history", "show", "active"]);
  assert.match(shown.out, new RegExp(`\nThe release ${present?.id} was put in use; ${id} was in use before it\\.\n`));
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  const stopped = await procman(folder, ["rollback"]);
  assert.deepEqual([stopped.code, /only a running procman puts a release in use/.test(stopped.err)], [1, true]);
  assert.match((await procman(folder, ["rollback", "2"])).err, /entry 2 is of a deployment, and only a running/);
});

test("a project that runs already: its folder is what `current` leads to, a reload takes it, and the first release follows", async (context) => {
  const home = homeOf(context, []);
  const { folder } = home;
  const configure = (part: object): void =>
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", ...part }));
  writeFileSync(join(folder, "main.js"), PROGRAM);
  writeFileSync(join(folder, "VERSION"), "by hand\n");
  configure({ processes: [{ ...WEB, cwd: "." }] });
  await procman(folder, ["run", "--detach", "--wait"]);
  configure({ releases: {}, processes: [WEB] });
  const early = await procman(folder, ["reload"]);
  assert.equal(early.code, 1);
  assert.match(
    early.err,
    /its working directory is .*current, but there is no release yet; "procman deploy FOLDER" makes the first one, and until then "ln -s \. .*current"/,
  );
  symlinkSync(".", join(folder, "current"));
  const reload = await procman(folder, ["reload"]);
  assert.equal(reload.code, 0, reload.err);
  const first = await deploy(home, build(home, "one"));
  assert.equal(first.code, 0, first.err);
  assert.equal(versionIn(home), "one");
  const back = await procman(folder, ["rollback"]);
  assert.deepEqual([back.code, versionIn(home)], [1, "one"]);
  assert.match(
    back.err,
    /^procman: Cannot roll back: the last change was release \S+, and there was none before it; name an entry of "procman history"/,
  );
});

test("a release that doesn't come up is taken back, with its last lines; the first one leaves nothing", async (context) => {
  const home = await started(context, { after: ["cat VERSION >> ../../notified; echo told of $PROCMAN_RELEASE"] });
  const { folder } = home;
  const bad = { "main.js": "console.error('no database'); process.exit(3);\n" };
  const none = await deploy(home, build(home, "zero", bad));
  assert.equal(none.code, 1);
  assert.match(
    none.err,
    /Cannot deploy \S+: .*"web".* exited with code 3.*; there was none before it, so its processes were stopped/,
  );
  assert.equal(existsSync(join(folder, "current")), false);
  assert.deepEqual(
    (await records(home)).map(({ status }) => status),
    ["stopped"],
  );
  assert.equal((await deploy(home, build(home, "one"))).code, 0);
  const first = await procman(folder, ["rollback"]);
  assert.match(first.err, /Cannot roll back: the last change was release \S+, and there was none before it/);
  const one = readlinkSync(join(folder, "current")).replace("releases/", "");
  const { code, out } = await deploy(home, build(home, "two", bad));
  assert.equal(code, 1);
  assert.match(out, new RegExp(`\n  told of ${one}\n$`), "of the release that is in use");
  assert.match(out, /last lines of "web":\n {2}no database\n/);
  assert.equal(versionIn(home), "one");
  assert.deepEqual(
    (await records(home)).map(({ status }) => status),
    ["running"],
  );
  assert.equal(readFileSync(join(folder, "notified"), "utf8"), "one\none\n");
  assert.deepEqual(
    (await listed(home)).map(({ result }) => result),
    ["taken-back", "done", "taken-back"],
  );
  const shown = await procman(folder, ["deploy", "--wait"]);
  assert.match(shown.err, /Cannot deploy .* is in use again/, "who comes later sees how it ended");
});

test("commands: one that fails, hangs, or asks for a password ends the deployment, and nothing is switched", async (context) => {
  const home = await started(context, {
    prepare: [
      "test ! -f FAILS || { echo no space >&2; exit 7; }",
      { cmd: "test ! -f HANGS || sleep 1000", timeout: 0.5 },
    ],
    before: [
      "test ! -f ASKS || { printf 'Password: '; read word < /dev/tty; }",
      "test ! -f READS || { read word || exit 9; }",
    ],
  });
  for (const [name, message] of [
    ["FAILS", /prepare: "test.*" ended with code 7: no space; nothing was switched/],
    ["HANGS", /prepare: "test ! -f HANGS.*" did not end within 500 ms, and was ended; nothing/],
    ["ASKS", /before: "test ! -f ASKS.*" ended with code \d+: .*\/dev\/tty/],
    ["READS", /before: "test ! -f READS.*" ended with code 9/],
  ] as const) {
    const { code, err } = await deploy(home, build(home, name.toLowerCase(), { [name]: "" }));
    assert.equal(code, 1);
    assert.match(err, message);
    assert.deepEqual(
      [existsSync(join(home.folder, "current")), readdirSync(join(home.folder, "releases"))],
      [false, []],
    );
  }
});

test("the gate: restarts, and a number that grows or that nobody reports", async (context) => {
  const reporting = (growth: number): string =>
    `${PROGRAM}let errors_total = 7;
    require(${JSON.stringify(join(DIST, "telemetry.cjs"))}).reportTelemetry({ everySeconds: 1, metrics: () => ({ errors_total: errors_total += ${growth} }) });\n`;
  const home = await started(context, { gate: { seconds: 3, metrics: { errors_total: "+2" } } }, [
    { ...WEB, restart: "always" },
  ]);
  const silent = await deploy(home, build(home, "silent"));
  assert.match(
    silent.err,
    /the gate: no process of the release has reported the metric "errors_total" within 3 s; report it/,
  );
  const crashing = await deploy(
    home,
    build(home, "crashing", { "main.js": `${PROGRAM}setTimeout(() => process.exit(1), 1_500);\n` }),
  );
  assert.match(crashing.err, /the gate: "web" .*; allowed: 0 restarts, there were 1/);
  const growing = await deploy(home, build(home, "growing", { "main.js": reporting(2) }));
  assert.match(growing.err, /the gate: the metric "errors_total" of "web" has grown by 4; allowed: \+2/);
  const good = await deploy(home, build(home, "good", { "main.js": reporting(0) }));
  assert.equal(good.code, 0, good.err);
});

test("refused at once: bad sources, a second deployment, a configuration without releases", async (context) => {
  const home = await started(context, { prepare: ["while [ ! -f ../../go ]; do sleep 0.05; done"] });
  const { folder } = home;
  mkdirSync(join(folder, "empty"));
  symlinkSync("/etc", join(build(home, "leading"), "etc"));
  for (const [source, message] of [
    ["./empty", /there is no file in it/],
    ["./nowhere", /there is no .*nowhere/],
    ["v9", /there is no file or folder "v9", and no Git repository/],
    ["builds/leading", /"etc" is a link to "\/etc", which leads out of the release/],
    ["procman.json", /it isn't an archive of tar/],
    ["no such folder", /there is no .*no such folder/],
  ] as const) {
    const { code, err } = await procman(folder, ["deploy", source]);
    assert.equal(code, 1);
    assert.match(err, message);
  }
  for (const words of [["deploy"], ["deploy", ""]]) assert.equal((await procman(folder, words)).code, 64);
  assert.match(
    (await procman(folder, ["deploy", build(home, "one")])).out,
    /Deployment 1 of \S+ has begun; "procman deploy --wait" follows it/,
  );
  const second = await procman(folder, ["deploy", "builds/one"]);
  assert.deepEqual([second.code, /deployment 1 \(release .*\) is under way for "cli"/.test(second.err)], [1, true]);
  writeFileSync(join(folder, "go"), "");
  assert.equal((await procman(folder, ["deploy", "--wait"])).code, 0);
  assert.match((await procman(folder, ["deploy", "./releases"])).err, /it is the folder of the releases/);
  assert.equal(versionIn(home), "one");
  assert.deepEqual(await deployByPort(home, { folder: join(folder, "builds/one") }), [403, "exec-refused"]);
  const [{ id } = { id: "" }] = await listed(home);
  assert.deepEqual(await deployByPort(home, { release: id }), [409, "deploy-refused"], "it is in use already");
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [WEB] }));
  await procman(folder, ["reload"]);
  assert.match((await procman(folder, ["deploy", "builds/one"])).err, /the configuration has no "releases"/);
});

test("an archive and a commit; what the configuration changes is applied, and taken back with a bad release", async (context) => {
  const home = await started(context);
  const { folder } = home;
  const place = build(home, "one");
  execFileSync("tar", ["-czf", join(folder, "one.tgz"), "-C", place, "."]);
  assert.equal((await deploy(home, "one.tgz")).code, 0);
  const git = (...args: readonly string[]): void =>
    void execFileSync("git", ["-C", place, "-c", "user.name=a", "-c", "user.email=a@example.org", ...args]);
  git("init", "-q");
  writeFileSync(join(place, "VERSION"), "tagged\n");
  git("add", ".");
  git("commit", "-qm", "one");
  git("tag", "v1");
  git("tag", "builds");
  const config = ["--config", join(folder, "procman.json")];
  mkdirSync(join(place, "builds"));
  assert.match(
    (await procman(place, ["deploy", "builds", ...config])).err,
    /write "\.\/builds" or "refs\/tags\/builds"/,
  );
  const tagged = await procman(place, ["deploy", "v1", "--wait", "--config", join(folder, "procman.json")]);
  assert.equal(tagged.code, 0, tagged.err);
  assert.equal(versionIn(home), "tagged");
  assert.match(readlinkSync(join(folder, "current")), /-[0-9a-f]{7}$/);
  const other = { ...WEB, id: "other" };
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", releases: {}, processes: [WEB, other] }));
  assert.equal((await deploy(home, place)).code, 0);
  assert.deepEqual(
    (await records(home)).map(({ id, status }) => `${id} ${status}`),
    ["web running", "other running"],
  );
});

test("a program gets the release when it is restarted: a watched one, a worker, a cluster of Node programs, Python", async (context) => {
  if (isMissing(context, "python3")) return;
  const startPort = await freeRange();
  const common = startPort + 2;
  const server =
    'require("node:http").createServer((_q, r) => r.end(require("node:fs").readFileSync(__dirname + "/VERSION"))).listen(process.env.PORT);\n';
  const common_ = { autostart: true, minUptimeMs: 200 };
  const home = await started(context, {}, [
    { id: "watched", cmd: "node main.js", cwd: "current", watch: ["current"], ...common_ },
    { id: "job", worker: "current/main.js", ...common_ },
    {
      id: "pair",
      cmd: "node server.js",
      node: true,
      cwd: "current",
      cluster: { instances: 2, commonPort: common, startPort },
      ...common_,
    },
    { id: "snake", cmd: "python3 -u main.py", cwd: "current", ...common_ },
  ]);
  const files = {
    "server.js": server,
    "main.py": "import time\nprint('version', open('VERSION').read().strip())\ntime.sleep(1000)\n",
  };
  const versions = async (): Promise<readonly string[]> => {
    const { out } = await procman(home.folder, ["logs", "--lines", "1000"]);
    return [...out.matchAll(/(watched|job|snake)\S* .*version (\w+)/g)]
      .map(([, id, version]) => `${id} ${version}`)
      .sort();
  };
  assert.equal((await deploy(home, build(home, "one", files))).code, 0);
  assert.deepEqual(await versions(), ["job one", "snake one", "watched one"]);
  assert.equal(await (await fetch(`http://127.0.0.1:${common}`)).text(), "one\n");
  const pids = (await records(home)).map(({ pid }) => pid);
  assert.equal((await deploy(home, build(home, "two", files))).code, 0);
  const present = realpathSync(join(home.folder, "current"));
  assert.equal(await (await fetch(`http://127.0.0.1:${common}`)).text(), "two\n");
  await eventually(async () => ((await versions()).length === 6 ? true : undefined));
  assert.deepEqual(
    await versions(),
    ["job one", "job two", "snake one", "snake two", "watched one", "watched two"],
    "each was restarted once",
  );
  const now = await records(home);
  assert.ok(now.every(({ pid }) => !pids.includes(pid)));
  for (const { id, pid } of now) if (id !== "job") assert.equal(readlinkSync(`/proc/${pid}/cwd`), present, id);
});

test("an entry of a deployment goes back with the configuration of that time, both or none", async (context) => {
  const home = await started(context);
  const { folder } = home;
  const file = join(folder, "procman.json");
  const written = (mode: string): string =>
    JSON.stringify({ name: "test", releases: {}, processes: [{ ...WEB, env: { MODE: mode } }] });
  const modes = async (): Promise<readonly string[]> =>
    [...(await procman(folder, ["logs", "--lines", "1000"])).out.matchAll(/mode (\w+) version (\w+)/g)].map(
      ([, mode, version]) => `${mode} ${version}`,
    );
  const program = PROGRAM.replace("`version", "`mode ${process.env.MODE} version");
  for (const version of ["one", "two"]) {
    writeFileSync(file, written(version));
    const { code, err } = await deploy(home, build(home, version, { "main.js": program }));
    assert.equal(code, 0, err);
  }
  const entries = JSON.parse((await procman(folder, ["history", "--json"])).out) as readonly HistoryEntry[];
  const [second, first] = entries.filter(({ release }) => release !== undefined).map(({ number }) => String(number));
  const plan = await procman(folder, ["rollback", first ?? "", "--dry-run"]);
  assert.match(
    plan.out,
    /switch .*\nrestart web\n.*procman\.json would get its text of entry \d+; the text of before/s,
  );
  assert.deepEqual([versionIn(home), readFileSync(file, "utf8")], ["two", written("two")]);
  const back = await procman(folder, ["rollback", first ?? ""]);
  assert.match(
    back.out,
    /^Release \S+ is in use\.\n.*procman\.json has its text of entry \d+; the text of before is in/,
  );
  assert.deepEqual([versionIn(home), readFileSync(file, "utf8")], ["one", written("one")]);
  await eventually(async () => ((await modes()).at(-1) === "one one" ? true : undefined));
  // The program of the second release is damaged now.
  writeFileSync(
    join(folder, "releases", entries.find(({ number }) => String(number) === second)?.release ?? "", "main.js"),
    "!",
  );
  const failed = await procman(folder, ["rollback", second ?? ""]);
  assert.match(failed.err, /Cannot deploy \S+: .* is in use again/);
  assert.deepEqual([versionIn(home), readFileSync(file, "utf8")], ["one", written("one")]);
  const after = await eventually(async () => {
    const all = await modes();
    return all.at(-1) === "one one" ? all : undefined;
  });
  assert.ok(!after.includes("two one"), "the configuration never runs another release");
  assert.match((await procman(folder, ["status"])).out, /web +running/);
  assert.doesNotMatch((await procman(folder, ["status"])).out, /not applied/);
});

test("--json prints the record, and the last one is known", async (context) => {
  const home = await started(context);
  const { out } = await procman(home.folder, ["deploy", build(home, "one"), "--wait", "--json"]);
  const record = JSON.parse(out) as DeploymentRecord;
  assert.deepEqual([record.number, record.result, record.step, record.consumer], [1, "done", undefined, "cli"]);
});

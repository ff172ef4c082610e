/** 2.1 `include` by a pattern in a folder of another user: commands of that user never run with the rights of procman. */
import assert from "node:assert/strict";
import { chownSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeOf, procman } from "../support/cli.ts";
import { folderOf, type OtherUser, otherUser, runAs } from "../support/other-user.ts";
import { eventually } from "../support/procman-process.ts";
import { PACKAGE } from "../support/product.ts";

const ROOT: OtherUser = { name: "root", uid: 0, gid: 0 };
/** On a loaded machine; quadratic time would be minutes. Milliseconds. */
const SOON_MS = 10_000;
const REFUSED =
  /include\[0\].*\n(?:.*\n)*? *Cannot include \S+\.json, which the pattern finds: \S+ belongs to the user nobody, and could have put it there/;

/** A project of root's that others may enter, with the folder `srv` of nobody. undefined: the test is skipped. */
async function projectOf(context: TestContext) {
  const user = otherUser(context);
  if (user === undefined) return undefined;
  const { folder } = homeOf(context, []);
  await runAs(ROOT, ["chmod", "755", folder]);
  return { user, folder, own: folderOf(user, join(folder, "srv")) };
}

test("a log of root that the owner of the folder moves to where the pattern looks isn't included", async (context) => {
  const project = await projectOf(context);
  if (project === undefined) return;
  const { user, folder, own } = project;
  folderOf(user, join(own, "conf.d"));
  const evil = JSON.stringify({ processes: [{ id: "evil", cmd: `id > ${folder}/owned`, autostart: true }] });
  const web = { id: "web", cmd: `echo '${evil}'; exec sleep 600`, cwd: "/", user: user.name, autostart: true };
  const configuration = {
    name: "test",
    include: ["srv/conf.d/*.json"],
    processes: [{ ...web, logger: { stdout: join(own, "web.log") } }],
  };
  writeFileSync(join(folder, "procman.json"), JSON.stringify(configuration));
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const log = join(own, "web.log");
  await eventually(() => (existsSync(log) && readFileSync(log, "utf8").endsWith("\n") ? true : undefined));
  assert.equal((await runAs(user, ["mv", log, join(own, "conf.d/evil.json")])).code, 0);
  const reload = await procman(folder, ["reload"]);
  assert.equal(reload.code, 78, reload.err);
  assert.match(reload.err, REFUSED);
  assert.equal(existsSync(join(folder, "owned")), false);
});

test("a folder of the pattern that its owner replaces by a link to files of root isn't searched", async (context) => {
  const project = await projectOf(context);
  if (project === undefined) return;
  const { user, folder, own } = project;
  mkdirSync(join(folder, "old"));
  writeFileSync(
    join(folder, "old/x.json"),
    JSON.stringify({ processes: [{ id: "old", cmd: `id > ${folder}/owned`, autostart: true }] }),
  );
  assert.equal((await runAs(user, ["ln", "-s", join(folder, "old"), join(own, "conf.d")])).code, 0);
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ name: "test", include: ["srv/conf.d/*.json"], processes: [] }),
  );
  const run = await procman(folder, ["run", "--detach"]);
  assert.equal(run.code, 78, run.err);
  assert.match(run.err, REFUSED);
  assert.equal(existsSync(join(folder, "owned")), false);
});

test("an included file of another user with a megabyte of one character is read at once", async (context) => {
  const project = await projectOf(context);
  if (project === undefined) return;
  const { user, folder, own } = project;
  const file = join(own, "web.json");
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ name: "test", include: ["srv/web.json"], processes: [] }),
  );
  for (const character of [" ", "\n", "\r", "*", "/", ".", "$"]) {
    const text = character.repeat(1_000_000);
    const web = JSON.stringify({ processes: [{ id: "web", cmd: "sleep 1000", env: { TEXT: text } }] });
    writeFileSync(file, `${character.trim() === "" ? text : `/*${text} */`}${web}`);
    chownSync(file, user.uid, user.gid);
    const begin = performance.now();
    const { code, err } = await procman(folder, ["validate"]);
    assert.equal(code, 0, err.slice(0, 1_000));
    assert.ok(performance.now() - begin < SOON_MS, `${JSON.stringify(character)}: ${performance.now() - begin} ms`);
  }
});

test("`install` refuses root's start at boot where another user can turn a link, add a file or change a bundle", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const { folder } = homeOf(context, []);
  const alice = folderOf(user, join(folder, "alice"));
  mkdirSync(join(folder, "releases"));
  const write = (configuration: object): void =>
    writeFileSync(
      join(folder, "releases/procman.json"),
      JSON.stringify({ name: "test", processes: [], ...configuration }),
    );
  const installed = (config: string): ReturnType<typeof procman> =>
    procman(folder, ["install", "--system", "--init", "systemd", "--dry-run", "--config", join(folder, config)]);
  write({});
  assert.equal((await installed("releases/procman.json")).code, 0);
  symlinkSync("../releases", join(alice, "current"));
  symlinkSync("alice/current/procman.json", join(folder, "procman.jsonc"));
  const linked = await installed("procman.jsonc");
  assert.match(
    linked.err,
    /Cannot install: root would run \S+procman\.jsonc at boot, but \S+alice belongs to the user nobody\. Let its user run it/,
  );
  write({ include: ["../alice/conf.d/*.json"] });
  assert.match(
    (await installed("releases/procman.json")).err,
    /root would run \S+alice at boot, but \S+alice belongs to the user nobody/,
  );
  write({});
  const copy = join(folder, "package");
  for (const part of ["dist", "package.json"]) cpSync(join(PACKAGE, part), join(copy, part), { recursive: true });
  chownSync(join(copy, "dist/service-main.cjs"), user.uid, user.gid);
  const command = [
    process.execPath,
    join(copy, "dist/procman.cjs"),
    "install",
    "--system",
    "--init",
    "systemd",
    "--dry-run",
  ];
  const changed = await runAs(ROOT, [...command, "--config", join(folder, "releases")], { env: { HOME: folder } });
  assert.match(
    changed.err,
    /root would run \S+service-main\.cjs at boot, but \S+service-main\.cjs belongs to the user nobody/,
  );
});

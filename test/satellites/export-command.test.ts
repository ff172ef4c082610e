/** `procman export`: docs/guide/export.md. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, type Outcome, procman } from "../support/cli.ts";

const WEB = { id: "web", cmd: "node server.js", autostart: true };
const MAIL = { id: "mail", cmd: "node mail.js", autostart: true };
const FRONTED = { ...WEB, cluster: { instances: 2, startPort: 3001, commonPort: 3000 } };

function change(folder: string, processes: readonly object[]): void {
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes }));
}

test("one file is printed, with what it can't carry on standard error; several need a folder", async (context) => {
  const { folder } = homeOf(context, [FRONTED, { ...MAIL, watch: ["mail.js"] }]);
  const haproxy = await procman(folder, ["export", "--to", "haproxy"]);
  assert.equal(haproxy.code, 0);
  assert.match(haproxy.out, /^# Made by procman export from procman\.json, [\s\S]*^backend web$/m);
  assert.match(
    haproxy.err,
    /^Not carried over to haproxy, or left to do:\n {2}web: cluster\.commonPort: procman's load balancer has this port/,
  );
  const kubernetes = await procman(folder, ["export", "--to", "kubernetes", "--image", "shop:1"]);
  assert.deepEqual([kubernetes.code, kubernetes.out.startsWith("# Made by")], [0, true]);
  assert.match(kubernetes.err, /^ {2}mail: watch: /m);
  const systemd = await procman(folder, ["export", "--to", "systemd"]);
  assert.deepEqual([systemd.code, systemd.out], [64, ""]);
  assert.match(
    systemd.err,
    /Cannot print 4 files \(test\.target, .*\); name a folder: procman export --to systemd --output FOLDER/,
  );
});

test("--output makes the folder, replaces earlier exports, and never another file without --force", async (context) => {
  const { folder } = homeOf(context, [WEB, MAIL]);
  const output = join(folder, "deploy/units");
  const run = (...args: readonly string[]): Promise<Outcome> =>
    procman(folder, ["export", "--to", "systemd", "--output", "deploy/units", ...args]);
  assert.match((await run()).out, /^created {3}deploy\/units\/test\.target$/m);
  assert.deepEqual(readdirSync(output).sort(), ["test-mail.service", "test-web.service", "test.target"]);
  assert.match((await run()).out, /^unchanged .*test-web\.service$/m);
  change(folder, [{ ...WEB, cmd: "node other.js" }]);
  const changed = await run();
  assert.match(changed.out, /^replaced {2}.*test-web\.service$/m);
  assert.match(changed.out, /^not part of this export any more: .*test-mail\.service$/m);
  writeFileSync(join(output, "test-web.service"), "# by hand\n");
  writeFileSync(join(output, "notes.txt"), "mine");
  change(folder, [{ ...WEB, cmd: "node third.js" }]);
  const before = readFileSync(join(output, "test.target"), "utf8");
  const refused = await run();
  assert.equal(refused.code, 1);
  assert.match(
    refused.err,
    /Cannot replace test-web\.service in .*units: it is not an earlier export\. Move them away, or use --force/,
  );
  assert.deepEqual(
    [readFileSync(join(output, "test-web.service"), "utf8"), readFileSync(join(output, "test.target"), "utf8")],
    ["# by hand\n", before],
  );
  assert.equal((await run("--force")).code, 0);
  assert.match(readFileSync(join(output, "test-web.service"), "utf8"), /third\.js/);
  assert.equal(readFileSync(join(output, "notes.txt"), "utf8"), "mine");
});

test("what the target can't do is refused with the remedy, and nothing is written", async (context) => {
  const { folder } = homeOf(context, [WEB, { id: "job", cmd: "true", cron: "*/10 * * * * *" }]);
  const { code, out, err } = await procman(folder, ["export", "--to", "kubernetes", "--output", "deploy"]);
  assert.deepEqual([code, out, existsSync(join(folder, "deploy"))], [1, "", false]);
  assert.match(
    err,
    /^procman: Cannot export to kubernetes:\n {2}job: cron: Kubernetes has five fields, .*; change the pattern, or leave the process with procman\n$/,
  );
});

test("wrong targets, invalid files and folders that can't be written have their exit codes and say the remedy", async (context) => {
  const { folder } = homeOf(context, [WEB]);
  const target = await procman(folder, ["export", "--to", "docker"]);
  assert.equal(target.code, 64);
  assert.match(target.err, /systemd, compose, swarm, kubernetes, nomad, procfile, haproxy/);
  assert.equal((await procman(folder, ["export"])).code, 64);
  mkdirSync(join(folder, "in"));
  writeFileSync(join(folder, "in/file"), "");
  const place = await procman(folder, ["export", "--to", "procfile", "--output", "in/file/deploy"]);
  assert.match(place.err, /Cannot write .*in\/file\/deploy: a part of the path is not a folder/);
  assert.notEqual(place.code, 70);
  change(folder, [{ id: 7 }]);
  assert.equal((await procman(folder, ["export", "--to", "procfile"])).code, 78);
});

test("the profile is merged, and the folder of the configuration counts, wherever the command runs", async (context) => {
  const { folder } = homeOf(context, [WEB], {
    profiles: { production: { processes: [{ id: "web", env: { LEVEL: "warn" } }] } },
  });
  mkdirSync(join(folder, "elsewhere"));
  const { out } = await procman(join(folder, "elsewhere"), ["export", "--to", "procfile", "--profile", "production"]);
  assert.match(out, /^web: export LEVEL=warn; node server\.js$/m);
});

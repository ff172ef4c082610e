/** `procman deploy --host @web --haproxy`: rollouts over three machines with a network between them, behind HAProxy. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Outcome } from "../support/cli.ts";
import { HOSTS, type HostName, HostRig } from "../support/host-rig.ts";
import { eventually } from "../support/procman-process.ts";

/** With a release "1" on all hosts. */
async function deployed(context: TestContext, config: object = {}): Promise<HostRig | undefined> {
  const rig = await HostRig.create(context, config);
  if (rig === undefined) return undefined;
  const first = await rig.run("deploy", rig.build("1"), "--host", "@web", "--batch", "100%");
  assert.equal(first.code, 0, first.err);
  for (const name of HOSTS) await eventually(async () => (await rig.serverStatus(name)) === "UP" || undefined);
  return rig;
}

const rolling = (rig: HostRig, version: string): readonly string[] => [
  ...["deploy", rig.build(version), "--host", "@web", "--haproxy", rig.haproxy, "--on-failure", "rollback"],
];

const versions = (rig: HostRig): readonly (string | undefined)[] => HOSTS.map((name) => rig.version(name));

async function areUp(rig: HostRig): Promise<void> {
  for (const name of HOSTS) assert.equal(await rig.serverStatus(name), "UP", name);
}

test("three hosts roll under load: no request fails; a release that is bad on the second host goes back on both", async (context) => {
  const rig = await deployed(context);
  if (rig === undefined) return;
  const load = rig.load(context);
  const good = await rig.run(...rolling(rig, "2"));
  assert.equal(good.code, 0, good.err);
  assert.deepEqual(versions(rig), ["2", "2", "2"]);
  writeFileSync(join(rig.place("web2"), "refuse"), "");
  const bad = await rig.run(...rolling(rig, "3"));
  assert.equal(bad.code, 1);
  assert.match(bad.err, /web2: .*\n.*taken back: web1/s);
  assert.deepEqual(versions(rig), ["2", "2", "2"]);
  await areUp(rig);
  await load.stop();
  assert.deepEqual(load.failures, []);
  context.diagnostic([...load.answers].map(([version, count]) => `${count} of ${version}`).join(", "));
});

/** Resolves when the client has printed the line. */
async function printed(client: ChildProcess, line: string): Promise<void> {
  let said = "";
  for (const stream of [client.stdout, client.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  await eventually(() => said.includes(`\n${line}`) || undefined, { what: line, ms: 120_000 });
}

test("a client that is killed at any step is followed by another user's, with another list of hosts", async (context) => {
  const rig = await deployed(context);
  if (rig === undefined) return;
  const settings = join(rig.folder, "other");
  mkdirSync(join(settings, "procman"), { recursive: true });
  const hosts = readFileSync(join(rig.folder, "procman/hosts.json"));
  writeFileSync(join(settings, "procman/hosts.json"), hosts, { mode: 0o600 });
  const load = rig.load(context);
  for (const [index, line] of ["web1: draining", "web2: running", "web3: readying"].entries()) {
    const version = String(index + 2);
    const client = rig.start(...rolling(rig, version));
    const ended = once(client, "exit");
    await printed(client, line);
    client.kill("SIGKILL");
    await ended;
    const continued = await rig.runAs(settings, "rollout", "continue", "--haproxy", rig.haproxy);
    assert.equal(continued.code, 0, `${line}: ${continued.err}`);
    assert.deepEqual(versions(rig), [version, version, version], line);
    await areUp(rig);
  }
  await load.stop();
  assert.deepEqual(load.failures, []);
});

test("a host that can't take a release, or hangs, changes nothing on the others, or takes them back", async (context) => {
  const prepare = [{ cmd: "test ! -e ../../hang || sleep 1000", timeout: 2 }];
  const rig = await deployed(context, { releases: { prepare } });
  if (rig === undefined) return;
  const mount = async (name: HostName, ...words: readonly string[]): Promise<void> => {
    const { code, err } = await rig.on(name, "mount", ...words);
    assert.equal(code, 0, err);
  };
  const refused = async (message: RegExp): Promise<Outcome> => {
    const outcome = await rig.run(...rolling(rig, "2"));
    assert.notEqual(outcome.code, 0);
    assert.match(outcome.err, message);
    assert.deepEqual(versions(rig), ["1", "1", "1"]);
    await areUp(rig);
    return outcome;
  };
  await mount("web2", "-t", "tmpfs", "-o", "size=4k", "tmpfs", rig.stateHome("web2"));
  await refused(/Cannot upload to web2: .*room/);
  await rig.on("web2", "umount", rig.stateHome("web2"));
  const releases = join(rig.place("web3"), "releases");
  await mount("web3", "--bind", releases, releases);
  await mount("web3", "-o", "remount,bind,ro", releases);
  await refused(/web3: .*(?:read-only|may not write)/i);
  await rig.on("web3", "umount", releases);
  writeFileSync(join(rig.place("web2"), "hang"), "");
  await refused(/web2: .*prepare: "test ! -e .*taken back: web1/s);
  rmSync(join(rig.place("web2"), "hang"));
  const done = await rig.run(...rolling(rig, "2"));
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(versions(rig), ["2", "2", "2"]);
});

test("a host that is cut off at any step: the rollout stops, and goes on when it is back", async (context) => {
  const rig = await deployed(context);
  if (rig === undefined) return;
  for (const [index, line] of ["web2: draining", "web2: running"].entries()) {
    const version = String(index + 2);
    const words = ["deploy", rig.build(version), "--host", "@web", "--haproxy", rig.haproxy, "--host-timeout", "5"];
    const client = rig.start(...words);
    const ended = once(client, "exit");
    await printed(client, line);
    rig.cut("web2");
    const [code] = await ended;
    assert.notEqual(code, 0, line);
    assert.equal(rig.version("web1"), version);
    assert.notEqual(rig.version("web3"), version);
    rig.join("web2");
    const continued = await rig.run("rollout", "continue", "--haproxy", rig.haproxy);
    assert.equal(continued.code, 0, `${line}: ${continued.err}`);
    assert.deepEqual(versions(rig), [version, version, version], line);
  }
});

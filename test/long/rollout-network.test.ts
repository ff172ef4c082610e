/** `procman deploy --host @web --haproxy`: rollouts in which clients are killed, hosts are cut off, disks are full and hooks hang. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Outcome } from "../support/cli.ts";
import { type HostName, HostRig } from "../support/host-rig.ts";
import { eventually } from "../support/procman-process.ts";

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
  const rig = await HostRig.withRelease(context);
  if (rig === undefined) return;
  const settings = join(rig.folder, "other");
  mkdirSync(join(settings, "procman"), { recursive: true });
  const hosts = readFileSync(join(rig.folder, "procman/hosts.json"));
  writeFileSync(join(settings, "procman/hosts.json"), hosts, { mode: 0o600 });
  const load = rig.load(context);
  for (const [index, line] of ["web1: draining", "web2: running", "web3: readying"].entries()) {
    const version = String(index + 2);
    const client = rig.start(...rig.rolling(version));
    const ended = once(client, "exit");
    await printed(client, line);
    client.kill("SIGKILL");
    await ended;
    const continued = await rig.runAs(settings, "rollout", "continue", "--haproxy", rig.haproxy);
    assert.equal(continued.code, 0, `${line}: ${continued.err}`);
    assert.deepEqual(rig.versions, [version, version, version], line);
    assert.deepEqual(await rig.notUp(), []);
  }
  await load.stop();
  assert.deepEqual(load.failures, []);
});

test("a host that can't take a release, or hangs, changes nothing on the others, or takes them back", async (context) => {
  const prepare = [{ cmd: "test ! -e ../../hang || sleep 1000", timeout: 2 }];
  const rig = await HostRig.withRelease(context, { releases: { prepare } });
  if (rig === undefined) return;
  const mount = async (name: HostName, ...words: readonly string[]): Promise<void> => {
    const { code, err } = await rig.on(name, "mount", ...words);
    assert.equal(code, 0, err);
  };
  const refused = async (message: RegExp): Promise<Outcome> => {
    const outcome = await rig.run(...rig.rolling("2"));
    assert.notEqual(outcome.code, 0);
    assert.match(outcome.err, message);
    assert.deepEqual(rig.versions, ["1", "1", "1"]);
    assert.deepEqual(rig.uploads, [[], [], []]);
    assert.deepEqual(await rig.notUp(), []);
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
  const done = await rig.run(...rig.rolling("2"));
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(rig.versions, ["2", "2", "2"]);
});

test("Ctrl-C during an upload removes what was uploaded, and lets no host change", async (context) => {
  const rig = await HostRig.withRelease(context);
  if (rig === undefined) return;
  const folder = rig.build("2");
  writeFileSync(join(folder, "big"), Buffer.alloc(500_000_000));
  const client = rig.start(...rig.rolling("2"));
  const ended = once(client, "exit");
  await eventually(() => rig.uploads.some(({ length }) => length > 0) || undefined);
  client.kill("SIGINT");
  assert.deepEqual(await ended, [130, null]);
  assert.deepEqual(rig.uploads, [[], [], []]);
  assert.deepEqual(rig.versions, ["1", "1", "1"]);
  assert.match((await rig.run("rollout", "continue")).err, /Cannot find a rollout/);
});

test("a host that is cut off at any step: the rollout stops, and goes on when it is back", async (context) => {
  const rig = await HostRig.withRelease(context);
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
    await rig.join("web2");
    const continued = await rig.run("rollout", "continue", "--haproxy", rig.haproxy);
    assert.equal(continued.code, 0, `${line}: ${continued.err}`);
    assert.deepEqual(rig.versions, [version, version, version], line);
  }
});

/** Deployments on three machines with a network between them: uploads, and hosts that HAProxy drains. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { haproxyStep } from "../../src/satellites/hosts/haproxy-drain.ts";
import { HOSTS, type HostName, HostRig, MACHINES } from "../support/host-rig.ts";
import { eventually } from "../support/procman-process.ts";

const uploads = (rig: HostRig, name: HostName): string => join(rig.stateHome(name), "procman/uploads");

const haproxy = (rig: HostRig, name: HostName, state: "drain" | "ready") =>
  haproxyStep([rig.haproxy], { name, hostname: MACHINES.addressOf(name), state }, { seconds: 20 });

async function deployEverywhere(rig: HostRig, version: string): Promise<void> {
  const build = rig.build(version);
  for (const name of HOSTS) {
    const { code, err } = await rig.run("deploy", build, "--host", name, "--wait");
    assert.equal(code, 0, err);
    await eventually(async () => (await rig.serverStatus(name)) === "UP" || undefined);
  }
}

test("three hosts are drained by HAProxy, deployed and put back: no request fails", async (context) => {
  const rig = await HostRig.create(context);
  if (rig === undefined) return;
  await deployEverywhere(rig, "1");
  const build = rig.build("2");
  const load = rig.load(context);
  for (const name of HOSTS) {
    assert.equal(await haproxy(rig, name, "drain"), undefined);
    assert.equal(await rig.serverStatus(name), "DRAIN");
    const { code, err } = await rig.run("deploy", build, "--host", name, "--wait");
    assert.equal(code, 0, err);
    assert.equal(await haproxy(rig, name, "ready"), undefined);
    assert.equal(await rig.serverStatus(name), "UP");
  }
  await eventually(() => load.answers.has("2") || undefined);
  await load.stop();
  assert.deepEqual(load.failures, []);
  context.diagnostic(`${[...load.answers].map(([version, count]) => `${count} of ${version}`).join(", ")}`);
});

test("full, read-only and out of reach: the message names host and remedy, and nothing has changed there", async (context) => {
  const rig = await HostRig.create(context);
  if (rig === undefined) return;
  const build = rig.build("1", { big: "x".repeat(3_000_000) });
  const many = rig.build("many", Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${index}`, ""])));
  const deploy = (folder: string, name: HostName) => rig.run("deploy", folder, "--host", name, "--wait");
  const small = async (name: HostName, options: string): Promise<void> => {
    const { code, err } = await rig.on(name, "mount", "-t", "tmpfs", "-o", options, "tmpfs", rig.stateHome(name));
    assert.equal(code, 0, err);
  };
  await small("web1", "size=1m");
  const full = await deploy(build, "web1");
  assert.match(full.err, /Cannot upload to web1: it needs 3\.\d MB, and \S+ has room for [01]\.\d MB; make room there/);
  await rig.on("web1", "mount", "-o", "remount,size=10m,nr_inodes=20", rig.stateHome("web1"));
  const inodes = await deploy(many, "web1");
  assert.match(inodes.err, /Cannot upload to web1: \S+ has no room for it \(.*No space left on device.*\); make room/);
  assert.equal((await rig.on("web1", "ls", uploads(rig, "web1"))).out, "");
  await small("web2", "ro");
  const readOnly = await deploy(build, "web2");
  assert.match(readOnly.err, /Cannot upload to web2: its user may not write there \(.*Read-only file system\); give/);
  for (const { code } of [full, inodes, readOnly]) assert.equal(code, 1);
  // Amid the upload.
  execFileSync("truncate", ["-s", "3G", join(build, "big")]);
  const began = deploy(build, "web3");
  const folder = (): readonly string[] => (existsSync(uploads(rig, "web3")) ? readdirSync(uploads(rig, "web3")) : []);
  await eventually(() => folder().some((id) => existsSync(join(uploads(rig, "web3"), id, "folder"))) || undefined);
  const cut = performance.now();
  rig.cut("web3");
  const { code, err } = await began;
  assert.equal(code, 69, err);
  assert.match(err, /Cannot upload to web3: the connection broke: .*repeat it when web3 can be reached/);
  context.diagnostic(`a cut link was noticed after ${((performance.now() - cut) / 1_000).toFixed(1)} s`);
  await rig.join("web3");
  assert.equal((await deploy(rig.build("2"), "web3")).code, 0);
  assert.equal(rig.version("web3"), "2");
  for (const name of ["web1", "web2"] as const) assert.equal(rig.version(name), undefined);
});

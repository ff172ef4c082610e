/** Deployments with a full disk, wrong rights, commands that hang, and connections that are refused: nothing stands between. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { DeploymentRecord } from "../../src/core/contract/deployment-record.ts";
import { type FaultRig, folderFor, startRig } from "../support/fault-rig.ts";
import { freeRange } from "../support/free-ports.ts";
import { otherUser, runAs, sharedFolder } from "../support/other-user.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { smallDisk } from "../support/skip.ts";
import { fill } from "./full-disk.ts";

const SLEEPER = { id: "web", cwd: "current", cmd: "exec sleep 1000", autostart: true, minUptimeMs: 100 };

function build(folder: string, version: string, files: Readonly<Record<string, string>> = {}): string {
  const place = join(folder, "builds", version);
  mkdirSync(place, { recursive: true });
  for (const [name, text] of Object.entries({ VERSION: version, ...files })) writeFileSync(join(place, name), text);
  return place;
}

function rigWith(
  context: TestContext,
  folder: string,
  releases: object,
  {
    processes = [SLEEPER],
    env = {},
  }: { readonly processes?: readonly { readonly id: string }[]; readonly env?: object } = {},
): Promise<FaultRig> {
  return startRig(context, folder, processes, { env: { ...env }, config: { releases, api: { exec: true } } });
}

/** Returns the number of the deployment. */
async function begin(rig: FaultRig, place: string): Promise<number> {
  const answer = await rig.procman.api.ask("POST", "/deployments", { folder: place });
  assert.equal(answer?.status, 200, JSON.stringify(answer?.body));
  return answer?.body.number;
}

/** How it has ended. */
async function deploy(rig: FaultRig, place: string): Promise<DeploymentRecord> {
  return over(rig, await begin(rig, place));
}

function over(rig: FaultRig, number: number): Promise<DeploymentRecord> {
  return eventually(
    async () => {
      const answer = await rig.procman.api.ask("GET", `/deployments/${number}`);
      const record = answer?.status === 200 ? (answer.body as DeploymentRecord) : undefined;
      return record !== undefined && record.step === undefined ? record : undefined;
    },
    { ms: 60_000, what: `the end of deployment ${number}` },
  );
}

const versionIn = (folder: string): string => readFileSync(join(folder, "current/VERSION"), "utf8");

test("the disk is full during the copy: nothing is left of it, and with room the next one works", async (context) => {
  const disk = smallDisk(context, "size=2m,nr_inodes=40");
  if (disk === undefined) return;
  const folder = folderFor(context);
  const rig = await rigWith(context, folder, { folder: join(disk, "releases") });
  assert.equal((await deploy(rig, build(folder, "one"))).result, "done");
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`file-${index}`, "x"]));
  const full = await deploy(rig, build(folder, "many", many));
  assert.equal(full.result, "failed");
  assert.match(full.problem ?? "", /no space left on/i);
  assert.equal(readdirSync(join(disk, "releases")).length, 1);
  assert.equal(versionIn(folder), "one");
  assert.equal((await deploy(rig, build(folder, "two"))).result, "done");
  assert.equal(versionIn(folder), "two");
});

test("the state folder has no room: the deployment is refused, and doesn't count as under way", async (context) => {
  const disk = smallDisk(context, "size=8m");
  if (disk === undefined) return;
  const folder = folderFor(context);
  const rig = await startRig(context, folder, [SLEEPER], {
    env: { PROCMAN_STATE_DIR: disk },
    config: { releases: {}, api: { exec: true }, logger: { internalLogHours: 0 } },
  });
  const place = build(folder, "one");
  const empty = fill(disk);
  const answer = await rig.procman.api.ask("POST", "/deployments", { folder: place });
  empty();
  assert.deepEqual([answer?.status, answer?.body.code], [409, "deploy-refused"]);
  assert.match(answer?.body.detail ?? answer?.body.message ?? "", /no space left on/i);
  assert.equal((await deploy(rig, place)).result, "done");
});

test("a releases folder that isn't writable: the error names it, and nothing has changed", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const shared = sharedFolder(context, user);
  const home = join(shared, user.name);
  mkdirSync(join(home, "releases"));
  chmodSync(join(home, "releases"), 0o755);
  writeFileSync(join(home, "procman.json"), JSON.stringify({ name: "shop", releases: {}, processes: [SLEEPER] }));
  const place = build(shared, "one");
  const procman = (...args: readonly string[]) =>
    runAs(user, [process.execPath, BIN, ...args], { cwd: home, env: { HOME: home } });
  await procman("run", "--detach");
  const { code, err } = await procman("deploy", place, "--wait");
  // It ends before its folder is removed.
  await procman("terminate");
  assert.equal(code, 1);
  assert.match(
    err,
    new RegExp(`Cannot deploy: procman's user can't write to ${join(home, "releases")}: permission denied`),
  );
  assert.deepEqual([readdirSync(join(home, "releases")), existsSync(join(home, "current"))], [[], false]);
});

test("root's procman: commands run as the user of the processes, who owns the release and can't write elsewhere", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const shared = sharedFolder(context);
  const folder = folderFor(context);
  chmodSync(folder, 0o755);
  const rig = await rigWith(
    context,
    folder,
    { prepare: ["id -un > WHO", `test ! -f BAD || echo x > ${join(shared, "of-root")}`] },
    { processes: [{ ...SLEEPER, user: user.name } as typeof SLEEPER] },
  );
  const good = await deploy(rig, build(folder, "one"));
  assert.equal(good.result, "done", good.problem);
  const who = join(folder, "current/WHO");
  assert.deepEqual([readFileSync(who, "utf8").trim(), statSync(who).uid], [user.name, user.uid]);
  assert.equal(statSync(join(folder, "current/VERSION")).uid, user.uid);
  const bad = await deploy(rig, build(folder, "two", { BAD: "" }));
  assert.equal(bad.result, "failed");
  assert.match(bad.problem ?? "", /prepare: .*permission denied/i);
});

test("a command hangs, and the service is killed meanwhile: the command ends, is repeated, and ends at its limit", async (context) => {
  const folder = folderFor(context);
  const pids = join(folder, "pids");
  const hanging = { cmd: `test ! -f HANGS || { echo $$ >> ${pids}; exec sleep 1000; }`, timeout: 2 };
  const rig = await rigWith(context, folder, { prepare: [hanging] });
  assert.equal((await deploy(rig, build(folder, "one"))).result, "done");
  const place = build(folder, "two", { HANGS: "" });
  const number = await begin(rig, place);
  const started = (): readonly number[] =>
    existsSync(pids) ? readFileSync(pids, "utf8").trim().split("\n").map(Number) : [];
  const [first = 0] = await eventually(() => (started().length === 1 ? started() : undefined));
  rig.killPart("service");
  await processExit(first);
  const end = await over(rig, number);
  assert.equal(end.result, "failed");
  assert.match(end.problem ?? "", /prepare: .* did not end within 2 s, and was ended/);
  assert.deepEqual([started().length, started().filter(isAlive)], [2, []]);
  assert.deepEqual([versionIn(folder), readdirSync(join(folder, "releases")).length], ["one", 1]);
});

test("the service is killed while the gate fails: the next one finds it out, too, and goes back", async (context) => {
  const folder = folderFor(context);
  const web = { ...SLEEPER, cmd: "exec sh run.sh", restart: "always", restartDelayMs: 20 };
  const rig = await rigWith(context, folder, { gate: { seconds: 4 } }, { processes: [web] });
  assert.equal((await deploy(rig, build(folder, "one", { "run.sh": "exec sleep 1000\n" }))).result, "done");
  const number = await begin(rig, build(folder, "two", { "run.sh": "sleep 0.7; exit 3\n" }));
  await eventually(async () => {
    const answer = await rig.procman.api.ask("GET", `/deployments/${number}`);
    return (answer?.body as DeploymentRecord | undefined)?.step === "gate" ? true : undefined;
  });
  rig.killPart("service");
  const end = await over(rig, number);
  assert.equal(end.result, "taken-back");
  assert.match(end.problem ?? "", /the gate: "web" .*exited with code 3/);
  assert.equal(versionIn(folder), "one");
  const { pid } = await rig.until("web", ({ status, pid }) => status === "running" && pid !== undefined);
  assert.equal(readFileSync(`${readlinkSync(`/proc/${pid}/cwd`)}/VERSION`, "utf8"), "one");
});

/** It stops to listen after a while, and goes on running. */
const CLOSING = `
const server = require("node:http").createServer((_request, response) => {
  response.setHeader("connection", "close");
  response.end("answer");
}).listen(process.env.PORT);
if (require("node:fs").existsSync("CLOSES")) setTimeout(() => server.close(), 2_500);
process.once("SIGTERM", () => process.exit());
setInterval(() => undefined, 1e6);
`;

test("the gate on refused connections: instances that stop to listen are noticed by the balancer", async (context) => {
  const folder = folderFor(context);
  const startPort = await freeRange();
  const commonPort = startPort + 8;
  const web = {
    id: "web",
    cwd: "current",
    cmd: "node server.js",
    autostart: true,
    minUptimeMs: 100,
    cluster: { instances: 2, startPort, commonPort },
  };
  const rig = await rigWith(context, folder, { gate: { seconds: 8, refused: 0 } }, { processes: [web] });
  assert.equal((await deploy(rig, build(folder, "one", { "server.js": CLOSING }))).result, "done");
  let isOver = false;
  context.after(() => {
    isOver = true;
  });
  const asking = (async () => {
    while (!isOver)
      await new Promise<void>((resolve) => {
        get({ port: commonPort, agent: false }, (response) => response.resume().on("close", resolve)).on("error", () =>
          resolve(),
        );
      });
  })();
  const end = await deploy(rig, build(folder, "two", { "server.js": CLOSING, CLOSES: "" }));
  isOver = true;
  await asking;
  assert.equal(end.result, "taken-back");
  assert.match(end.problem ?? "", /the gate: \d+ connections? w(?:ere|as) refused; allowed: 0/);
  assert.equal(versionIn(folder), "one");
});

test("an old release is removed when the last process in it has ended, also by the next service", async (context) => {
  const folder = folderFor(context);
  const job = { id: "job", cwd: "current", cmd: "exec sleep 1000", task: true };
  const rig = await rigWith(context, folder, { keep: 1 }, { processes: [SLEEPER, job as unknown as typeof SLEEPER] });
  const kept = (): readonly string[] => readdirSync(join(folder, "releases")).filter((name) => !name.startsWith("."));
  assert.equal((await deploy(rig, build(folder, "one"))).result, "done");
  for (const isKilled of [false, true]) {
    await rig.act("job", "start");
    await rig.until("job", ({ status }) => status === "running");
    assert.equal((await deploy(rig, build(folder, isKilled ? "three" : "two"))).result, "done");
    assert.equal(kept().length, 2, "the task still runs in the old one");
    if (isKilled) {
      const before = rig.procman.parts().service;
      rig.killPart("service");
      await eventually(() => (rig.procman.parts().service !== before ? true : undefined));
      await rig.until("job", ({ status }) => status === "running");
      assert.equal(kept().length, 2);
    }
    await rig.act("job", "stop");
    await eventually(() => (kept().length === 1 ? true : undefined));
  }
  assert.equal(versionIn(folder), "three");
});

/** Rollouts over several hosts: three procmans of this machine, each by the port of its API. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { HistoryEntry } from "../../src/core/contract/history-record.ts";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { RolloutRecord } from "../../src/core/contract/rollout-record.ts";
import { type Outcome, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment, eventually } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { type Host, hostsWith, NAMES } from "../support/three-hosts.ts";

const WEB = { id: "web", ...SLEEPER };
const PAIR = { id: "pair", ...SLEEPER, cluster: { instances: 2 } };

async function processesOf({ folder }: Host): Promise<readonly ProcessRecord[]> {
  const records = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
  return records.flatMap((record) => record.instances ?? [record]);
}

async function pidOf(host: Host, id: string): Promise<number | undefined> {
  return (await processesOf(host)).find((record) => record.id === id)?.pid;
}

function phases({ out, err }: Outcome): readonly string[] {
  const records = JSON.parse(out || `${assert.fail(err)}`) as readonly RolloutRecord[];
  return records.map(({ phase }) => phase);
}

function edit({ folder }: Host, change: (config: { processes: Record<string, unknown>[] }) => void): void {
  const path = join(folder, "procman.json");
  const config = JSON.parse(readFileSync(path, "utf8"));
  change(config);
  writeFileSync(path, JSON.stringify(config));
}

test("restart, scale and signal go over the hosts of a group, one after another, with a plan first", async (context) => {
  const { run, a, b, c, hosts } = await hostsWith(context, [WEB, PAIR]);
  const before = await Promise.all(hosts.map((host) => pidOf(host, "web")));
  const planned = await run("restart", "web", "--host", "@web", "--dry-run");
  assert.match(planned.out, /^Rollout \S+: restart web on a, b, c; 1 at a time, stops if one fails\.\n$/);
  assert.deepEqual(await Promise.all(hosts.map((host) => pidOf(host, "web"))), before);
  const restarted = await run("restart", "web", "--host", "@web");
  assert.equal(restarted.code, 0, restarted.err);
  assert.match(
    restarted.out,
    /\na: running\na: done\nb: running\nb: done\nc: running\nc: done\nRollout \S+ is done: a, b, c\.\n$/,
  );
  for (const [index, host] of hosts.entries()) assert.notEqual(await pidOf(host, "web"), before[index]);
  const scaled = await run("scale", "pair", "+1", "--host", "a,b", "--batch", "100%", "--json");
  assert.deepEqual([scaled.code, phases(scaled)], [0, ["done", "done"]]);
  assert.deepEqual(await Promise.all([a, b, c].map(async (host) => (await processesOf(host)).length)), [4, 4, 3]);
  assert.equal((await run("signal", "WINCH", "web", "--host", "all")).code, 0);
  const shown = await run("rollout", "status");
  assert.match(shown.out, /^Rollout \S+: signal SIGWINCH web on a, b, c, since .*, by ops, .*@.*\.\nHOST +PHASE/);
});

test("bad input is refused before anything is done", async (context) => {
  const { run, add, folder, a } = await hostsWith(context, [WEB]);
  const before = await pidOf(a, "web");
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["restart", "wbe", "--host", "@web"], 1, /^procman: a: .*Did you mean "web"/],
    [["rollback", "99", "--host", "@web"], 1, /^procman: [abc]: Cannot find entry 99 in the history: it has only 1/],
    [["restart", "web", "--host", "@web", "--on-failure", "rollback"], 64, /a restart leaves nothing to go back to/],
    [["restart", "web", "--host", "@web", "--batch", "0"], 64, /Allowed: a whole number from 1, or a percentage/],
    [["restart", "web", "--host", "a", "--batch", "2"], 64, /Cannot use --batch with one host/],
    [["restart", "web", "--host", "@web", "-c", "x"], 64, /Cannot use --config or --name with several hosts/],
    [["send", "web", "x", "--host", "@web"], 64, /Cannot run "procman send" on several hosts/],
    [["stop", "web", "--host", "@web", "--on-failure", "rollback"], 64, /doesn't keep what each process was before/],
    [
      ["stop", "web", "--host", "@web", "--haproxy", "/x.sock"],
      64,
      /Cannot stop with --haproxy: .*serve then as before/,
    ],
    [["stop", "web", "--host", "@web", "--keep"], 64, /Cannot use --keep with several hosts: run "procman disable"/],
    [["start", "web", "--host", "@web", "--timeout", "3"], 64, /Cannot use --timeout with several hosts/],
    [["stop", "web", "--host", "a", "--batch", "2"], 64, /Cannot use --batch with one host/],
    [["upgrade", "--host", "@web"], 64, /Cannot upgrade a: the command runs there, and a is not reached by ssh/],
    [["deploy", "--wait", "--host", "@web"], 64, /name a folder, an archive or a commit/],
    [["rollout", "continue"], 1, /none is under way on a, b, c/],
    [["rollout", "status", "20200101-000000-0000"], 1, /Cannot find the rollout 20200101-000000-0000/],
  ];
  for (const [args, code, message] of cases) {
    const refused = await run(...args);
    assert.deepEqual([refused.code, message.test(refused.err)], [code, true], `${args.join(" ")}: ${refused.err}`);
  }
  assert.equal(await pidOf(a, "web"), before);
  // The same procman by another token.
  const second = join(folder, "second.token");
  writeFileSync(second, (await procman(a.folder, ["token", "--consumer", "second"])).out, { mode: 0o600 });
  await add("z", `http://127.0.0.1:${a.port}`, "--token-file", second);
  const twice = await run("restart", "web", "--host", "a,b,z");
  assert.equal(twice.code, 1);
  assert.equal(twice.out, "", "nothing was planned");
  assert.match(twice.err, /a and z are the same procman, .*"procman host remove z" forgets that name/);
  assert.equal(await pidOf(a, "web"), before);
  assert.equal((await run("restart", "web", "--host", "a,b")).code, 0, "what was held is free again");
});

test("stop, start, block, unblock, disable and enable go over the hosts; a start that fails stops the rollout", async (context) => {
  const { run, b, hosts } = await hostsWith(context, [WEB, { id: "bad", cmd: "exit 3", restart: "never" }]);
  const pids = () => Promise.all(hosts.map((host) => pidOf(host, "web")));
  const rolled = async (...args: readonly string[]): Promise<void> => {
    const { code, err } = await run(...args, "--host", "@web", "--batch", "100%");
    assert.equal(code, 0, err);
  };
  await rolled("stop", "web");
  assert.deepEqual(await pids(), [undefined, undefined, undefined]);
  await rolled("stop", "web");
  await rolled("block", "web");
  const blocked = await run("start", "web", "--host", "@web");
  assert.deepEqual([blocked.code, /a: .*blocked/.test(blocked.err)], [1, true], blocked.err);
  assert.equal((await run("rollout", "abort")).code, 0);
  await rolled("unblock", "web");
  assert.equal((await procman(b.folder, ["start", "web"])).code, 0);
  const running = await pidOf(b, "web");
  await rolled("disable", "web");
  const isDisabled = () => Promise.all(hosts.map(async (host) => (await processesOf(host))[0]?.disabled === true));
  assert.deepEqual(await isDisabled(), [true, true, true]);
  assert.equal(await pidOf(b, "web"), running, "what runs goes on");
  await rolled("enable", "web");
  assert.deepEqual(await isDisabled(), [false, false, false]);
  await rolled("start", "web");
  const started = await pids();
  assert.ok(started.every((pid) => pid !== undefined));
  assert.equal(started[1], running, "what ran already is left alone");
  const failed = await run("start", "bad", "--host", "@web");
  assert.deepEqual([failed.code, /a: .*code 3.*not begun: b, c/s.test(failed.err)], [1, true], failed.err);
});

test("a token may roll out what it may do", async (context) => {
  const { run, folder, a } = await hostsWith(context, [WEB]);
  const token = await procman(a.folder, ["token", "--consumer", "ops", "--scope", "read,control"]);
  writeFileSync(join(folder, "a.token"), token.out, { mode: 0o600 });
  assert.equal((await run("restart", "web", "--host", "a,b")).code, 0);
  edit(a, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "sleep 999" }));
  const reload = await run("reload", "--host", "a,b");
  assert.deepEqual([reload.code, /scope/.test(reload.err)], [1, true], reload.err);
  const token2 = await procman(a.folder, ["token", "--consumer", "ops", "--process", "web"]);
  writeFileSync(join(folder, "a.token"), token2.out, { mode: 0o600 });
  assert.match((await run("restart", "web", "--host", "a,b")).err, /the token is limited to some processes/);
});

test("a reload that fails on the second host: it stops; corrected, continue goes on; another rollout waits", async (context) => {
  const { run, a, b, c, hosts } = await hostsWith(context, [WEB]);
  for (const host of hosts) edit(host, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "sleep 999" }));
  edit(b, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "false" }));
  const failed = await run("reload", "--host", "@web");
  assert.equal(failed.code, 1);
  assert.match(failed.out, /\n {2}a: web restart: its cmd has changed\n/);
  assert.match(failed.err, /b: "web" is not up/);
  assert.match(failed.err, /\ndone: a\nnot begun: c\n"procman rollout continue (\S+)" tries again/);
  const [, id] = /continue (\S+)"/.exec(failed.err) ?? [];
  const second = await run("restart", "web", "--host", "b,c");
  assert.deepEqual(
    [second.code, second.err.includes(`takes part in rollout ${id} (reload on a, b, c) of "ops"`)],
    [1, true],
    second.err,
  );
  edit(b, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "sleep 999" }));
  const continued = await run("rollout", "continue");
  assert.equal(continued.code, 0, continued.err);
  assert.match(continued.out, new RegExp(`Rollout ${id} is done: a, b, c`));
  for (const host of [a, b, c]) assert.match((await procman(host.folder, ["show", "web"])).out, /sleep 999/);
  const listed = await procman(b.folder, ["history"]);
  assert.match(listed.out, new RegExp(`\\n +3 .* ops, rollout ${id} of \\S+@\\S+ +active`), listed.out);
  assert.match(
    (await procman(b.folder, ["history", "show", "2"])).out,
    new RegExp(`\\(asked by ops, rollout ${id} of`),
  );
  edit(b, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "exit 3", restart: "never" }));
  assert.equal((await run("reload", "--host", "b,c")).code, 1);
  const why = await procman(b.folder, ["why", "web"]);
  assert.match(why.out, /Since the change at \S+ \(rollout \S+ of \S+@\S+\) it has crashed once/, why.out);
});

test("a reload that fails on the second host: with rollback, both have what they had", async (context) => {
  const { run, a, b, c, hosts } = await hostsWith(context, [WEB]);
  for (const host of hosts) edit(host, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "sleep 999" }));
  edit(b, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "false" }));
  const failed = await run("reload", "--host", "@web", "--on-failure", "rollback");
  assert.equal(failed.code, 1);
  assert.match(failed.err, /was taken back\nb: "web" is not up.*\ntaken back: a, b\nnot begun: c\n?$/);
  for (const host of [a, b, c]) assert.match((await procman(host.folder, ["show", "web"])).out, /sleep 1000/);
  assert.match(readFileSync(join(a.folder, "procman.json"), "utf8"), /sleep 1000/);
  assert.equal((await run("restart", "web", "--host", "@web")).code, 0, "the next rollout may begin");
});

test("with --max-failed the rollout goes on over a host that fails, and says so at the end", async (context) => {
  const { run, a, b, hosts } = await hostsWith(context, [WEB]);
  for (const host of hosts) edit(host, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "sleep 999" }));
  edit(a, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "false" }));
  const { code, out, err } = await run("reload", "--host", "@web", "--max-failed", "1");
  assert.equal(code, 1);
  assert.match(out, /c: done/);
  assert.match(err, /a: "web" is not up.*\ndone: b, c/);
  assert.match((await procman(b.folder, ["show", "web"])).out, /sleep 999/);
});

test("the drain command runs before and after each host; one that fails stops the rollout", async (context) => {
  const { run, folder, a } = await hostsWith(context, [WEB]);
  const log = join(folder, "drained");
  const command = `test ! -f ${join(folder, "NO")} || { echo no route; exit 7; }; echo "$PROCMAN_HOST $PROCMAN_HOST_STATE" >> ${log}`;
  const drained = await run("restart", "web", "--host", "@web", "--drain-command", command);
  assert.equal(drained.code, 0, drained.err);
  assert.equal(readFileSync(log, "utf8"), NAMES.map((name) => `${name} drain\n${name} ready\n`).join(""));
  const before = await pidOf(a, "web");
  writeFileSync(join(folder, "NO"), "");
  const failed = await run("restart", "web", "--host", "@web", "--drain-command", command);
  assert.equal(failed.code, 1);
  assert.match(failed.err, /a: the drain command \(drain\) ended with code 7: no route/);
  assert.equal(await pidOf(a, "web"), before);
  assert.match(
    (await run("rollout", "continue")).err,
    /name it again: procman rollout continue \S+, with --haproxy ADDRESS or --drain-command/,
  );
  const ended = await run("rollout", "abort", "--drain-command", command);
  assert.deepEqual([ended.code, /is over\./.test(ended.out)], [0, true], ended.err);
});

test("Ctrl-C while the hosts are being held lets them go: no host changes, and the next rollout may begin", async (context) => {
  const { run, add, folder, env, a, c } = await hostsWith(context, [WEB]);
  const before = await pidOf(a, "web");
  const joins = new EventEmitter();
  const through = once(joins, "let through");
  const gate = createServer((near) => {
    const far = connect(c.port, "127.0.0.1");
    far.pipe(near);
    near.on("data", async (chunk: Buffer) => {
      if (chunk.includes("POST /rollout/join")) {
        joins.emit("asked");
        await through;
      }
      far.write(chunk);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  }).listen(0, "127.0.0.1");
  await once(gate, "listening");
  context.after(() => gate.close());
  const url = `http://127.0.0.1:${(gate.address() as AddressInfo).port}`;
  assert.equal((await add("c", url, "--token-file", join(folder, "c.token"), "--group", "web")).code, 0);
  const client = spawn(process.execPath, [BIN, "restart", "web", "--host", "@web"], { env: cleanEnvironment(env) });
  let said = "";
  client.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await once(joins, "asked");
  client.kill("SIGINT");
  joins.emit("let through");
  const [code] = await once(client, "close");
  assert.deepEqual([code, said], [130, "procman: Cannot begin the rollout: it was stopped; no host has changed\n"]);
  assert.equal(await pidOf(a, "web"), before);
  assert.match((await run("rollout", "continue")).err, /Cannot find a rollout: none is under way on a, b, c/);
  assert.equal((await run("restart", "web", "--host", "@web")).code, 0, "the next rollout may begin");
});

test("a rollout that finds hosts held is refused before it plans or uploads, with who holds them", async (context) => {
  const { run, b, hosts } = await hostsWith(context, [WEB]);
  edit(b, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "false" }));
  assert.equal((await run("reload", "--host", "b,c")).code, 1);
  for (const host of hosts) edit(host, ({ processes: [web] }) => Object.assign(web ?? {}, { cmd: "sleep 999" }));
  const { code, out, err } = await run("reload", "--host", "@web");
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /: Cannot begin a rollout: [bc] takes part in rollout \S+ \(reload on b, c\) of "ops", .*@/);
  const abort = await run("rollout", "abort");
  assert.equal(abort.code, 0, abort.err);
  assert.equal((await run("reload", "--host", "@web")).code, 0);
});

test("a host that is away is named; --skip-unreachable leaves it out", async (context) => {
  const { run, b } = await hostsWith(context, [WEB]);
  await procman(b.folder, ["terminate"]);
  const refused = await run("restart", "web", "--host", "@web");
  assert.equal(refused.code, 69);
  assert.match(refused.err, /Cannot begin: b doesn't answer: .*ECONNREFUSED/);
  const skipped = await run("restart", "web", "--host", "@web", "--skip-unreachable");
  assert.deepEqual([skipped.code, /Rollout \S+ is done: a, c\./.test(skipped.out)], [69, true], skipped.err);
});

test("a host that is cut off during its step counts as failed; continue picks it up", async (context) => {
  const slow = {
    id: "slow",
    cmd: "trap '' TERM; sleep 1000",
    autostart: true,
    terminateTimeout: 2,
    minUptimeMs: 50,
  };
  const { run, b } = await hostsWith(context, [slow]);
  const rollout = run("restart", "slow", "--host", "@web", "--host-timeout", "1");
  const file = join(b.state, "rollout.json");
  await eventually(() => (existsSync(file) && /"phase":"running"/.test(readFileSync(file, "utf8"))) || undefined);
  await procman(b.folder, ["terminate"]);
  const { code, err } = await rollout;
  assert.equal(code, 1);
  assert.match(err, /b: Cannot reach procman at .*\ndone: a\nnot begun: c/s);
  assert.match((await run("rollout", "continue")).err, /Cannot continue: b doesn't answer/);
  assert.equal((await procman(b.folder, ["run", "--detach"])).code, 0);
  const continued = await run("rollout", "continue");
  assert.equal(continued.code, 0, continued.err);
});

const RELEASES = { releases: { after: ["test ! -f BAD"] } };
const RELEASED = { id: "web", cmd: "sleep 1000", cwd: "current", autostart: true, minUptimeMs: 50 };

function build(folder: string, version: string, isBad = false): string {
  const place = join(folder, "builds", version);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "VERSION"), version);
  if (isBad) writeFileSync(join(place, "BAD"), "");
  return place;
}

const versionOf = ({ folder }: Host): string => readFileSync(join(folder, "current/VERSION"), "utf8");

test("a release that fails on the second host is taken back on both", async (context) => {
  const { run, folder, b, c, hosts } = await hostsWith(context, [RELEASED], RELEASES);
  const first = await run("deploy", build(folder, "one"), "--on-host", "--host", "@web");
  assert.equal(first.code, 0, first.err);
  assert.match(first.out, /\n {2}a: copy .*\n {2}a: switch .*\n {2}a: restart web\n/);
  edit(b, (config) => Object.assign(config, { releases: { after: ["! grep two VERSION"] } }));
  assert.equal((await procman(b.folder, ["reload"])).code, 0);
  const failed = await run("deploy", build(folder, "two"), "--on-host", "--host", "@web", "--on-failure", "rollback");
  assert.equal(failed.code, 1);
  assert.match(failed.err, /b: .*is in use again\ntaken back: a\nnot begun: c/s);
  assert.deepEqual(hosts.map(versionOf), ["one", "one", "one"]);
  const [, id] = /^Rollout (\S+):/.exec(first.out) ?? [];
  const [deployed] = JSON.parse((await procman(c.folder, ["history", "--json"])).out) as readonly HistoryEntry[];
  assert.equal(deployed?.rollout?.id, id);
  const [newest] = JSON.parse((await procman(c.folder, ["history", "--json"])).out) as readonly HistoryEntry[];
  assert.equal(newest?.releaseBefore, undefined, "the third host has not begun");
});

test("the client is killed at each step, and another one continues", async (context) => {
  const { run, env, folder, hosts } = await hostsWith(context, [WEB]);
  const [log, stuck] = [join(folder, "drained"), join(folder, "STUCK")];
  // It holds one step until the client is killed.
  const command = `now="$PROCMAN_HOST $PROCMAN_HOST_STATE"; echo "$now" >> ${log}; while grep -qsx "$now" ${stuck}; do sleep 0.05; done`;
  const lines = (): readonly string[] => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);
  let args = ["restart", "web", "--host", "@web", "--drain-command", command];
  const steps = NAMES.flatMap((name) => [`${name} drain`, `${name} ready`]);
  const killed: (number | undefined)[] = [];
  const left = (): number =>
    readdirSync(tmpdir()).filter((name) => killed.some((pid) => name.startsWith(`procman-rollout-${pid}-`))).length;
  for (const step of steps) {
    writeFileSync(stuck, `${step}\n`);
    const seen = lines().length;
    const child = spawn(process.execPath, [BIN, ...args], { cwd: folder, env: cleanEnvironment(env), stdio: "ignore" });
    const ended = new Promise((resolve) => child.once("close", resolve));
    await eventually(() => lines().slice(seen).includes(step) || undefined);
    child.kill("SIGKILL");
    await ended;
    rmSync(stuck);
    killed.push(child.pid);
    assert.equal(left(), 1, "what the killed ones before have left was removed");
    args = ["rollout", "continue", "--drain-command", command];
  }
  const status = await run("rollout");
  assert.match(
    status.out,
    /\nIf its client has ended, "procman rollout continue (\S+)" goes on, and "procman rollout abort \1" ends it\.\n$/,
  );
  const [first] = hosts;
  const there = await procman(first?.folder ?? "", ["status"]);
  assert.match(
    there.out,
    /\nIt takes part in rollout \S+ of \S+@\S+ since \S+; where it is in the list of hosts, "procman rollout/,
  );
  const last = await run(...args);
  assert.equal(last.code, 0, last.err);
  assert.equal(left(), 0);
  assert.doesNotMatch((await procman(first?.folder ?? "", ["status"])).out, /rollout/);
  // The command that was cut off runs once more.
  assert.deepEqual(
    lines(),
    steps.flatMap((step) => [step, step]),
  );
  for (const host of hosts) {
    const { runs } = JSON.parse((await procman(host.folder, ["why", "web", "--json"])).out);
    assert.equal(runs.length, 2, "it was restarted once");
  }
});

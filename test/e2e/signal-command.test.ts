/** `procman signal`: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { Procman, processExit } from "../support/procman-process.ts";

/** A program and its child, which both print the signals that they get. */
const FAMILY = `
const child = process.argv[2] === "child";
for (const name of ["SIGHUP", "SIGUSR2", "SIGWINCH"]) process.on(name, () => console.log((child ? "child" : "leader") + " got " + name));
if (!child) require("node:child_process").fork(__filename, ["child"]);
require("node:net").createServer().listen(child ? 0 : process.env.PROCMAN_CLUSTER_PORT ?? 0, "127.0.0.1", () => child && console.log("up"));
`;
const cmd = "node family.cjs";
const common = { cmd, autostart: true, logger: { console: true } };

test("signal goes to the group or the leader, and to all instances of a cluster; names, numbers and --json", async (context) => {
  const web = {
    id: "web",
    ...common,
    cluster: { instances: 2, startPort: await freeRange(), commonPort: await freePort() },
  };
  const { folder } = homeOf(context, [
    { id: "all-of-it", ...common },
    { id: "leader", ...common, killMode: "leader" },
    web,
  ]);
  writeFileSync(join(folder, "family.cjs"), FAMILY);
  const running = new Procman(folder);
  context.after(() => running.close());
  await running.count(/\| up$/, 4);

  const sent = await procman(folder, ["signal", "HUP", "all-of-it", "leader", "web"]);
  assert.match(
    sent.out,
    /^all-of-it: got SIGHUP \(pid \d+\)\nleader: got SIGHUP .*\nweb-1: got SIGHUP .*\nweb-2: got SIGHUP \(pid \d+\)\n$/,
  );
  assert.deepEqual([sent.code, sent.err], [0, ""]);
  for (const id of ["all-of-it", "web-1", "web-2"]) {
    await running.line(new RegExp(`^${id} +\\| leader got SIGHUP$`));
    await running.line(new RegExp(`^${id} +\\| child got SIGHUP$`));
  }
  await running.line(/^leader +\| leader got SIGHUP$/);

  const json = await procman(folder, ["signal", "SIGUSR2", "all-of-it", "--to", "leader", "--json"]);
  assert.deepEqual(
    (JSON.parse(json.out) as ProcessRecord[]).map(({ id, status }) => [id, status]),
    [["all-of-it", "running"]],
  );
  await running.line(/^all-of-it +\| leader got SIGUSR2$/);
  // The order of `kill` and the other one.
  assert.equal((await procman(folder, ["signal", "leader", "28", "--to", "group"])).code, 0);
  await running.line(/^leader +\| child got SIGWINCH$/);
  assert.ok(!running.lines.some((line) => /^leader .*child got SIGHUP|all-of-it .*child got SIGUSR2/.test(line)));
  await running.line(/^web +\| signal SIGHUP for "cli"$/);
});

test("reload ID sends the reloadSignal to the main process alone, which keeps its pid; also after a kill of the service, and set by a reload", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...common, reloadSignal: "SIGHUP" },
    { id: "plain", ...SLEEPER },
  ]);
  writeFileSync(join(folder, "family.cjs"), FAMILY);
  const running = new Procman(folder);
  context.after(() => running.close());
  await running.line(/\| up$/);
  const sent = await procman(folder, ["reload", "web"]);
  assert.deepEqual([sent.out.replace(/\d+/, "N"), sent.err, sent.code], ["web: was asked to reload (pid N)\n", "", 0]);
  await running.line(/^web +\| leader got SIGHUP$/);
  await running.line(/^web +\| reload for "cli"$/);
  const service = running.helper("service");
  process.kill(service, "SIGKILL");
  await processExit(service);
  assert.equal((await procman(folder, ["reload", "web"])).out, sent.out);
  await running.count(/^web +\| leader got SIGHUP$/, 2);
  assert.ok(!running.lines.some((line) => line.includes("child got SIGHUP")));

  const refused = await procman(folder, ["reload", "plain", "web"]);
  assert.match(
    refused.err,
    /^procman: Cannot reload "plain": it has no "reloadSignal"; .* "procman restart plain" restarts it\n$/,
  );
  assert.deepEqual([refused.code, refused.out], [1, sent.out]);
  assert.equal((await procman(folder, ["reload", "web", "--no-wait"])).code, 64);
  const processes = [{ id: "web", ...common, reloadSignal: "SIGUSR2" }];
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes }));
  assert.match((await procman(folder, ["reload"])).out, /web +in-place +its reloadSignal has changed/);
  assert.equal((await procman(folder, ["reload", "web"])).out, sent.out);
  await running.line(/^web +\| leader got SIGUSR2$/);
});

test("signal is refused, with the reason, for what doesn't run and for wrong names; the others get it", async (context) => {
  const { folder } = homeOf(context, [
    { id: "up", ...SLEEPER },
    { id: "down", cmd: "sleep 1000" },
  ]);
  assert.equal((await procman(folder, ["signal", "HUP", "up"])).code, 69, "no procman runs");
  await procman(folder, ["run", "--detach"]);
  for (const [args, code, message] of [
    [["WINCH", "down", "up"], 1, /^procman: Cannot signal "down": it has not been started yet/],
    [["WINCH", "upp"], 1, /^procman: Cannot find process "upp".* Did you mean "up"\?/],
    [["HPU", "up"], 64, /^procman: Cannot send a signal: there is no signal "HPU"; .* Did you mean "HUP"\?/],
    [["WINCH", "up", "HUP"], 1, /^procman: Cannot find process "HUP"/],
    [["HUP"], 64, /missing required argument 'id'/],
    [["HUP", "up", "--to", "child"], 64, /Allowed choices are group, leader/],
  ] as const) {
    const refused = await procman(folder, ["signal", ...args]);
    assert.match(refused.err, message);
    assert.equal(refused.code, code, args.join(" "));
    if (code === 1 && args.length > 2) assert.match(refused.out, /^up: got SIGWINCH \(pid \d+\)\n$/);
  }
});

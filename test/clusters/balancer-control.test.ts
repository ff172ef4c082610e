/** The control socket of the balancer, and what other programs of the user may send there. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { JsonLines, jsonLine } from "../../src/core/base/json-lines.ts";
import type { FromBalancer } from "../../src/core/ipc/balancer-protocol.ts";
import { received, TestBackend, TestBalancer } from "../support/balancer-rig.ts";
import { testBoth } from "../support/both-tcp.ts";
import { api, ask, cluster, isAccepting, waitForRecord } from "../support/cluster-rig.ts";
import { childrenOf } from "../support/proc-files.ts";
import { eventually, isAlive } from "../support/procman-process.ts";

testBoth(
  "a line on the control socket that is not a message is answered with what is wrong; clients and fronts stay",
  async (context) => {
    const balancer = await TestBalancer.start(context);
    await balancer.serveUp([await TestBackend.start(context, "a")]);
    const client = await balancer.client();
    assert.equal(await received(client), "a");
    const other = connect(balancer.socket).setEncoding("utf8");
    let answers: readonly string[] = [];
    const lines = new JsonLines<FromBalancer>({
      message: (message) => {
        if (message.t === "refused") answers = [...answers, message.problem];
      },
      refused: assert.fail,
    });
    other.on("data", (text: string) => lines.push(text));
    const front = {
      id: "web",
      hostname: "127.0.0.1",
      port: balancer.port,
      strategy: "round-robin",
      proxyProtocol: false,
      idleMs: 0,
    };
    const bad = [
      "hello",
      "",
      "null",
      "5",
      "{}",
      '{"t":"fronts","serial":1}',
      '{"t":"fronts","serial":1,"fronts":[null]}',
      "\u{fffd}",
    ];
    bad.push(
      JSON.stringify({ t: "fronts", serial: 1, fronts: [front] }),
      '{"t":"toString"}',
      '{"t":"succeed","argv":[],"env":{}}',
    );
    bad.push(JSON.stringify({ t: "fronts", serial: 1, fronts: [{ ...front, strategy: "none", backends: [] }] }));
    for (const line of bad) other.write(`${line}\n`);
    other.write(Buffer.from([0xff, 0xfe, 0x0a]));
    for (let part = 0; part < 9; part++) other.write("x".repeat(1_000_000));
    other.write("\n\n");
    await eventually(() => (answers.length === bad.length + 3 ? true : undefined));
    assert.match(
      answers.join("\n"),
      /not JSON.*\n.*message\.fronts\.0 is not.*message\.fronts\.0\.backends.*no message has the type "toString".*longer than/s,
    );
    other.destroy();
    const end = once(client, "end");
    assert.equal(await balancer.who(), "a");
    client.end();
    await end;
  },
);

testBoth(
  "a balancer whose socket can't get its name serves its ports, says so once, and can be controlled when the place is free",
  async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "procman-balancer-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, "balancer.sock", "taken"), { recursive: true });
    const balancer = await TestBalancer.launch(context, folder);
    await eventually(() => (balancer.stderr.includes("can't be controlled at") ? true : undefined));
    rmSync(join(folder, "balancer.sock"), { recursive: true });
    await balancer.isControlled();
    await balancer.serveUp([await TestBackend.start(context, "a")]);
    assert.equal(await balancer.who(), "a");
    assert.equal(balancer.stderr.split("can't be controlled").length, 2, balancer.stderr);
    assert.deepEqual(readdirSync(folder), ["balancer.sock"]);
    assert.equal(statSync(balancer.socket).mode & 0o777, 0o600);
  },
);

testBoth("a balancer is controlled in a folder whose path is too long for a socket", async (context) => {
  const folder = join(mkdtempSync(join(tmpdir(), "procman-balancer-")), "x".repeat(120));
  context.after(() => rmSync(dirname(folder), { recursive: true, force: true }));
  mkdirSync(folder);
  const balancer = await TestBalancer.launch(context, folder);
  await balancer.isControlled();
  await balancer.serveUp([await TestBackend.start(context, "a")]);
  assert.equal(await balancer.who(), "a");
  assert.deepEqual(readdirSync(folder), ["balancer.sock"]);
});

testBoth("if another program of the user closes the common ports, the service opens them again", async (context) => {
  const web = await cluster(context);
  const client = await api(web);
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  const intruder = connect(join(web.procman.stateDir, "run", "balancer.sock"));
  const applied = new Promise<void>((resolve) => {
    const lines = new JsonLines<FromBalancer>({
      message: (message) => message.t === "applied" && message.serial === 9 && resolve(),
      refused: assert.fail,
    });
    intruder.setEncoding("utf8").on("data", (text: string) => lines.push(text));
  });
  intruder.write(jsonLine({ t: "fronts", serial: 9, fronts: [] }));
  await applied;
  intruder.destroy();
  for (let pid: number | undefined; pid === undefined; ) pid = await ask(web.port).catch(() => undefined);
});

test("2.2 terminate leaves no file of the load balancer in the run folder", async (context) => {
  const { procman, ...web } = await cluster(context);
  const client = await api({ procman });
  for (const id of ["web-1", "web-2", "web-3"]) await waitForRecord(client, id, isAccepting);
  assert.ok(await ask(web.port));
  await client.terminate();
  await procman.exit();
  assert.deepEqual(readdirSync(join(procman.stateDir, "run")), []);
});

testBoth(
  "a further process that is stopped doesn't keep the port when the first is killed and started again",
  async (context) => {
    const first = await TestBalancer.start(context, {}, 2);
    const backend = await TestBackend.start(context, "a");
    await first.serveUp([backend]);
    const [worker = 0] = childrenOf(first.pid);
    assert.ok(worker > 1);
    process.kill(worker, "SIGSTOP");
    const ended = once(first.process, "exit");
    first.process.kill("SIGKILL");
    await ended;
    const next = await TestBalancer.launch(context, first.folder, first.port);
    await next.isControlled();
    await next.serveUp([backend]);
    assert.equal(next.report?.problem, undefined);
    assert.equal(await next.who(), "a");
    assert.equal(isAlive(worker), false);
  },
);

/** Machines with 32 and more processors, as far as procman counts them: a preloaded library says so to all of its processes. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, type Outcome, procman as run } from "../support/cli.ts";
import { api, ask, DRAINING_SERVER, isAccepting, LoadGenerator, waitForRecord } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { childrenOf } from "../support/proc-files.ts";
import { eventually, startProcman } from "../support/procman-process.ts";
import { RunningCommand, TERMINAL } from "../support/running-command.ts";
import { skip } from "../support/skip.ts";
import { isMissing } from "../support/system-programs.ts";

const MOST_BALANCERS = 4;

const home = mkdtempSync(join(tmpdir(), "procman-processors-"));
after(() => rmSync(home, { recursive: true, force: true }));

/** Variables that make Node see so many processors; undefined: not possible here, and the test is skipped. */
function processors(context: TestContext, count: number): Readonly<Record<string, string>> | undefined {
  if (isMissing(context, "gcc")) return undefined;
  const library = join(home, `${count}.so`);
  execFileSync("gcc", [
    "-shared",
    "-fPIC",
    "-o",
    library,
    fileURLToPath(new URL("../programs/count-processors.c", import.meta.url)),
  ]);
  const env = { LD_PRELOAD: library, PROCESSORS: String(count) };
  const seen = execFileSync(process.execPath, ["-p", "os.availableParallelism()"], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  // Node counts the processor time that the cgroup of a container grants, too.
  return Number(seen) === count ? env : skip(context, `Node sees ${seen.trim()} processors`);
}

const files = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

const running = ({ instances = [] }: ProcessRecord): readonly ProcessRecord[] =>
  instances.filter(({ status }) => status === "running");

test("with 32 processors, max is 32 instances: all get connections, a rolling restart and scaling lose no request, the balancer has four processes", async (context) => {
  const env = processors(context, 32);
  if (env === undefined) return;
  const [startPort, commonPort] = [await freeRange(32), await freePort()];
  const shape = { instances: "max", startPort, commonPort };
  const web = { id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, restart: "always", cluster: shape };
  const procman = await startProcman(context, [web], { env });
  const client = await api({ procman });
  const isComplete = (record: ProcessRecord): boolean =>
    running(record).length === 32 && running(record).every(isAccepting);
  const before = await waitForRecord(client, "web", isComplete);
  assert.equal((await client.state()).system.cpus, 32);
  const answers = new Set<number>();
  for (let turn = 0; turn < 32 * MOST_BALANCERS * 2 && answers.size < 32; turn++) answers.add(await ask(commonPort));
  assert.deepEqual(answers, new Set(running(before).map(({ pid }) => pid)));
  const first = procman.helper("balancer");
  const balancers = [first, ...childrenOf(first)];
  assert.equal(balancers.length, MOST_BALANCERS);
  await checkSpread(context, commonPort, balancers);
  const load = new LoadGenerator(context, commonPort, 2);
  await client.act("web", "restart", { waitSeconds: 120 });
  const restarted = await waitForRecord(client, "web", isComplete);
  const old = new Set(running(before).map(({ pid }) => pid));
  assert.deepEqual(
    running(restarted).filter(({ pid }) => old.has(pid)),
    [],
  );
  for (const to of [28, "max"] as const) {
    await client.scale("web", { instances: to }, { waitSeconds: 60 });
    await waitForRecord(client, "web", (record) => running(record).length === (to === "max" ? 32 : to));
  }
  await load.stop();
  assert.deepEqual(load.errors, []);
});

/** Each process of the balancer has some of the clients. */
async function checkSpread(context: TestContext, port: number, balancers: readonly number[]): Promise<void> {
  const before = balancers.map(files);
  const sockets = Array.from({ length: 256 }, () => connect({ host: "127.0.0.1", port }));
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  context.after(close);
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  await eventually(() => balancers.every((pid, index) => files(pid) > (before[index] ?? 0)) || undefined, {
    what: "clients at each process of the balancer",
  });
  close();
}

test("with 128 processors, status, plan and scale count 128 instances, and a line of a terminal still holds a row", async (context) => {
  const env = processors(context, 128);
  if (env === undefined) return;
  const web = {
    id: "web",
    cmd: "exec sleep 1000",
    autostart: true,
    cluster: { instances: "max", startPort: await freeRange(128) },
  };
  const { folder } = homeOf(context, [web]);
  const procman = (...args: readonly string[]): Promise<Outcome> => run(folder, args, env);
  const started = await procman("run", "--detach");
  assert.equal(started.code, 0, started.err);
  const lines = (await procman("status")).out.split("\n");
  assert.match(lines[1] ?? "", /^web +running .* 128 of 128 instances are running$/);
  assert.equal(lines.filter((line) => /^ {2}web-\d+ +running +\d+ /.test(line)).length, 128);
  const terminal = new RunningCommand(folder, ["status"], [...TERMINAL, "sh", "-c", 'stty cols 80; exec "$@"', "sh"]);
  await terminal.shows(/web-128 /);
  assert.equal(await terminal.exitCode(), 0);
  for (const line of terminal.out.split("\r\n")) assert.ok(stripVTControlCharacters(line).length <= 80, line);
  assert.match((await procman("plan")).out, /nothing/i);
  assert.equal((await procman("scale", "web", "64", "--no-wait")).code, 0);
  const most = await procman("scale", "web", "max", "--json");
  assert.equal(running(JSON.parse(most.out) as ProcessRecord).length, 128, most.err);
});

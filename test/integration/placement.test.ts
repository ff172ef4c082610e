/** Under load the processes of the balancer keep to processors of their own: docs/clusters.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { Placement } from "../../src/cluster/placement.ts";
import { NO_LOAD } from "../../src/cluster/shares.ts";
import { processStat } from "../../src/os/process-stat.ts";
import { processorsOf, unbind } from "../../src/os/processors.ts";
import { type Context, echo, found, TestBackend, TestBalancer } from "../balancer-rig.ts";
import { skip } from "../skip.ts";
import { isMissing } from "../system-programs.ts";
import { Talker } from "../talker.ts";

/** Two of those that there are. */
const PAIR = processorsOf(process.pid).slice(0, 2);
const CLIENTS = 12;
const HOPS = 16;

function isLacking(context: TestContext): boolean {
  if (PAIR.length === 2) return isMissing(context, "taskset");
  skip(context, "it takes two processors, and a kernel that tells which they are");
  return true;
}

async function sleeper(context: Context): Promise<number> {
  const child = spawn("taskset", ["-c", PAIR.join(","), "sleep", "1000"], { stdio: "ignore" });
  const ended = once(child, "exit");
  context.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const pid = child.pid as number;
  assert.ok(pid > 1);
  await found(() => (readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n" ? true : undefined));
  return pid;
}

const load = (cpu: number) => ({ ...NO_LOAD, cpu });
const alone = (pids: readonly number[]) =>
  found(() => (pids.every((pid, index) => String(processorsOf(pid)) === String(PAIR[index])) ? true : undefined));
const anywhere = (pids: readonly number[]) =>
  found(() => (pids.every((pid) => String(processorsOf(pid)) === String(PAIR)) ? true : undefined));
/** After far longer than it would have taken to bind them. */
async function stillAnywhere(pids: readonly number[]): Promise<void> {
  const own = processorsOf(process.pid);
  for (let count = 0; count < 5; count++) await unbind(process.pid, own);
  for (const pid of pids) assert.deepEqual(processorsOf(pid), PAIR);
}

test("those that are busy and even are bound, until one of them has less to do or gets less time than the other", async (context) => {
  if (isLacking(context)) return;
  const pids = [await sleeper(context), await sleeper(context)];
  const placement = new Placement(PAIR);
  const look = (cpus: readonly number[], now: number, isEvening = false): void =>
    placement.look(
      pids.map((pid, index) => ({ pid, load: load(cpus[index] ?? 0) })),
      { isEvening, now },
    );
  look([0.3, 0.3], 100_000);
  look([0.9, 0.4], 100_300);
  await stillAnywhere(pids);
  look([0.5, 0.6], 100_600);
  await alone(pids);
  look([0.3, 0.3], 101_000);
  await alone(pids);
  look([0.35, 0.1], 101_300);
  await anywhere(pids);
  // One burst after the other: they are not bound and freed all the time.
  for (const later of [200, 500, 900]) look([0.6, 0.6], 101_300 + later);
  await stillAnywhere(pids);
  look([0.6, 0.6], 102_300);
  await alone(pids);
  // Connections that have just come may be many in one of them.
  for (const [later, cpu] of [0.4, 0.4, 0.9, 0.4].entries()) look([0.9, cpu], 103_000 + 200 * later);
  await alone(pids);
  // Somebody else is on the processor of the second one.
  for (const later of [800, 1_000]) look([0.9, 0.4], 103_000 + later);
  await anywhere(pids);
  for (const later of [100, 2_000, 4_900]) look([0.6, 0.6], 104_000 + later);
  await stillAnywhere(pids);
  look([0.6, 0.6], 109_000);
  await alone(pids);
  // Uneven for want of connections only, which are on their way.
  look([0.1, 0.1], 110_000);
  await anywhere(pids);
  look([0.9, 0.2], 112_000);
  await stillAnywhere(pids);
  look([0.9, 0.2], 112_200, true);
  await alone(pids);
});

test("as many as the machine has processors, or nobody; one that comes in place of another starts free", async (context) => {
  if (isLacking(context)) return;
  const [first, second, third] = [await sleeper(context), await sleeper(context), await sleeper(context)];
  const placement = new Placement(PAIR);
  const look = (pids: readonly number[], now: number): void =>
    placement.look(
      pids.map((pid) => ({ pid, load: load(0.6) })),
      { now },
    );
  for (const pids of [[first], [first, second, third]]) for (const now of [0, 500, 1_000]) look(pids, now);
  await stillAnywhere([first, second, third]);
  for (const now of [2_000, 3_000]) look([first, second], now);
  await alone([first, second]);
  // As it would come from one that is bound.
  const heir = spawn("taskset", ["-c", String(PAIR[0]), "sleep", "1000"], { stdio: "ignore" });
  context.after(() => void heir.kill("SIGKILL"));
  const pid = heir.pid as number;
  await found(() => (readFileSync(`/proc/${pid}/comm`, "utf8") === "sleep\n" ? true : undefined));
  look([first, pid], 3_100);
  await anywhere([pid]);
  await placement.free(0, 3_200);
  await anywhere([first, second, pid]);
});

test("one that leaves is bound no more, also when another process has ended meanwhile", async (context) => {
  if (isLacking(context)) return;
  const [first, second, other] = [await sleeper(context), await sleeper(context), await sleeper(context)];
  const placement = new Placement(PAIR);
  const look = (now: number): void =>
    placement.look(
      [first, second].map((pid) => ({ pid, load: load(0.6) })),
      { now },
    );
  process.kill(second, "SIGKILL");
  // Awaited, too: a zombie can be bound.
  await found(() => (existsSync(`/proc/${second}`) ? undefined : true));
  look(100_000);
  await placement.free(Number.POSITIVE_INFINITY, 100_001);
  look(100_000_000);
  // Far longer than it would have taken.
  for (let count = 0; count < 10; count++) await unbind(other, PAIR);
  assert.deepEqual(processorsOf(first), PAIR);
});

test("a balancer that has much to do is bound, its successor is not, and then nobody is any more", async (context) => {
  if (isLacking(context)) return;
  const balancer = await TestBalancer.start(context, {}, 2, ["setsid", "taskset", "-c", PAIR.join(",")]);
  const mate = Number(readFileSync(`/proc/${balancer.pid}/task/${balancer.pid}/children`, "utf8").trim());
  assert.ok(mate > 1);
  // As under a keeper. Where Linux shares out time by sessions, one for both would get as much as one.
  assert.equal(processStat(mate)?.session, mate);
  const backend = await TestBackend.start(context, "a", echo);
  await balancer.serveChain(backend, HOPS);
  const talkers: Talker[] = [];
  for (let count = 0; count < CLIENTS; count++) talkers.push(new Talker(await balancer.client()));
  await alone([balancer.pid, mate]);
  const answer = await balancer.succeed();
  assert.equal(answer.t, "succeeded");
  const { pid: successor } = answer as { readonly pid: number };
  assert.deepEqual(processorsOf(successor), PAIR);
  await anywhere([balancer.pid, mate]);
  for (const talker of talkers) await talker.end();
  assert.deepEqual(
    talkers.flatMap(({ problem }) => problem ?? []),
    [],
  );
});

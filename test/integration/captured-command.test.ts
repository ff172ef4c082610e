/** Commands that `procman mcp` executes: real ones, with a service that is played. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { executeCaptured } from "../../src/cli/exec-captured.ts";
import type { ExecLaunch, LaunchOrder } from "../../src/core/contract/execution.ts";
import { isAlive } from "../../src/core/os/process-stat.ts";
import type { CommandOrder, EndedCommand } from "../../src/satellites/mcp/mcp-ports.ts";
import { eventually } from "../support/procman-process.ts";

const TERMINATE_MS = 300;

type Execution = { readonly ended: Promise<EndedCommand>; readonly asked: Promise<LaunchOrder> };

function execute(line: string, more: Partial<CommandOrder> = {}): Execution {
  let answer: (order: LaunchOrder) => void;
  const asked = new Promise<LaunchOrder>((resolve) => {
    answer = resolve;
  });
  const launch = (id: string, order: LaunchOrder): Promise<ExecLaunch> => {
    answer(order);
    const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
    const env = { PATH: process.env.PATH ?? "", WHO: "web" };
    return Promise.resolve({ process: id, argv: order.command, cwd: "/", env, uid, gid, terminateMs: TERMINATE_MS });
  };
  const order = { id: "web", command: ["sh", "-c", line], timeoutMs: 20_000, maxBytes: 500, ...more };
  // As the input of `procman mcp` does: a command that was told to end keeps nobody waiting.
  const session = setInterval(() => undefined, 1_000);
  const ended = executeCaptured({ launch }, { signal: new AbortController().signal, ...order });
  return { ended: ended.finally(() => clearInterval(session)), asked };
}

/** The process that stands for the command; the service looks at it. */
async function ownerOf({ asked }: Execution): Promise<{ readonly isThere: () => boolean }> {
  const { pid, startTime } = await asked;
  return { isThere: () => isAlive(pid, startTime) };
}

test("a command has the environment of the launch, no input, and its outputs, exit code or signal are the answer", async () => {
  const { durationMs, ...ended } = await execute("cat; echo $WHO; echo hm >&2; exit 3").ended;
  assert.ok(durationMs >= 0);
  assert.deepEqual(ended, {
    process: "web",
    end: { code: 3 },
    isTimedOut: false,
    stdout: { text: "web\n", isCut: false },
    stderr: { text: "hm\n", isCut: false },
  });
  assert.deepEqual((await execute("kill -9 $$").ended).end, { signal: "SIGKILL" });
  const missing = await execute("", { command: ["nosuch"] }).ended;
  assert.deepEqual(
    [missing.end, missing.stderr.text],
    [{ code: 127 }, 'procman: there is no program "nosuch" in the PATH of the process\n'],
  );
});

test("of a long output the last bytes are kept, in whole characters", async () => {
  const { stdout } = await execute("for n in $(seq 2000); do echo line $n; done; printf ééé%.0s $(seq 100)").ended;
  assert.equal(stdout.isCut, true);
  assert.match(stdout.text, /^é+$/);
  assert.ok(Buffer.byteLength(stdout.text) >= 498);
});

test("a command whose time is over is told to end: SIGHUP, SIGTERM, SIGKILL", async () => {
  const stubborn = 'trap "echo hup" HUP; trap "echo term" TERM; echo ready; while :; do sleep 0.01; done';
  const { end, isTimedOut, stdout } = await execute(stubborn, { timeoutMs: 500 }).ended;
  assert.deepEqual([end, isTimedOut, stdout.text], [{ signal: "SIGKILL" }, true, "ready\nhup\nterm\n"]);
});

test("a command is told to end when the call is cancelled, and so is its whole process group", async () => {
  const cancel = new AbortController();
  const execution = execute("sleep 1000 & echo $! >&2; wait", { signal: cancel.signal });
  const owner = await ownerOf(execution);
  assert.ok(owner.isThere());
  cancel.abort();
  const { end, isTimedOut } = await execution.ended;
  assert.deepEqual([end, isTimedOut], [{ signal: "SIGHUP" }, false]);
  await eventually(() => !owner.isThere() || undefined);
});

test("the owner of a command lives as long as the command, so that the service ends what is left behind", async () => {
  const execution = execute("sleep 1000 & echo $!");
  const owner = await ownerOf(execution);
  const { end, stdout } = await execution.ended;
  assert.deepEqual(end, { code: 0 });
  await eventually(() => !owner.isThere() || undefined);
  process.kill(Number(stdout.text), "SIGKILL");
});

test("a command runs in a separate session, so that it can't reach the terminal of the client", {
  skip: process.platform !== "linux",
}, async () => {
  const { stdout } = await execute("cut -d ' ' -f 1,6 /proc/$$/stat").ended;
  const [pid, session] = stdout.text.trim().split(" ");
  assert.equal(pid, session);
  const [, own] = /\) \S+ \d+ \d+ (\d+)/.exec(readFileSync("/proc/self/stat", "utf8")) ?? [];
  assert.notEqual(session, own);
});

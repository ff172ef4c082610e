/** While a part of procman lives that brings the others back, commands wait for that, and none of their requests is refused for it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { procman as command } from "../support/cli.ts";
import { type FaultRig, folderFor, startRig, successor } from "../support/fault-rig.ts";
import { kill } from "../support/marked-processes.ts";
import { eventually } from "../support/procman-process.ts";
import { RunningCommand } from "../support/running-command.ts";

const TICKS = { id: "ticks", cmd: "n=0; while sleep 0.05; do n=$((n + 1)); echo tick $n; done", autostart: true };

async function continues(follower: RunningCommand): Promise<void> {
  const seen = (): number => Number([...follower.out.matchAll(/tick (\d+)/g)].at(-1)?.[1] ?? 0);
  const before = seen();
  await eventually(() => seen() > before + 10 || undefined);
}

/** Every line once, in order. */
function checkTicks(follower: RunningCommand): void {
  const numbers = [...follower.out.matchAll(/tick (\d+)/g)].map(([, number]) => Number(number));
  const [first = 0] = numbers;
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => first + index),
  );
}

/** Resolves once this command has looked for procman for so long that it would have given up before. */
const COMEBACK_MS = 4_000;

for (const [what, kills] of [
  ["its service is away, as the keeper stands still", ({ procman }) => kill(procman.parts().service[0] ?? 0)],
  [
    "keeper and service are away, as the logger stands still",
    ({ procman }) => void [procman.kill("keeper"), procman.kill("service")],
  ],
] as const satisfies readonly (readonly [string, (rig: FaultRig) => void])[])
  test(`logs -f and status wait while ${what}, and a follower has every line`, async (context) => {
    const folder = folderFor(context);
    const rig = await startRig(context, folder, [TICKS]);
    const follower = new RunningCommand(folder, ["logs", "-f", "ticks"]);
    context.after(() => void follower.child.kill("SIGKILL"));
    await continues(follower);
    const { keeper, logger } = rig.procman.parts();
    const halted = what.startsWith("its") ? keeper : logger;
    for (const pid of halted) kill(pid, "SIGSTOP");
    kills(rig);
    const status = command(folder, ["status"]);
    await new Promise((resolve) => setTimeout(resolve, COMEBACK_MS));
    for (const pid of halted) kill(pid, "SIGCONT");
    assert.deepEqual({ ...(await status), out: "" }, { code: 0, out: "", err: "" });
    await continues(follower);
    assert.equal(follower.child.exitCode, null);
    checkTicks(follower);
    assert.deepEqual(await rig.procman.end(), []);
    assert.equal(await follower.exitCode(), 0);
    assert.match(follower.out, /procman is not running; end of log/);
  });

test("no action is refused because the service gives way: each reaches the next one, or its result is said to be unknown", async (context) => {
  const folder = folderFor(context);
  const job = { id: "job", cmd: "exec sleep 1000", autostart: true, terminateTimeout: 1 };
  const rig = await startRig(context, folder, [job, TICKS]);
  for (const action of ["stop", "start", "restart", "block", "unblock", "disable", "enable"]) {
    const { keeper, service } = rig.procman.parts();
    // The service finds the end of its keeper and the request at the same moment.
    for (const pid of service) kill(pid, "SIGSTOP");
    rig.procman.kill("keeper");
    const done = command(folder, [action, "job", "--no-wait"]);
    await eventually(() => (rig.procman.parts().keeper.some((pid) => keeper.includes(pid)) ? undefined : true));
    for (const pid of service) kill(pid, "SIGCONT");
    const { code, err } = await done;
    assert.ok(code === 0 || /The result is unknown/.test(err), `${action}: ${code} ${err}`);
    await successor(rig.procman, "keeper", keeper);
    await rig.records();
  }
  assert.deepEqual(await rig.procman.end(), []);
});

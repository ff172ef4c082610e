/** The incident of a run that has ended. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Incident } from "../../contract/run-summary.ts";
import { step } from "../../supervisor/machine.ts";
import type { Policy } from "../../supervisor/restart-policy.ts";
import type { Transition } from "../../supervisor/slot.ts";
import type { ExitInfo, MachineCommand, MachineInput, Report, SlotState } from "../../supervisor/states.ts";
import { endOf, type IncidentContext, incidentOf } from "./incident-record.ts";

const policy: Policy = {
  restart: "always",
  restartLimit: 3,
  restartResetMs: 60_000,
  restartDelayMs: 400,
  graceMs: 0,
  terminateMs: 30_000,
  timeoutMs: 10_000,
  waits: false,
};
const running: SlotState = { status: "running", run: 4, restarts: 1, pid: 4_711, since: 1_000, ready: false };
const exited = (code: number | null, signal: string | null = null): ExitInfo => ({ kind: "exited", code, signal });
const ended = (ending: ExitInfo): Report => ({ type: "ended", run: 4, ending, survivors: false });
const stop = (more: Partial<MachineCommand & { readonly type: "stop" }> = {}): MachineCommand => ({
  type: "stop",
  next: "idle",
  cause: "operator",
  ...more,
});

/** The incidents of a machine that gets these inputs, one second after another. */
function incidents(
  inputs: readonly (MachineCommand | Report)[],
  more: Partial<IncidentContext> = {},
  used: Partial<Policy> = {},
): Omit<Incident, "metrics">[] {
  const messageContext = { policy: { ...policy, ...used }, blocked: false };
  let state: SlotState = running;
  return inputs.flatMap((each, index) => {
    const input = { ...each, at: 2_000 + index * 1_000, chance: 0.5, nextRun: state.run + 1 } as MachineInput;
    const transition: Transition = {
      slot: "web",
      from: state,
      to: step(state, input, messageContext.policy).state,
      input,
    };
    state = transition.to;
    const ending = endOf(transition);
    return ending === undefined
      ? []
      : [incidentOf(transition, ending, { messageContext, claimOomKill: () => false, ...more })];
  });
}

function only(
  inputs: readonly (MachineCommand | Report)[],
  more: Partial<IncidentContext> = {},
  used: Partial<Policy> = {},
): Omit<Incident, "metrics"> {
  const [first, ...others] = incidents(inputs, more, used);
  assert.ok(first !== undefined && others.length === 0, "one end, one incident");
  return first;
}

const swept: Report = { type: "swept", run: 4 };

test("a run that ends by itself: its code, how long it ran, and the decision", () => {
  const { cause, reason, decision, code, pid, run, process, end, next } = only([ended(exited(3))]);
  assert.deepEqual({ cause, code, pid, run, process }, { cause: "exit", code: 3, pid: 4_711, run: 4, process: "web" });
  assert.equal(reason, "exited with code 3 after 1 s");
  assert.match(decision, /^restart 2 of 3 in \d+ ms$/);
  assert.deepEqual(end, { kind: "exit", code: 3, afterMs: 1_000 });
  assert.deepEqual({ ...next, delayMs: 400 }, { kind: "restart", restart: 2, limit: 3, delayMs: 400 });
});

test("an exit code or a signal that counts as success is marked", () => {
  const used = { restart: "error", successExitCodes: [3, "SIGTERM"] } as const;
  const { reason, decision, success } = only([ended(exited(3))], {}, used);
  assert.deepEqual([reason, decision, success], ["exited with code 3 after 1 s", "none: it has finished", true]);
  assert.equal(only([ended(exited(null, "SIGTERM"))], {}, used).success, true);
  assert.equal(only([ended(exited(0))], {}, used).success, undefined);
  assert.equal(only([ended(exited(4))], {}, used).success, undefined);
  assert.equal(
    only([stop(), ended(exited(null, "SIGTERM")), swept], {}, used).success,
    undefined,
    "it was asked to end",
  );
});

test("each decision has its text", () => {
  const decision = (inputs: readonly (MachineCommand | Report)[], used: Partial<Policy>): string =>
    only(inputs, {}, used).decision;
  assert.equal(decision([ended(exited(3))], { restartDelayMs: 0 }), "restart 2 of 3 at once");
  assert.equal(decision([ended(exited(3))], { restartLimit: 1 }), "none: its one restart is used up");
  assert.equal(decision([ended(exited(3))], { restart: "never" }), "none: not restarted (it has no restart policy)");
  assert.equal(decision([ended(exited(0))], { restart: "never" }), "none: it has finished");
  assert.equal(decision([stop(), ended(exited(null, "SIGTERM")), swept], {}), "none: it was stopped");
  assert.equal(decision([stop({ next: "start" }), ended(exited(null, "SIGTERM")), swept], {}), "starts again at once");
});

test("a signal that procman has not sent, and a kill for lack of memory", () => {
  const killed = only([ended(exited(null, "SIGKILL"))]);
  assert.deepEqual([killed.cause, killed.signal], ["signal", "SIGKILL"]);
  assert.equal(killed.reason, "was killed by SIGKILL after 1 s, not sent by procman");
  for (const ending of [exited(null, "SIGKILL"), exited(137)])
    assert.equal(only([ended(ending)], { claimOomKill: () => true }).cause, "out-of-memory");
  const starved: ExitInfo = { kind: "exited", code: null, signal: "SIGKILL", outOfMemory: true };
  const told = only([ended(starved)]);
  assert.deepEqual([told.cause, told.signal], ["out-of-memory", "SIGKILL"]);
  assert.equal(
    told.reason,
    "was killed by SIGKILL (out of memory) after 1 s: the kernel killed it because memory ran out",
  );
  assert.equal(
    only([ended({ kind: "unknown", outOfMemory: true })]).cause,
    "out-of-memory",
    "no parent saw the exit, but its cgroup reported it",
  );
  // A descendant was killed some time ago; the run itself ended with code 0.
  assert.equal(only([ended({ kind: "exited", code: 0, signal: null, outOfMemory: true })]).cause, "exit");
  assert.equal(only([ended(exited(null, "SIGSEGV"))], { claimOomKill: assert.fail }).cause, "signal");
});

test("a requested end names the requester", () => {
  const inputs = [stop(), ended(exited(0)), swept];
  const incident = only(inputs, { request: { kind: "consumer", by: "ci" } });
  assert.deepEqual([incident.cause, incident.by], ["operator", "ci"]);
  assert.equal(incident.reason, "was stopped by ci; it exited with code 0 after 3 s");
  assert.equal(
    only(inputs, { request: { kind: "configuration" } }).reason,
    "was stopped (its configuration has changed); it exited with code 0 after 3 s",
  );
  assert.equal(only(inputs, { shutdownReason: "SIGTERM" }).cause, "shutdown");
  assert.match(only(inputs, { shutdownReason: "SIGTERM" }).reason, /^was stopped with procman \(SIGTERM\); it exited/);
  assert.equal(
    only(inputs, { shutdownReason: "SIGTERM", request: { kind: "consumer", by: "ci" } }).by,
    "ci",
    "it was asked for before",
  );
  assert.equal(only(inputs).by, undefined);
});

test("a stop that needs SIGKILL is not taken for a lack of memory", () => {
  const inputs: (MachineCommand | Report)[] = [
    stop(),
    { type: "timer", run: 4, name: "escalate" },
    ended(exited(null, "SIGKILL")),
    swept,
  ];
  assert.equal(only(inputs, { claimOomKill: assert.fail }).cause, "operator");
});

test("timeout, schedule, a failed start, an end while procman was away", () => {
  const timeout = only([{ type: "timer", run: 4, name: "timeout" }, ended(exited(null, "SIGTERM")), swept]);
  assert.equal(timeout.cause, "timeout");
  assert.match(timeout.reason, /^was stopped because it exceeded its timeout of 10 s; it was killed by SIGTERM/);
  assert.equal(only([stop({ next: "policy", cause: "terminate" }), ended(exited(0)), swept]).cause, "terminate");
  assert.equal(only([ended({ kind: "unknown" })]).cause, "unknown");
  const unstartable = only([ended({ kind: "unstartable", message: "there is no file", permanent: true })]);
  assert.equal(unstartable.cause, "unstartable");
  assert.match(unstartable.reason, /^could not be started: there is no file/);
});

test("a run that leaves processes behind has one incident, with the end of its leader", () => {
  const left = { ...ended(exited(7)), survivors: true } as Report;
  const { cause, code } = only([left, swept]);
  assert.deepEqual([cause, code], ["exit", 7]);
});

/** A small model of the operating system, in which all states that the machine of a slot can reach are visited. */
import assert from "node:assert/strict";
import { step } from "../../src/core/supervisor/machine.ts";
import type { Hook, Policy } from "../../src/core/supervisor/restart-policy.ts";
import { type ExitInfo, initial, type MachineInput, type SlotState } from "../../src/core/supervisor/states.ts";
import { timers } from "../../src/core/supervisor/timers.ts";

/** What the OS has of the slot: a leader, processes that it leaves behind, and the signals they got. */
type Os = {
  readonly leader: "none" | "spawning" | "alive";
  readonly others: boolean;
  /** A sweep was requested and not yet reported. */
  readonly sweeping: boolean;
  readonly sigkill: boolean;
  /** The hook that runs; `ending`: it is being ended. */
  readonly hook: "none" | "beforeStart" | "afterStop" | "ending";
  /** Its hook has succeeded, and the child may start. */
  readonly isPrepared: boolean;
};
type World = { readonly state: SlotState; readonly os: Os };
type Move = { readonly name: string; readonly input: MachineInput; readonly os: Os };

const PID = 7;
const HOOK: Hook = { line: "true", timeoutMs: 1_000 };
/** Numbers of other runs may lie between those of a slot. */
const NEXT_RUN = 4;
const now = { at: 0, chance: 0.5, nextRun: NEXT_RUN };
const noProcess: Os = {
  leader: "none",
  others: false,
  sweeping: false,
  sigkill: false,
  hook: "none",
  isPrepared: false,
};
const exit = (code: number | null, signal: string | null = null): ExitInfo => ({ kind: "exited", code, signal });

/** All possible next moves; without `free`, only those of timers and forced ends: no operator, and processes ignore SIGTERM. */
function moves({ state, os }: World, policy: Policy, free: boolean): Move[] {
  const { run } = state;
  const found: Move[] = [];
  const add = (name: string, input: Omit<MachineInput, keyof typeof now>, next: Os = os): void =>
    void found.push({ name, input: { ...input, ...now } as MachineInput, os: next });
  if (free) {
    add("start", { type: "start" });
    for (const next of ["idle", "start", "policy"] as const)
      for (const cause of ["operator", "terminate", "watch"] as const)
        for (const held of [false, true])
          add(`stop(${next}${held ? ", held" : ""})`, { type: "stop", next, cause, held } as MachineInput);
    add("sleep", SLEEP);
    add("cancel-restart", { type: "cancel-restart" });
    for (const input of [
      { type: "spawned", pid: 99 },
      { type: "ready" },
      { type: "health", good: false },
      { type: "ended", ending: exit(1), survivors: true },
      { type: "swept" },
      { type: "hook-ended" },
      { type: "timer", name: "escalate" },
      { type: "timer", name: "restart" },
    ])
      add(`stale ${input.type}`, { ...input, run: run - 1 } as unknown as MachineInput);
  }
  if (state.status === "waiting") add("dependencies-ready", { type: "dependencies-ready" });
  if (state.status === "stopping" && state.phase === "waiting-dependents")
    add("dependents-gone", { type: "dependents-gone" });
  // A hook ends at any time, at the latest by its time limit. One that is over when it should be ended may report both.
  if (os.hook === "beforeStart" || os.hook === "afterStop")
    add("hook ends", { type: "hook-ended", run } as MachineInput, {
      ...noProcess,
      isPrepared: os.hook === "beforeStart",
    });
  if (os.hook === "ending") add("hook ends late", { type: "hook-ended", run } as MachineInput, noProcess);
  if (os.hook === "beforeStart" || os.hook === "ending") add("hook fails", unstartable(run, false), noProcess);
  if (os.leader === "spawning") {
    add("spawned", { type: "spawned", run, pid: PID } as MachineInput, { ...os, leader: "alive" });
    for (const permanent of [false, true]) add("unstartable", unstartable(run, permanent), noProcess);
  }
  if (os.leader === "alive") {
    const ended = (name: string, ending: ExitInfo, others: boolean): void =>
      add(name, { type: "ended", run, ending, survivors: others } as MachineInput, { ...os, leader: "none", others });
    if (free || os.sigkill) ended("killed", exit(null, "SIGKILL"), false);
    if (free) {
      for (const others of [false, true])
        for (const ending of [exit(0), exit(1), { kind: "unknown" } as const]) ended("ended", ending, others);
      // The keeper had a restart order, which could not be cancelled in time.
      if (!("ending" in state))
        for (const ending of [exit(0), exit(1)]) {
          const input = { type: "ended", run, ending, survivors: false, restarted: true };
          add("ended and restarted", input as MachineInput, { ...noProcess, leader: "spawning" });
        }
      add("ready", { type: "ready", run } as MachineInput);
      if (policy.readyMs !== undefined)
        for (const good of [false, true]) add(`health ${good}`, { type: "health", run, good } as MachineInput);
      if (policy.readyMs !== undefined)
        add("health held", { type: "health", run, good: false, held: true } as MachineInput);
    }
  }
  // Processes left behind end at any time, at the latest by SIGKILL.
  if (os.sweeping && (free || os.sigkill || !os.others))
    add("swept", { type: "swept", run } as MachineInput, noProcess);
  for (const { name } of timers(state, policy)) add(`timer ${name}`, { type: "timer", run, name } as MachineInput);
  return found;
}

/** It has no client. */
const SLEEP = { type: "stop", next: "idle", cause: "idle" } as const;

function unstartable(run: number, permanent: boolean): MachineInput {
  return {
    type: "ended",
    run,
    ending: { kind: "unstartable", message: "", permanent },
    survivors: false,
  } as unknown as MachineInput;
}

function apply(
  { state, os }: World,
  { name, input }: Pick<Move, "name" | "input">,
  policy: Policy,
  after: Os = os,
): World {
  const next = step(state, input, policy);
  let result = after;
  for (const effect of next.effects) {
    const where = (): string => `${show({ state, os })} on ${name}`;
    if (effect.type === "spawn") {
      holds(result.leader === "none", () => `two children: ${where()}`);
      holds(!result.others, () => `a start beside processes left behind: ${where()}`);
      holds(result.hook === "none", () => `a start beside a hook: ${where()}`);
      const expected = policy.beforeStart === undefined ? NEXT_RUN : state.run;
      holds(policy.beforeStart === undefined || result.isPrepared, () => `a start without its hook: ${where()}`);
      holds(effect.run === expected && next.state.run === expected, () => `another number than the next: ${where()}`);
      result = { ...noProcess, leader: "spawning" };
    } else if (effect.type === "stop" || effect.type === "kill") {
      holds(result.leader === "alive" && effect.pid === PID, () => `a signal without a child: ${where()}`);
      result = { ...result, sigkill: result.sigkill || effect.type === "kill" };
    } else if (effect.type === "adopt-restarted") {
      const isNext = effect.run === state.run + 1 && effect.run === next.state.run;
      holds(result.leader === "spawning" && isNext, () => `no next run: ${where()}`);
    } else if (effect.type === "run-hook") {
      const isEmpty = result.leader === "none" && !result.others && result.hook === "none";
      holds(isEmpty, () => `a hook beside processes: ${where()}`);
      holds(effect.run === next.state.run, () => `a hook of another run: ${where()}`);
      result = { ...noProcess, hook: effect.hook };
    } else if (effect.type === "end-hook") {
      holds(result.hook === "beforeStart", () => `no hook to end: ${where()}`);
      result = { ...result, hook: "ending" };
    } else {
      holds(result.leader === "none", () => `sweep beside a live leader: ${where()}`);
      result = { ...result, sweeping: true, sigkill: effect.signal === "SIGKILL" };
    }
  }
  return { state: next.state, os: result };
}

/** The message is built only for a failure. */
function holds(condition: boolean, message: () => string): void {
  if (!condition) assert.fail(message());
}

function show(world: World): string {
  return JSON.stringify(world);
}

/** Run numbers are relative, so the reachable set is finite. */
function rebase(world: World): World {
  return { ...world, state: { ...world.state, run: 1, restarts: Math.min(world.state.restarts, 3) } };
}

/** Visits all reachable states. @throws {AssertionError} two children, a signal without a target, a state that hangs or that can't be stopped */
export function checkSlot(policy: Policy): { readonly states: number; readonly steps: number } {
  const first = rebase({ state: initial, os: noProcess });
  const seen = new Set([show(first)]);
  const queue = [first];
  let steps = 0;
  for (let world = queue.pop(); world !== undefined; world = queue.pop()) {
    agrees(world);
    const canContinue =
      world.state.status === "idle" || world.os.leader === "alive" || moves(world, policy, false).length > 0;
    holds(canContinue, () => `stuck: ${show(world)}`);
    for (const move of moves(world, policy, true)) {
      const next = apply(world, move, policy, move.os);
      if (move.name === "health held")
        holds(next.state.status === world.state.status, () => `${move.name} stopped ${show(world)}`);
      if (move.name.startsWith("stale")) holds(next.state === world.state, () => `${move.name} moved ${show(world)}`);
      steps++;
      if (next.state === world.state && next.os === world.os) continue;
      const based = rebase(next);
      const key = show(based);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push(based);
    }
    stops(world, policy);
    wakes(world, policy);
  }
  return { states: seen.size, steps };
}

/** A slot that is idle, waiting or in backoff has no process; every other status has one. */
function agrees(world: World): void {
  const hasProcess = world.os.leader !== "none" || world.os.sweeping || world.os.hook !== "none";
  const expected = !["idle", "waiting", "backoff"].includes(world.state.status);
  holds(hasProcess === expected, () => `state and OS disagree: ${show(world)}`);
}

/** From every state, `stop` leads to an idle slot without processes, even if all ignore SIGTERM. */
function stops(world: World, policy: Policy): void {
  let now_ = apply(world, { name: "stop", input: { type: "stop", next: "idle", cause: "operator", ...now } }, policy);
  for (let turn = 0; now_.state.status !== "idle"; turn++) {
    const move = moves(now_, policy, false)[0];
    if (move === undefined || turn === 12) return assert.fail(`stop does not end: ${show(world)} -> ${show(now_)}`);
    now_ = apply(now_, move, policy, move.os);
  }
  holds(
    now_.os.leader === "none" && !now_.os.others && now_.os.hook === "none",
    () => `stopped with a live process: ${show(world)}`,
  );
}

/** From every state, sleep leads to a slot that a client starts: at once, or when the run has ended. */
function wakes(world: World, policy: Policy): void {
  const asleep = apply(world, { name: "sleep", input: { ...SLEEP, ...now } }, policy);
  const start = { name: "start", input: { type: "start", ...now } } as const;
  let now_ = apply(asleep, start, policy);
  for (let turn = 0; now_.state.status === "stopping"; turn++) {
    const move = moves(now_, policy, false)[0];
    if (move === undefined || turn === 12) return assert.fail(`it isn't woken: ${show(world)} -> ${show(now_)}`);
    now_ = apply(now_, move, policy, move.os);
  }
  holds(["waiting", "starting", "running"].includes(now_.state.status), () => `it isn't woken: ${show(world)}`);
}

const FURTHER_PARTS: readonly Partial<Policy>[] = [
  {},
  { restartDelayMs: 10 },
  { readyMs: 20 },
  { beforeStart: HOOK },
  { afterStop: HOOK },
  { beforeStart: HOOK, afterStop: HOOK, readyMs: 20 },
];

/** All combinations of the parts that change what the machine does. */
export function allPolicies(): readonly Policy[] {
  const policies: Policy[] = [];
  for (const restart of ["never", "error", "always"] as const)
    for (const restartLimit of [0, 1, Number.POSITIVE_INFINITY])
      for (const graceMs of [0, 50])
        for (const timeoutMs of [0, 50])
          for (const waits of [false, true])
            for (const restartResetMs of [0, 1000])
              for (const more of FURTHER_PARTS)
                policies.push({
                  restart,
                  restartLimit,
                  graceMs,
                  timeoutMs,
                  waits,
                  restartResetMs,
                  terminateMs: 10,
                  ...more,
                });
  return policies;
}

/** A service on the model of a machine, where service and keeper may die at every step. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Dependency, ProcessDefinition } from "../../src/core/supervisor/definition.ts";
import type { Process } from "../../src/core/supervisor/process.ts";
import type { Policy } from "../../src/core/supervisor/restart-policy.ts";
import { isAsleep } from "../../src/core/supervisor/verdict.ts";
import { POLICY } from "../support/fakes.ts";
import { keyOf, Machine, processOf } from "./machine-model.ts";
import { Service, type Turn } from "./service-model.ts";

export type Bounds = {
  /** Of the operator. */
  readonly commands: number;
  /** Ends of children without a signal. */
  readonly exits: number;
  /** Forks that fail. */
  readonly failures: number;
  /** Kills. */
  readonly services: number;
  readonly keepers: number;
};

/** A world that still moves after so many steps never settles. */
const SETTLE_STEPS = 120;

const COMMANDS = ["start", "stop", "restart", "block", "unblock"] as const;
/** Of what sleeps: it has no client, or one comes. */
const SLEEP_COMMANDS = ["sleep", "wake"] as const;

class World {
  readonly machine: Machine;
  readonly #definitions: readonly ProcessDefinition[];
  service: Service;
  /** How each run ended, as any service saw it. */
  readonly seen = new Map<string, string>();
  readonly budget: { -readonly [what in keyof Bounds]: number };
  /** A run that was started without its dependency. */
  #startedEarly: string | undefined;

  constructor(definitions: readonly ProcessDefinition[], budget: Bounds, machine = new Machine()) {
    this.#definitions = definitions;
    this.machine = machine;
    this.budget = { ...budget };
    this.service = this.#newService();
  }

  #newService(): Service {
    return this.#inTurn(
      () =>
        new Service(this.machine, this.#definitions, ({ slot, from, to, input }) => {
          if (input.type === "ended") this.seen.set(keyOf({ slot, run: input.run }), describe(input.ending));
          const begins = to.status === "starting" && from.status !== "starting";
          if (begins && this.service.supervisor.unmetBy(processOf(slot)).length > 0)
            this.#startedEarly ??= keyOf({ slot, run: to.run });
        }),
      () => this.service?.turn ?? [],
    );
  }

  /** All moves that are possible now. */
  moves(): readonly string[] {
    const { machine, service, budget } = this;
    const found: string[] = [];
    if (service.isStarted && budget.commands > 0)
      for (const { id, policy } of this.#definitions) {
        const further = policy.idleMs === undefined ? [] : SLEEP_COMMANDS;
        found.push(...[...COMMANDS, ...further].map((command) => `${command} ${id}`));
      }
    if (service.turn.length > 0) found.push("turn");
    if (machine.toKeeper.length > 0) found.push("toKeeper");
    if (machine.toService.length > 0) found.push("toService");
    if (machine.queued > 0) found.push("fork");
    if (machine.queued > 0 && budget.failures > 0) found.push("fork fails");
    for (const { slot, signal } of machine.children) {
      if (budget.exits > 0) found.push(`exit ${slot} 0`, `exit ${slot} 1`, `exit ${slot} survivors`);
      if (signal !== "") found.push(`die ${slot}`);
    }
    if (machine.zombies.length > 0) found.push("look");
    if (service.sweeps.size > 0) found.push("swept");
    if (service.timers.length > 0) found.push("tick");
    for (const { slot, isBegun } of service.hooks.values()) {
      // The keeper has everything before it begins.
      if (!isBegun && service.turn.length + machine.toKeeper.length === 0) found.push(`hook ${slot} begins`);
      if (isBegun) found.push(`hook ${slot} ends`);
      if (isBegun && budget.failures > 0) found.push(`hook ${slot} fails`);
    }
    if (budget.services > 0)
      for (let kept = 0; kept <= machine.toKeeper.length; kept += 1) found.push(`kill-service ${kept}`);
    if (budget.keepers > 0) found.push("kill keeper");
    if (budget.keepers > 0 && machine.toKeeper.length > 0) found.push("kill keeper taking");
    if (budget.keepers > 0 && machine.queued > 0)
      found.push("kill keeper before fork", "kill keeper after fork", "kill keeper after fork and exit");
    return found;
  }

  /** The next move without operator, exits and kills: the first possible one of these. */
  settlingMove(): string | undefined {
    const moves = this.moves();
    for (const next of ["turn", "toKeeper", "toService", "fork", "look", "die", "swept", "hook", "tick"]) {
      const move = moves.find((each) => each.split(" ")[0] === next);
      if (move !== undefined && !move.endsWith(" fails")) return move;
    }
    return undefined;
  }

  do(move: string): void {
    const { machine, service, budget } = this;
    const [what = "", whom = "", how = ""] = move.split(" ");
    const child = machine.children.find(({ slot }) => slot === whom);
    const command = [...COMMANDS, ...SLEEP_COMMANDS].find((each) => each === what);
    if (command !== undefined) {
      budget.commands -= 1;
      return this.#inTurn(() => service.command(command, whom));
    }
    switch (what) {
      case "turn":
        return this.#inTurn(() => {
          for (const call of service.turn.splice(0)) call();
        });
      case "toKeeper":
        return machine.keeperTakes();
      case "toService": {
        const messages = machine.toService.shift() ?? [];
        return this.#inTurn(() => service.receive(messages));
      }
      case "fork":
        if (whom === "fails") budget.failures -= 1;
        return machine.fork(whom !== "fails");
      case "exit":
        budget.exits -= 1;
        if (child !== undefined) machine.die(child, { code: how === "0" ? 0 : 1, survivors: how === "survivors" });
        return;
      case "die":
        if (child !== undefined) machine.die(child, { code: null, survivors: false });
        return;
      case "look":
        return machine.keeperLooks();
      case "swept": {
        const [first] = service.sweeps;
        if (first === undefined) return;
        const [key, done] = first;
        service.sweeps.delete(key);
        machine.leftBehind.delete(key);
        return this.#inTurn(done);
      }
      case "tick": {
        const timer = service.timers.sort((a, b) => a.due - b.due).shift();
        machine.now = Math.max(machine.now, timer?.due ?? 0);
        return this.#inTurn(() => timer?.call());
      }
      case "hook":
        return this.#onHook(whom, how);
      case "kill-service":
        return this.#killService(Number(whom));
      default:
        return this.#killKeeper(move);
    }
  }

  #onHook(slot: string, how: string): void {
    const { machine, service, budget } = this;
    const hook = service.hooks.get(slot);
    if (hook === undefined) return;
    const { call, on, isEnding } = hook;
    if (how === "begins") {
      hook.isBegun = true;
      return machine.hookBegins({ ...hook, isRepeated: call.isRepeated === true });
    }
    service.hooks.delete(slot);
    machine.hooks.delete(slot);
    if (how === "fails") budget.failures -= 1;
    const isUnstartable = call.hook === "beforeStart" && (isEnding || how === "fails");
    if (!isUnstartable) machine.hooksOver[call.hook].add(keyOf(hook));
    this.#inTurn(() =>
      isUnstartable ? on.ended({ kind: "unstartable", message: "", permanent: false }, false) : on.hookEnded(),
    );
  }

  /** `kept`: how many of its last messages arrive. */
  #killService(kept: number): void {
    this.budget.services -= 1;
    for (let taken = 0; taken < kept; taken += 1) this.machine.keeperTakes();
    this.machine.serviceDies();
    this.service = this.#newService();
  }

  #killKeeper(move: string): void {
    const { machine } = this;
    if (move === "kill keeper taking") machine.keeperTakes(true);
    if (move === "kill keeper before fork") machine.fork(true, "before");
    if (move.startsWith("kill keeper after fork")) machine.fork(true, "after");
    const born = move.endsWith("and exit") ? machine.children.at(-1) : undefined;
    if (born !== undefined) machine.die(born, { code: 1, survivors: true });
    this.budget.keepers -= 1;
    machine.keeperDies();
    this.service = this.#newService();
  }

  /** Catches `setImmediate` of the code under test for its next turn. */
  #inTurn<T>(call: () => T, turn: () => Turn = () => this.service.turn): T {
    const real = globalThis.setImmediate;
    const caught: Turn = [];
    globalThis.setImmediate = ((later: () => void) => void caught.push(later)) as unknown as typeof setImmediate;
    try {
      return call();
    } finally {
      globalThis.setImmediate = real;
      turn().push(...caught);
    }
  }

  get fingerprint(): string {
    const { machine, service, budget, seen } = this;
    const states = service.isStarted ? service.processes.map(({ states, isBlocked }) => [states, isBlocked]) : [];
    const timers = service.timers.map(({ due }) => due - machine.now).sort();
    const whole = [
      machine.fingerprint,
      states,
      timers,
      service.turn.length,
      [...service.sweeps.keys()],
      service.accepted,
      [...service.hooks.values()].map(({ slot, run, call, isBegun, isEnding }) => [
        slot,
        run,
        call.isRepeated,
        isBegun,
        isEnding,
      ]),
      budget,
      [...seen],
    ];
    return JSON.stringify(whole, (key, value) => {
      // Times are relative to now; notes are JSON texts with times.
      if (["at", "since", "until", "started", "hookSince"].includes(key)) return Math.max(-50, value - machine.now);
      return typeof value === "string" && value.startsWith('{"') ? JSON.parse(value) : value;
    });
  }

  /** A violation of what holds in every state. */
  problem(): string | undefined {
    const { children, leftBehind, misnumbered } = this.machine;
    if (misnumbered !== undefined) return misnumbered;
    if (this.machine.doubledHook !== undefined) return `two hooks at once: ${this.machine.doubledHook}`;
    for (const child of children) {
      const { slot } = child;
      const { beforeStart } = this.#policyOf(slot);
      if (this.machine.hooks.has(slot)) return `${slot} runs beside its hook`;
      if (beforeStart !== undefined && !this.machine.hooksOver.beforeStart.has(keyOf(child)))
        return `${keyOf(child)} runs without its hook`;
      if (children.filter((each) => each.slot === slot).length > 1)
        return `two live runs: ${children.map(keyOf).join(", ")}`;
      const left = [...leftBehind].find((key) => key.startsWith(`${slot}#`));
      if (left !== undefined) return `${slot} was started beside those that ${left} left behind`;
    }
    return this.#startedEarly === undefined
      ? undefined
      : `${this.#startedEarly} was started without what it depends on`;
  }

  /** A violation of what holds in a settled state. */
  unsettled(): string | undefined {
    const { machine, service, seen } = this;
    for (const process of service.processes) {
      const problem = this.#stateMismatch(process) ?? this.#missedRestart(process);
      if (problem !== undefined) return problem;
    }
    for (const [key, { code, isOrphan }] of machine.deaths) {
      const known = seen.get(key);
      const isRight = isOrphan
        ? known === "unknown" || known === String(code)
        : code === null
          ? /^SIG/.test(known ?? "")
          : known === String(code);
      const isMissed =
        known !== "unknown" && this.#policyOf(key).afterStop !== undefined && !machine.hooksOver.afterStop.has(key);
      if (isMissed) return `the hook after ${key} was not run`;
      if (!isRight)
        return `${key} ended with ${code}${isOrphan ? " as an orphan" : ""}, the service took it for ${known}`;
    }
    return this.#lostCommand();
  }

  #policyOf(slot: string): Partial<Policy> {
    const id = processOf(slot.split("#", 1)[0] as string);
    return this.#definitions.find((definition) => definition.id === id)?.policy ?? {};
  }

  /** Its state contradicts the machine. */
  #stateMismatch({ id, states, runs }: Process): string | undefined {
    const alive = this.machine.children.filter(({ slot }) => processOf(slot) === id).map(keyOf);
    const running = runs.filter(({ state }) => state.status === "running").map(keyOf);
    const isWaiting = this.service.supervisor.unmetBy(id).length > 0;
    const isSettled = states.every(
      ({ status }) => status === "running" || status === "idle" || (status === "waiting" && isWaiting),
    );
    if (isSettled && this.machine.hooks.size === 0 && alive.sort().join() === running.sort().join()) return undefined;
    return `of ${id} ${alive.join(", ") || "nothing"} lives, the states are ${JSON.stringify(states)}`;
  }

  /** It should have been restarted with its dependency. */
  #missedRestart({ id, states: [state] }: Process): string | undefined {
    const dependencies = this.#definitions.find((definition) => definition.id === id)?.dependsOn ?? [];
    for (const member of dependencies.filter(({ restart }) => restart).flatMap(({ members }) => members)) {
      const [other] = this.service.supervisor.find(member).states;
      if (state?.status === "running" && other?.status === "running" && other.since > state.since)
        return `${id} has not followed ${member}`;
    }
    return undefined;
  }

  #lostCommand(): string | undefined {
    const { issued, deaths, children } = this.machine;
    if (issued === undefined) return undefined;
    const { command, id, run } = issued;
    const { isBlocked, states } = this.service.supervisor.find(id);
    const living = Math.max(0, ...children.filter(({ slot }) => processOf(slot) === id).map((child) => child.run));
    const failure = `${command} of ${id} at run ${run} was not completed: run ${living} lives, ${JSON.stringify(states)}`;
    if (command === "stop") return living === 0 ? undefined : failure;
    if (command === "sleep") return living === 0 && states.every(isAsleep) ? undefined : failure;
    if (command === "block" || command === "unblock") return isBlocked === (command === "block") ? undefined : failure;
    // It will be started once its dependency is there.
    if (states[0]?.status === "waiting") return undefined;
    const runs = [...deaths.keys(), ...this.seen.keys()]
      .map((key) => key.split("#"))
      .filter(([slot = ""]) => processOf(slot) === id);
    return Math.max(living, ...runs.map(([, number]) => Number(number))) > run ? undefined : failure;
  }
}

function describe(ending: {
  readonly kind: string;
  readonly code?: number | null;
  readonly signal?: string | null;
}): string {
  return ending.kind === "exited" ? String(ending.code ?? ending.signal) : ending.kind;
}

export function makeDefinition(more: Partial<ProcessDefinition>, rules: Partial<Policy> = {}): ProcessDefinition {
  return {
    id: "web",
    policy: { ...POLICY, restart: "always", restartDelayMs: 10, ...rules },
    autostart: true,
    overrun: false,
    ...more,
  };
}

/** A process with both hooks, restarted at once after an error. */
export function hooked(): ProcessDefinition {
  const hook = { line: "true", timeoutMs: 1_000 };
  return makeDefinition({}, { restart: "error", restartDelayMs: 0, beforeStart: hook, afterStop: hook });
}

/** `web` depends on `db`, and is restarted with it if `restart` is true. */
export function chained(
  restart = false,
  { condition = "ready", ...rules }: Partial<Policy> & Partial<Pick<Dependency, "condition">> = {},
): readonly ProcessDefinition[] {
  const dependsOn = [{ id: "db", members: ["db"], condition, restart }];
  return [makeDefinition({ id: "db" }, rules), makeDefinition({ dependsOn }, { ...rules, waits: true })];
}

type Case = {
  readonly definitions: ProcessDefinition | readonly ProcessDefinition[];
  readonly bounds: Partial<Bounds>;
  /** Fewer states would mean that the check misses some. */
  readonly least: number;
};

/** A test for each case. */
export function checkKills(cases: Readonly<Record<string, Case>>): void {
  for (const [title, { definitions, bounds, least }] of Object.entries(cases))
    test(`3 a kill at any step (${title}) leads to no second live run, no lost exit, no lost command and no repeated run number`, (context) => {
      const states = walk(definitions, bounds);
      context.diagnostic(`${states} states`);
      assert.ok(states >= least, `${states} states, at least ${least}`);
    });
}

/** Visits all reachable states, and checks that each settles well. Returns their number. `bounds`: absent ones are 0. `machine`: a faulty one, for the check itself. */
export function walk(
  definitions: ProcessDefinition | readonly ProcessDefinition[],
  bounds: Partial<Bounds>,
  machine: () => Machine = () => new Machine(),
): number {
  const budget = { commands: 0, exits: 0, failures: 0, services: 0, keepers: 0, ...bounds };
  const seen = new Set<string>();
  const paths: (readonly string[])[] = [[]];
  for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
    const here = path;
    const world = new World([definitions].flat(), budget, machine());
    for (const move of here) world.do(move);
    const trail = (): string => here.join(", ");
    assert.equal(world.problem(), undefined, trail());
    const { fingerprint } = world;
    if (seen.has(fingerprint)) continue;
    seen.add(fingerprint);
    for (const move of world.moves()) paths.push([...here, move]);
    settle(world, trail);
  }
  return seen.size;
}

function settle(world: World, trail: () => string): void {
  for (let steps = 0; ; steps += 1) {
    assert.equal(world.problem(), undefined, trail());
    const move = world.settlingMove();
    if (move === undefined) break;
    assert.ok(steps < SETTLE_STEPS, `never settles: ${trail()}`);
    world.do(move);
  }
  const unsettled = world.unsettled();
  assert.equal(unsettled, undefined, `${unsettled}: ${trail()}`);
}

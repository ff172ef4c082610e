/** A service over a small machine, on which service and keeper may die at every step. */
import assert from "node:assert/strict";
import type { Plan } from "../../src/supervisor/plan.ts";
import type { Policy } from "../../src/supervisor/restart-policy.ts";
import { keyOf, Machine } from "./machine.ts";
import { Service, type Turn } from "./service.ts";

export type Bounds = {
  /** Of an operator. */
  readonly commands: number;
  /** Ends of children that nobody asked for. */
  readonly exits: number;
  /** Forks that fail. */
  readonly failures: number;
  /** Deaths. */
  readonly services: number;
  readonly keepers: number;
};

/** Whoever is not quiet after so many steps never will be. */
const QUIET_STEPS = 60;

class World {
  readonly machine: Machine;
  readonly #plan: Plan;
  service: Service;
  /** How each run ended in the eyes of any service. */
  readonly seen = new Map<string, string>();
  readonly budget: { -readonly [what in keyof Bounds]: number };

  constructor(plan: Plan, budget: Bounds, machine = new Machine()) {
    this.#plan = plan;
    this.machine = machine;
    this.budget = { ...budget };
    this.service = this.#newService();
  }

  #newService(): Service {
    return this.#inTurn(
      () =>
        new Service(this.machine, this.#plan, ({ slot, input }) => {
          if (input.type === "ended") this.seen.set(keyOf({ slot, run: input.run }), describe(input.ending));
        }),
      () => this.service?.turn ?? [],
    );
  }

  /** Whatever can happen now. */
  moves(): readonly string[] {
    const { machine, service, budget } = this;
    const found: string[] = [];
    if (service.begun && budget.commands > 0) found.push("start", "stop", "restart", "block", "unblock");
    if (service.turn.length > 0) found.push("turn");
    if (machine.toKeeper.length > 0) found.push("toKeeper");
    if (machine.toService.length > 0) found.push("toService");
    if (machine.queued > 0) found.push("fork");
    if (machine.queued > 0 && budget.failures > 0) found.push("fork fails");
    if (machine.children.length > 0 && budget.exits > 0) found.push("exit 0", "exit 1", "exit survivors");
    if (machine.children.some(({ signal }) => signal !== "")) found.push("die");
    if (machine.zombies.length > 0) found.push("look");
    if (service.sweeps.size > 0) found.push("swept");
    if (service.timers.length > 0) found.push("tick");
    if (budget.services > 0) for (let kept = 0; kept <= machine.toKeeper.length; kept += 1) found.push(`kill service ${kept}`);
    if (budget.keepers > 0) found.push("kill keeper");
    if (budget.keepers > 0 && machine.toKeeper.length > 0) found.push("kill keeper taking");
    if (budget.keepers > 0 && machine.queued > 0)
      found.push("kill keeper before fork", "kill keeper after fork", "kill keeper after fork and exit");
    return found;
  }

  /** What happens by itself when nobody does anything more: the first of these. */
  settling(): string | undefined {
    const order = ["turn", "toKeeper", "toService", "fork", "look", "die", "swept", "tick"];
    const moves = this.moves();
    return order.find((move) => moves.includes(move));
  }

  do(move: string): void {
    const { machine, service, budget } = this;
    const [child] = machine.children;
    switch (move) {
      case "start":
      case "stop":
      case "restart":
      case "block":
      case "unblock":
        budget.commands -= 1;
        return this.#inTurn(() => service.command(move));
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
        return machine.fork(true);
      case "fork fails":
        budget.failures -= 1;
        return machine.fork(false);
      case "exit 0":
      case "exit 1":
      case "exit survivors":
        budget.exits -= 1;
        if (child !== undefined) machine.die(child, { code: move === "exit 0" ? 0 : 1, survivors: move === "exit survivors" });
        return;
      case "die": {
        const signalled = machine.children.find(({ signal }) => signal !== "");
        if (signalled !== undefined) machine.die(signalled, { code: null, survivors: false });
        return;
      }
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
      case "kill keeper":
        return this.#killKeeper();
      case "kill keeper taking":
        machine.keeperTakes(true);
        return this.#killKeeper();
      case "kill keeper before fork":
        machine.fork(true, "before");
        return this.#killKeeper();
      case "kill keeper after fork":
        machine.fork(true, "after");
        return this.#killKeeper();
      case "kill keeper after fork and exit": {
        machine.fork(true, "after");
        const [born] = machine.children;
        if (born !== undefined) machine.die(born, { code: 1, survivors: true });
        return this.#killKeeper();
      }
      default: {
        budget.services -= 1;
        const kept = Number(move.split(" ")[2]);
        for (let taken = 0; taken < kept; taken += 1) machine.keeperTakes();
        machine.serviceDies();
        this.service = this.#newService();
      }
    }
  }

  #killKeeper(): void {
    this.budget.keepers -= 1;
    this.machine.keeperDies();
    this.service = this.#newService();
  }

  /** With the code's `setImmediate` caught for its next turn. */
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
    const states = service.begun ? [service.process.states, service.process.isBlocked] : [];
    const timers = service.timers.map(({ due }) => due - machine.now).sort();
    const whole = [machine.fingerprint, states, timers, service.turn.length, [...service.sweeps.keys()], service.taken, budget, [...seen]];
    return JSON.stringify(whole, (key, value) => {
      // Times count from now; notes are text that has times, too.
      if (["at", "since", "until", "started"].includes(key)) return Math.max(-50, value - machine.now);
      return typeof value === "string" && value.startsWith('{"') ? JSON.parse(value) : value;
    });
  }

  /** What must never be. */
  problem(): string | undefined {
    const { children, leftBehind } = this.machine;
    if (children.length > 1) return `two live runs: ${children.map(keyOf).join(", ")}`;
    if (children.length > 0 && leftBehind.size > 0)
      return `${children.map(keyOf)} was started beside those that ${[...leftBehind]} left behind`;
    return undefined;
  }

  /** What must be once all is quiet. */
  unsettled(): string | undefined {
    const { machine, service, seen } = this;
    const [state] = service.process.states;
    const [child] = machine.children;
    if (child !== undefined && (state?.status !== "running" || state.run !== child.run))
      return `${keyOf(child)} lives, the state is ${JSON.stringify(state)}`;
    if (child === undefined && state?.status !== "idle") return `nobody lives, the state is ${JSON.stringify(state)}`;
    for (const [key, { code, isOrphan }] of machine.deaths) {
      const known = seen.get(key);
      const isRight = isOrphan
        ? known === "unknown" || known === String(code)
        : code === null
          ? /^SIG/.test(known ?? "")
          : known === String(code);
      if (!isRight) return `${key} ended with ${code}${isOrphan ? " as an orphan" : ""}, the service took it for ${known}`;
    }
    return this.#unfulfilled(child?.run ?? 0);
  }

  #unfulfilled(living: number): string | undefined {
    const { wish, deaths } = this.machine;
    const { isBlocked, states } = this.service.process;
    if (wish === undefined) return undefined;
    const { command, run } = wish;
    const said = `${command} of run ${run} was not carried out: run ${living} lives, ${JSON.stringify(states)}`;
    if (command === "stop") return living === 0 ? undefined : said;
    if (command === "block" || command === "unblock") return isBlocked === (command === "block") ? undefined : said;
    const latest = Math.max(living, ...[...deaths.keys(), ...this.seen.keys()].map((key) => Number(key.split("#")[1])));
    return latest > run ? undefined : said;
  }
}

function describe(ending: { readonly kind: string; readonly code?: number | null; readonly signal?: string | null }): string {
  return ending.kind === "exited" ? String(ending.code ?? ending.signal) : ending.kind;
}

const POLICY: Policy = {
  restart: "always",
  restartDelayMs: 10,
  restartLimit: Number.POSITIVE_INFINITY,
  restartResetMs: 60_000,
  graceMs: 0,
  terminateMs: 30_000,
  timeoutMs: 0,
  waits: false,
};

export function planOf(more: Partial<Plan>, rules: Partial<Policy> = {}): Plan {
  return { id: "web", policy: { ...POLICY, ...rules }, autostart: true, overrun: false, ...more };
}

/** Visits all states that can be reached; from each, what happens by itself ends well. Returns how many there are. `machine`: another one than the right one. */
export function walk(plan: Plan, bounds: Bounds, machine: () => Machine = () => new Machine()): number {
  const seen = new Set<string>();
  const paths: (readonly string[])[] = [[]];
  for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
    const here = path;
    const world = new World(plan, bounds, machine());
    for (const move of here) world.do(move);
    const told = (): string => here.join(", ");
    assert.equal(world.problem(), undefined, told());
    const { fingerprint } = world;
    if (seen.has(fingerprint)) continue;
    seen.add(fingerprint);
    for (const move of world.moves()) paths.push([...here, move]);
    settle(world, told);
  }
  return seen.size;
}

function settle(world: World, told: () => string): void {
  for (let steps = 0; ; steps += 1) {
    assert.equal(world.problem(), undefined, told());
    const move = world.settling();
    if (move === undefined) break;
    assert.ok(steps < QUIET_STEPS, `never quiet: ${told()}`);
    world.do(move);
  }
  const unsettled = world.unsettled();
  assert.equal(unsettled, undefined, `${unsettled}: ${told()}`);
}

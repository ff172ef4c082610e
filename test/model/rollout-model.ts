/**
 * Reloads, rolling restarts and scalings at random, one after another, with the real service and a keeper that answers
 * in any order. The service is killed after a given number of answers, and another one continues.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { RawProcess } from "../../src/core/config/config-schema.ts";
import type { Config } from "../../src/core/config/spec.ts";
import type { FromKeeper, ToKeeper } from "../../src/core/ipc/keeper-protocol.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { configOf, exited, folder, run, startService } from "../support/service-rig.ts";

type Rig = ReturnType<typeof startService>;
/** `failing-reload`: to a program that there isn't, and back. */
type Operation = "reload" | "failing-reload" | "restart" | "scale";

const OPERATIONS: Readonly<Record<Operation, number>> = { reload: 1, "failing-reload": 1, restart: 1, scale: 1 };
/** The longest wait for the end of an operation. Milliseconds. */
const LIMIT_MS = 20_000;

/** The number of instances in the file. */
const FILE_INSTANCES = 3;
const BROKEN = "there-is-no-such-program";

const failed = (slot: string, number: number): FromKeeper => ({
  ...{ t: "failed", slot, run: number, errno: "ENOENT", step: "program", at: 9 },
  message: "there is no such program",
});

/** A keeper with a fault, which the check must find. `lost`: the note that the service doesn't get back. */
export type Fault = { readonly lost: string; readonly limitMs: number };

class RolloutModel {
  readonly #context: TestContext;
  readonly #random: SeededRandom;
  readonly #stateDir: string;
  /** The keeper's: the number and the command of each run. */
  readonly #running = new Map<string, { readonly number: number; readonly command: string }>();
  readonly #notes: Record<string, string> = {};
  /** What the keeper has yet to report. */
  #answers: FromKeeper[] = [];
  #rig: Rig;
  #taken = 0;
  /** The answers after which the service is killed. */
  #lives = Number.POSITIVE_INFINITY;
  readonly #killedAfter: number;
  readonly #fault: Fault | undefined;
  #version = 1;
  /** The file names a program that there isn't. */
  #isBroken = false;
  #instances = FILE_INSTANCES;
  /** Of a cluster, one instance at a time is down for a restart. */
  #least = 0;
  /** How often each slot was started, and must have been. */
  readonly #begun = new Map<string, number>();
  readonly #starts = new Map<string, number>();
  #log: string[] = [];

  constructor(context: TestContext, random: SeededRandom, killedAfter: number, fault?: Fault) {
    this.#context = context;
    this.#random = random;
    this.#killedAfter = killedAfter;
    this.#fault = fault;
    this.#stateDir = folder();
    this.#rig = this.#newService();
    this.#count(this.#slots());
  }

  /** Resolves with whether the service was killed. */
  async walk(operations: number): Promise<boolean> {
    await this.#settle();
    this.#lives = this.#killedAfter;
    for (let count = 0; count < operations; count += 1) {
      const operation = this.#random.weighted(OPERATIONS);
      this.#resize(this.#instances);
      this.#log.push(operation);
      this.#begin(operation);
      await this.#settle();
      if (this.#isBroken) this.#mend();
    }
    return this.#lives === Number.POSITIVE_INFINITY;
  }

  #begin(operation: Operation): void {
    const { service } = this.#rig;
    const before = this.#slots();
    const caller = { consumer: "model" };
    if (operation === "restart") {
      const instances = before.filter((slot) => slot !== "db");
      const found = instances.map((id) => service.supervisor.find(id));
      service.actions.act(found, { id: "web", action: "restart", caller });
      this.#count(instances);
    } else if (operation === "scale") {
      this.#resize(1 + Math.floor(this.#random.between(0, 5)));
      service.scaler.scale("web", { instances: this.#instances }, caller);
      this.#count(this.#slots().filter((slot) => !before.includes(slot)));
    } else if (operation === "failing-reload") {
      this.#least = Math.min(this.#instances, FILE_INSTANCES) - 1;
      this.#isBroken = true;
      void service.reloads.reload("model");
    } else {
      this.#version += 1;
      // The number of instances in the file is valid again.
      this.#resize(FILE_INSTANCES);
      this.#count(this.#slots());
      void service.reloads.reload("model");
    }
  }

  /** As often as its instances were started on the way to the broken program and back. */
  #mend(): void {
    this.#isBroken = false;
    for (const [slot, count] of this.#begun) this.#starts.set(slot, count);
  }

  #resize(instances: number): void {
    this.#least = Math.min(this.#instances, instances) - 1;
    this.#instances = instances;
  }

  #count(slots: readonly string[]): void {
    for (const slot of slots) this.#starts.set(slot, (this.#starts.get(slot) ?? 0) + 1);
  }

  #slots(): readonly string[] {
    return [...Array.from({ length: this.#instances }, (_, index) => `web-${index + 1}`), "db"];
  }

  #config(instances: number): Config {
    const common = { autostart: true, cmd: this.#isBroken ? BROKEN : this.#command };
    const processes: readonly RawProcess[] = [
      { ...common, id: "web", cluster: { instances } },
      { ...common, id: "db" },
    ];
    return configOf(this.#stateDir, processes);
  }

  get #command(): string {
    return `sleep ${1_000 + this.#version}`;
  }

  /** The keeper reports what it has, until the service has nothing under way and all runs are as they must be. */
  async #settle(): Promise<void> {
    for (const end = performance.now() + (this.#fault?.limitMs ?? LIMIT_MS); !this.#isSettled(); this.#deliver()) {
      assert.ok(performance.now() < end, `it has no end: ${this.#description()}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    if (!this.#isBroken)
      assert.deepEqual(this.#begun, this.#starts, `a run that was asked for begins once: ${this.#description()}`);
  }

  #isSettled(): boolean {
    this.#take();
    const slots = this.#slots();
    const areRight = slots.every((slot) => this.#running.get(slot)?.command === this.#command);
    const isOver = [":rolls", ":reload"].every((name) => (this.#notes[name] ?? "") === "");
    const starts = slots.every((slot) => (this.#begun.get(slot) ?? 0) >= (this.#starts.get(slot) ?? 0));
    return this.#answers.length === 0 && isOver && areRight && starts && this.#running.size === slots.length;
  }

  /** One answer at a time, in any order: so that the service may be killed after each. */
  #deliver(): void {
    this.#take();
    while (this.#answers.length > 0) {
      if (this.#lives === 0) return this.#kill();
      this.#lives -= 1;
      const [answer] = this.#answers.splice(Math.floor(this.#random.between(0, this.#answers.length)), 1);
      if (answer !== undefined) this.#rig.tell(answer);
      this.#take();
    }
  }

  /** The keeper carries out what the service has sent. */
  #take(): void {
    const { batches } = this.#rig.channel;
    while (this.#taken < batches.length) {
      for (const message of batches[this.#taken] ?? []) this.#carryOut(message);
      this.#taken += 1;
    }
  }

  #carryOut(message: ToKeeper): void {
    if (message.t === "note") this.#notes[message.id] = message.note;
    if (message.t === "spawn") this.#spawn(message);
    if (message.t !== "signal") return;
    const { slot, run: number } = message;
    if (this.#running.get(slot)?.number !== number) return;
    this.#log.push(`${slot} ${number} ends`);
    this.#running.delete(slot);
    this.#answers.push(exited(slot, number));
    this.#checkServing(slot);
  }

  #spawn({ slot, run: number, argv }: ToKeeper & { readonly t: "spawn" }): void {
    assert.ok(!this.#running.has(slot), `a second run in ${slot}: ${this.#description()}`);
    const command = argv.join(" ");
    this.#begun.set(slot, (this.#begun.get(slot) ?? 0) + 1);
    this.#log.push(`${slot} ${number} begins: ${command}`);
    if (command === BROKEN) return void this.#answers.push(failed(slot, number));
    this.#running.set(slot, { number, command });
    this.#answers.push({ t: "spawned", ...run(slot, number) });
  }

  #checkServing(ended: string): void {
    const serving = [...this.#running.keys()].filter((slot) => slot !== "db").length;
    assert.ok(ended === "db" || serving >= this.#least, `${serving} instances run: ${this.#description()}`);
  }

  #kill(): void {
    this.#log.push("killed");
    this.#lives = Number.POSITIVE_INFINITY;
    void this.#rig.service.retire();
    this.#take();
    this.#rig = this.#newService();
  }

  /** Gets the keeper's snapshot. */
  #newService(): Rig {
    const ended = this.#answers.filter((answer) => answer.t === "exited" || answer.t === "failed");
    this.#answers = [];
    this.#taken = 0;
    const notes = Object.fromEntries(Object.entries(this.#notes).filter(([name]) => name !== this.#fault?.lost));
    const running = [...this.#running].map(([slot, { number }]) => run(slot, number));
    return startService(
      this.#context,
      this.#config(FILE_INSTANCES),
      { running, ended, notes },
      { steadyMs: 0, source: (scale) => this.#config(scale?.("web", FILE_INSTANCES) ?? FILE_INSTANCES) },
    );
  }

  #description(): string {
    const runs = [...this.#running].map(([slot, { number, command }]) => `${slot} ${number} ${command}`);
    return `${this.#random.seed}: ${this.#log.join(", ")}; now ${runs.join(", ")}; ${this.#rig.channel.printed.join("\n")}`;
  }
}

/** A walk for each answer of the keeper: the service is killed after that. Returns the number of kills. */
export async function walkRollouts(
  context: TestContext,
  { seed, operations, fault }: { readonly seed: number; readonly operations: number; readonly fault?: Fault },
): Promise<number> {
  let kills = 0;
  while (await new RolloutModel(context, new SeededRandom(seed), kills, fault).walk(operations)) kills += 1;
  return kills;
}

export function checkRollouts(seeds: readonly number[], operations: number): void {
  for (const seed of seeds)
    test(`operations of seed ${seed}: each ends as it must, wherever the service is killed, and starts no run twice`, async (context) => {
      const kills = await walkRollouts(context, { seed, operations });
      assert.ok(kills > 0);
      context.diagnostic(`${kills} kills`);
    });
}

/** Instances that stand by: they run, but get no clients while instances of another release serve. */

import type { BackendSpec } from "../../ipc/balancer-protocol.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { hasCurrentRun } from "../../supervisor/verdict.ts";
import type { StandbyState } from "../recovery/notes.ts";
import type { Services } from "../services.ts";

export class Standby {
  readonly #services: Pick<Services, "notes" | "supervisor">;
  readonly #changed: () => void;
  #state: StandbyState = { sizes: {}, runs: {} };

  /** `changed`: which instances stand by. */
  constructor(services: Pick<Services, "notes" | "supervisor">, changed: () => void) {
    this.#services = services;
    this.#changed = changed;
  }

  resume(): void {
    this.#state = this.#services.notes.read(":standby") ?? this.#state;
  }

  /** Clusters that have instances of two releases, and how many they had before. */
  get sizes(): Readonly<Record<string, number>> {
    return this.#state.sizes;
  }

  /** Whether the present run of this instance stands by; a later run serves. */
  has(id: string): boolean {
    const run = this.#state.runs[id];
    return run !== undefined && this.#services.supervisor.statesOf(id).some((state) => isRun(state, run));
  }

  /** What stands by gets no new connections, unless nothing else serves. */
  serving(backends: readonly BackendSpec[]): readonly BackendSpec[] {
    const rested = backends.map((backend) => (this.has(backend.id) ? withoutClients(backend) : backend));
    return rested.some(({ state }) => state === "up") ? rested : backends;
  }

  /** These clusters get instances of another release. */
  begin(sizes: StandbyState["sizes"]): void {
    this.#set({ ...this.#state, sizes: { ...this.#state.sizes, ...sizes } });
  }

  /** From now on the present runs of these instances stand by, and no others. */
  rest(ids: readonly string[]): void {
    const runs = ids.flatMap((id) => {
      const state = this.#services.supervisor.statesOf(id).find(hasCurrentRun);
      return state === undefined ? [] : [[id, state.run] as const];
    });
    this.#set({ ...this.#state, runs: Object.fromEntries(runs) });
  }

  /** The clusters have instances of one release again. */
  end(): void {
    this.#set({ sizes: {}, runs: {} });
  }

  #set(state: StandbyState): void {
    this.#state = state;
    if (Object.keys(state.sizes).length === 0) this.#services.notes.remove(":standby");
    else this.#services.notes.write(":standby", state);
    this.#changed();
  }
}

/** The instance keeps the connections that it has. */
export function withoutClients(backend: BackendSpec): BackendSpec {
  return backend.state === "up" ? { ...backend, state: "draining" } : backend;
}

function isRun(state: SlotState, run: number): boolean {
  return hasCurrentRun(state) && state.run === run;
}

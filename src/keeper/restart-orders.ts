/** Runs that the service has prepared: each is started the moment the run before it has ended, without a word from the service. */
import type { ExitedReport, RestartOrder, RunKey, SpawnRequest } from "../ipc/keeper-protocol.ts";

export class RestartOrders {
  /** By slot. */
  readonly #requests = new Map<string, RestartOrder>();

  add(request: RestartOrder): void {
    this.#requests.set(request.slot, request);
  }

  cancel({ slot, run }: RunKey): void {
    if (this.#requests.get(slot)?.run === run) this.#requests.delete(slot);
  }

  /** Another service will say what it wants. */
  clear(): void {
    this.#requests.clear();
  }

  /** What follows this end; undefined: that is for the service to decide. Those that a run has left behind have to go first. */
  after({ slot, run, code, survivors }: Pick<ExitedReport, "slot" | "run" | "code" | "survivors">): SpawnRequest | undefined {
    const prepared = this.#requests.get(slot);
    this.#requests.delete(slot);
    if (prepared?.run !== run + 1 || survivors) return undefined;
    const { after, ...request } = prepared;
    return after === "any-end" || code !== 0 ? request : undefined;
  }
}

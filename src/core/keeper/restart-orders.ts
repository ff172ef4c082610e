/** Runs that the service has given in advance: the keeper starts each as soon as the run before it ends. */
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

  /** A new service gives new orders. */
  clear(): void {
    this.#requests.clear();
  }

  /** What follows this end; undefined: the service decides, also when the run has left processes behind. */
  after({ slot, run, code, survivors }: Pick<ExitedReport, "slot" | "run" | "code" | "survivors">): SpawnRequest | undefined {
    const prepared = this.#requests.get(slot);
    this.#requests.delete(slot);
    if (prepared?.run !== run + 1 || survivors) return undefined;
    const { after, ...request } = prepared;
    return after === "any-end" || code !== 0 ? request : undefined;
  }
}

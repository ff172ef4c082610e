/** A host of a rollout: its API, wherever it is, and what it has said last. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.ts";
import type { NamedHost } from "../../client/connection/host-file.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { RolloutRecord, RolloutStep } from "../../core/contract/rollout-record.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { clientTo, type HostUpstream, upstreamTo } from "./host-upstream.ts";
import type { HostState } from "./rollout-plan.ts";

/** Before anything is begun: ssh connects and signs in. Milliseconds. */
const FIRST_ANSWER_MS = 30_000;
const RETRY_MS = 1_000;
/** A request waits no longer for a change. Seconds. */
const WATCH_SECONDS = 20;

/** A host doesn't answer any more. */
export class LostHost extends ProcmanError {
  constructor(why: string) {
    super("service-down", why);
  }
}

export class RolledHost {
  readonly host: NamedHost;
  readonly client: Client;
  /** What it has said last. */
  record: RolloutRecord | undefined;
  /** Why it counts as lost. */
  lost: string | undefined;
  readonly #upstream: HostUpstream;
  readonly #patienceMs: number;

  /** `socket`: path for a socket, in a folder that only this user may enter. `patienceMs`: until it counts as lost. */
  constructor(host: NamedHost, socket: string, patienceMs: number) {
    this.host = host;
    this.#patienceMs = patienceMs;
    this.#upstream = upstreamTo(host, socket, { isCommand: true });
    this.client = clientTo(this.#upstream);
  }

  get name(): string {
    return this.host.name;
  }

  get state(): HostState {
    return this.lost !== undefined || this.record === undefined ? "lost" : this.record;
  }

  close(): void {
    this.#upstream.close();
  }

  /** Once, within a time. @throws {ProcmanError} `service-down` */
  async first<T>(ask: (client: Client) => Promise<T>): Promise<T> {
    const late = AbortSignal.timeout(FIRST_ANSWER_MS);
    const tooLate = new Promise<never>((_, reject) => {
      const why = `Cannot reach ${this.name}: no answer within ${FIRST_ANSWER_MS / 1_000} s`;
      late.addEventListener("abort", () => reject(new ProcmanError("service-down", why)));
    });
    return Promise.race([ask(this.client), tooLate]);
  }

  /** The one that it takes part in, or has; undefined: none. @throws {ProcmanError} `service-down` */
  async lastRollout(): Promise<RolloutRecord | undefined> {
    try {
      return await this.first((client) => client.rollout());
    } catch (error) {
      if (error instanceof ProcmanError && error.code === "rollout-unknown") return undefined;
      throw error;
    }
  }

  /** The next step. @throws {LostHost}; {ProcmanError} a refusal */
  async step(step: RolloutStep): Promise<void> {
    try {
      this.record = await this.#again((client) => client.stepRollout(step));
    } catch (error) {
      // Another client has gone on meanwhile.
      if (!(error instanceof ProcmanError) || error.code !== "rollout-refused") throw error;
      await this.refresh();
    }
  }

  async refresh(): Promise<void> {
    this.record = await this.#again((client) => client.rollout());
  }

  /** Until the service has carried out what it has begun. `onNews`: something has happened. */
  async watch(onNews: () => void): Promise<void> {
    for (let { phase } = this.record ?? {}; phase === "running" || phase === "back-running"; ) {
      const after = this.record?.next ?? 0;
      this.record = await this.#again((client) => client.rollout({ after, waitSeconds: WATCH_SECONDS }));
      onNews();
      ({ phase } = this.record);
    }
  }

  /** Steps may be repeated: the same one twice is as once. @throws {LostHost} */
  async #again<T>(ask: (client: Client) => Promise<T>): Promise<T> {
    for (const late = monotonicMs() + this.#patienceMs; ; await sleep(RETRY_MS))
      try {
        return await ask(this.client);
      } catch (error) {
        if (!(error instanceof ProcmanError) || error.code !== "service-down") throw error;
        if (monotonicMs() < late) continue;
        this.lost = error.message;
        throw new LostHost(error.message);
      }
  }
}

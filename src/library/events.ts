/** Events of a running procman for listeners, over restarts of its service. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import type { EventRecord } from "../contract/event-record.ts";
import { lossOf } from "../remote/loss.ts";

/** Each event by its name. */
export type ProcmanEvents = { readonly [Type in EventRecord["type"]]: EventRecord & { readonly type: Type } } & {
  /** procman has ended; nothing follows. */
  readonly end: { readonly type: "end" };
};

export type Listener<Name extends keyof ProcmanEvents> = (event: ProcmanEvents[Name]) => void;

/** The service is just being started again. Milliseconds. */
const AGAIN_MS = 50;

export class Events {
  readonly #connect: () => Promise<Client>;
  readonly #listeners = new Map<string, Set<(event: never) => void>>();
  readonly #stop: AbortSignal;
  #isListening = false;

  constructor(connect: () => Promise<Client>, stop: AbortSignal) {
    this.#connect = connect;
    this.#stop = stop;
  }

  add<Name extends keyof ProcmanEvents>(name: Name, listener: Listener<Name>): void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    if (this.#isListening) return;
    this.#isListening = true;
    this.#listen().catch((error: Error) => process.emitWarning(error));
  }

  remove<Name extends keyof ProcmanEvents>(name: Name, listener: Listener<Name>): void {
    this.#listeners.get(name)?.delete(listener);
  }

  async #listen(): Promise<void> {
    let last: string | undefined;
    for (let loss = "again"; loss === "again" && !this.#stop.aborted; await sleep(AGAIN_MS)) {
      try {
        for await (const event of (await this.#connect()).events(last, this.#stop)) {
          last = event.id;
          this.#emit(event);
        }
      } catch (error) {
        if (!this.#stop.aborted) loss = lossOf(error, true);
      }
    }
    if (!this.#stop.aborted) this.#emit({ type: "end" });
  }

  #emit(event: ProcmanEvents[keyof ProcmanEvents]): void {
    for (const listener of this.#listeners.get(event.type) ?? [])
      try {
        listener(event as never);
      } catch (error) {
        throwLater(error);
      }
  }
}

/** What a listener throws is the program's own, and stops no other. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

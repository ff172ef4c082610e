/** Delivers the events of a running procman to listeners, across restarts of its service. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.ts";
import { type LogReader, reconnectError } from "../../client/connection/log-reader.ts";
import type { EventRecord } from "../../core/contract/event-record.ts";
import { logEvent } from "../../core/contract/log-event.ts";

/** Each event by its name. */
export type ProcmanEvents = { readonly [Type in EventRecord["type"]]: EventRecord & { readonly type: Type } } & {
  /** procman has ended; nothing follows. */
  readonly end: { readonly type: "end" };
};

export type LibraryListener<Name extends keyof ProcmanEvents> = (event: ProcmanEvents[Name]) => void;

/** Delay before the next attempt to reach a service that is being restarted. */
const RECONNECT_MS = 50;

export class LibraryEvents {
  readonly #connect: () => Promise<Client>;
  readonly #reader: () => LogReader;
  readonly #listeners = new Map<string, Set<(event: never) => void>>();
  readonly #stop: AbortSignal;
  #listening: Promise<void> | undefined;
  #reading: Promise<void> | undefined;

  constructor(connect: () => Promise<Client>, reader: () => LogReader, stop: AbortSignal) {
    this.#connect = connect;
    this.#reader = reader;
    this.#stop = stop;
  }

  add<Name extends keyof ProcmanEvents>(name: Name, listener: LibraryListener<Name>): void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    // There may be much output: it is read only when a listener wants it, and from the log store.
    if (name === "log") this.#reading ??= this.#read().catch(warn);
    else this.#listening ??= this.#listen().catch(warn);
  }

  remove<Name extends keyof ProcmanEvents>(name: Name, listener: LibraryListener<Name>): void {
    this.#listeners.get(name)?.delete(listener);
  }

  /** Resolves when procman has ended and listeners have got its last event. */
  async ended(): Promise<void> {
    await Promise.all([this.#listening, this.#reading]);
  }

  async #read(): Promise<void> {
    for await (const item of this.#reader().follow({ from: Date.now() }, this.#stop))
      this.#emit(logEvent(item, item.cursor));
  }

  async #listen(): Promise<void> {
    let last: string | undefined;
    for (let next = "again"; next === "again" && !this.#stop.aborted; await sleep(RECONNECT_MS)) {
      try {
        for await (const event of (await this.#connect()).events(last, this.#stop)) {
          last = event.id;
          this.#emit(event);
        }
      } catch (error) {
        if (!this.#stop.aborted) next = reconnectError(error, true);
      }
    }
    if (!this.#stop.aborted) this.#emit({ type: "end" });
  }

  #emit(event: ProcmanEvents[keyof ProcmanEvents]): void {
    for (const listener of this.#listeners.get(event.type) ?? [])
      try {
        listener(event as never);
      } catch (error) {
        rethrowAsync(error);
      }
  }
}

/** Reports an error that must not end the program. */
export function warn(error: Error): void {
  process.emitWarning(error);
}

/** Rethrows an error of a listener outside of the loop, so that the other listeners still run. */
export function rethrowAsync(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** The stored log, and what comes: from the running procman, over restarts of its service; what is stored also from its files, when none answers. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
import type { Client } from "../client/client.ts";
import type { Location } from "../config/locate.ts";
import type { LogEntry, LogItem, LogPage, LogQuery } from "../contract/records.ts";
import { connectTo } from "./connect.ts";
import { LOOK_MS } from "./endpoint.ts";
import { lossOf } from "./loss.ts";

const PAGE = 10_000;
/** As the API has it. */
const LINES = 100;

export class LogReader {
  readonly #location: Location;
  readonly #consumer: string;
  /** Whoever follows waits for a service that is down, too. */
  readonly #isPatient: boolean;
  #client: Promise<Client> | undefined;

  constructor(location: Location, consumer: string, isPatient = false) {
    this.#location = location;
    this.#consumer = consumer;
    this.#isPatient = isPatient;
  }

  /** The last `count`, oldest first. */
  async last(query: LogQuery, count: number): Promise<readonly LogEntry[]> {
    const entries: LogEntry[] = [];
    for await (const page of this.#pages({ ...query, order: "desc", limit: Math.min(PAGE, count) })) {
      entries.push(...page.entries.slice(0, count - entries.length));
      if (entries.length >= count) break;
    }
    return entries.reverse();
  }

  /** All of it in pages, oldest first. */
  all(query: LogQuery): AsyncIterable<LogPage> {
    return this.#pages({ ...query, order: "asc", limit: PAGE });
  }

  /** Ends when procman has ended, after all that it had written, or the signal came. */
  async *follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    let from = query;
    for (let loss = "again"; loss === "again" && !signal.aborted; await sleep(LOOK_MS)) {
      try {
        for await (const item of (await this.#connected()).follow(from, signal)) {
          from = after(query, item.cursor);
          yield item;
        }
      } catch (error) {
        if (!signal.aborted) loss = lossOf(error, this.#isPatient);
      }
      this.#client = undefined;
    }
    if (!signal.aborted) yield* this.#rest(from);
  }

  /** What procman had written at last, or what there is when none runs. */
  async *#rest(query: LogQuery): AsyncIterable<LogItem> {
    const { cursor = "", from, limit = LINES } = query;
    const item = (entry: LogEntry): LogItem => ({ type: "entry", entry, cursor });
    if (cursor === "" && from === undefined) return yield* (await this.last(query, limit)).map(item);
    for await (const { entries } of this.all(query)) yield* entries.map(item);
  }

  async *#pages(query: LogQuery): AsyncIterable<LogPage> {
    const logs = await this.#logs();
    for (let page = await logs(query); ; page = await logs({ ...query, cursor: page.next })) {
      yield page;
      if (page.next === undefined) return;
    }
  }

  async #logs(): Promise<(query: LogQuery) => Promise<LogPage>> {
    try {
      const client = await this.#connected();
      return (query) => client.logs(query);
    } catch (error) {
      const isAway = error instanceof ProcmanError && ["no-daemon", "service-down"].includes(error.code);
      // Where it may not be read, its files may not either.
      if (!isAway || error.cause !== undefined) throw error;
      const { readLogs } = await import("../store/query.ts");
      return (query) => readLogs(this.#location.stateDir, query);
    }
  }

  #connected(): Promise<Client> {
    this.#client ??= connectTo(this.#location, this.#consumer);
    return this.#client;
  }
}

/** What was seen is not asked for again. */
function after({ from: _from, ...query }: LogQuery, cursor: string): LogQuery {
  return { ...query, cursor };
}

/** Reads and follows the log of a running procman across restarts of its service; without procman, reads the stored files. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../../core/base/errors.ts";
import { groupNamed } from "../../core/contract/groups.ts";
import type { LogEntry, LogItem, LogPage, LogQuery } from "../../core/contract/records.ts";
import type { Client } from "../client.ts";
import { type ApiPlace, connectTo } from "./connect.ts";
import { isBeingRevived, POLL_MS } from "./endpoint-file.ts";

const PAGE = 10_000;
/** The default of the API. */
const LINES = 100;

/** `membersOf`: the processes that an id stands for, while procman doesn't answer. Absent: groups are not known then. */
type LogPlace = ApiPlace & {
  readonly membersOf?: (id: string) => Promise<readonly string[]>;
  /** Another way to the API there. */
  readonly connect?: () => Promise<Client>;
};

export class LogReader {
  readonly #place: LogPlace;
  readonly #consumer: string;
  /** A follower also waits for a service that is down from the beginning. */
  readonly #isPatient: boolean;
  #client: Promise<Client> | undefined;

  constructor(place: LogPlace, consumer: string, isPatient = false) {
    this.#place = place;
    this.#consumer = consumer;
    // Nothing tells whether a procman elsewhere has ended.
    this.#isPatient = isPatient || "url" in place;
  }

  /** The last `count` entries that `includes` accepts, oldest first. */
  async last(
    query: LogQuery,
    count: number,
    includes: (entry: LogEntry) => boolean = () => true,
  ): Promise<readonly LogEntry[]> {
    const entries: LogEntry[] = [];
    for await (const page of this.#pages({ ...query, order: "desc", limit: Math.min(PAGE, count) })) {
      entries.push(...page.entries.filter(includes).slice(0, count - entries.length));
      if (entries.length >= count) break;
    }
    return entries.reverse();
  }

  /** All entries in pages, oldest first. */
  all(query: LogQuery): AsyncIterable<LogPage> {
    return this.#pages({ ...query, order: "asc", limit: PAGE });
  }

  /** The same, newest first. */
  newestFirst(query: LogQuery): AsyncIterable<LogPage> {
    return this.#pages({ ...query, order: "desc", limit: PAGE });
  }

  /** Ends when procman has ended, after its last entries, or when the signal is aborted. */
  async *follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    let from = query;
    let isPatient = this.#isPatient;
    for (let loss = "again"; loss === "again" && !signal.aborted; await sleep(POLL_MS)) {
      try {
        for await (const item of (await this.#connected()).follow(from, signal)) {
          from = after(query, item.cursor);
          isPatient = true;
          yield item;
        }
      } catch (error) {
        if (!signal.aborted) loss = reconnectError(error, isPatient);
      }
      if (loss === "ended" && !("url" in this.#place) && (await isBeingRevived(this.#place.stateDir))) loss = "again";
      this.#client = undefined;
    }
    if (!signal.aborted) yield* this.#rest(from);
  }

  /** The last entries that procman wrote before it ended. */
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
      // If the endpoint is not readable, neither are the log files.
      if (!isAway || error.cause !== undefined || "url" in this.#place) throw error;
      const { readLogs } = await import("../../core/log-store/log-pages.ts");
      const { stateDir } = this.#place;
      return async (query) => readLogs(stateDir, await this.#withMembers(query));
    }
  }

  /** Members in place of groups. */
  async #withMembers({ processes, ...query }: LogQuery): Promise<LogQuery> {
    if (processes === undefined) return query;
    const { membersOf = async (id) => [id] } = this.#place;
    const members = processes.map(async (id) => (groupNamed(id) === undefined ? [id] : membersOf(id)));
    return { ...query, processes: (await Promise.all(members)).flat() };
  }

  #connected(): Promise<Client> {
    this.#client ??= this.#place.connect?.() ?? connectTo(this.#place, this.#consumer);
    return this.#client;
  }
}

/** Continues after the entries that were read. */
function after({ from: _from, ...query }: LogQuery, cursor: string): LogQuery {
  return { ...query, cursor };
}

const CUT = ["ECONNRESET", "EPIPE", "ECONNREFUSED", "ETIMEDOUT"];

/** `ended`: procman has ended; `again`: its service is restarting. Throws other errors. `isPatient`: also waits for a service that is down. */
export function reconnectError(error: unknown, isPatient: boolean): "ended" | "again" {
  const { code = "" } = error as NodeJS.ErrnoException;
  if (!(error instanceof ProcmanError) && CUT.includes(code)) return "again";
  if (code === "no-daemon") return "ended";
  if (code === "service-down" && isPatient) return "again";
  throw error;
}

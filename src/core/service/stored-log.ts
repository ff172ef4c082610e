/** The stored log: read from its files, written by way of the logger. */
import { ProcmanError } from "../base/errors.ts";
import type { Caller } from "../contract/control.ts";
import type { FlushRecord, LogEntry, LogItem, LogPage, LogSubmission } from "../contract/records.ts";
import type { FromLogger } from "../ipc/logger-protocol.ts";
import type { ScopedQuery } from "../log-store/filter.ts";
import { followLogs } from "../log-store/follow.ts";
import { readLogs } from "../log-store/log-pages.ts";
import type { LogAccess } from "./control-ports.ts";
import { type FlushRequest, LogFlushes } from "./log-flushes.ts";
import { LogSubmissions, type Submission } from "./log-submissions.ts";
import type { Services, Specs } from "./services.ts";

const MAX_TEXT_BYTES = 64 * 1024;

export class StoredLog implements LogAccess {
  readonly #specs: Specs;
  readonly #submissions: LogSubmissions;
  readonly #flushes: LogFlushes;

  constructor({ log, specs }: Pick<Services, "log" | "specs">) {
    this.#specs = specs;
    this.#flushes = new LogFlushes(log);
    this.#submissions = new LogSubmissions(log, (entry) => this.#isStored(entry));
  }

  /** The logger has handled entries. */
  onStored(message: FromLogger & { readonly t: "stored" }): void {
    this.#submissions.onStored(message);
  }

  /** The logger has carried out a flush. */
  onFlushed(message: FromLogger & { readonly t: "flushed" }): void {
    this.#flushes.onFlushed(message);
  }

  flush(request: FlushRequest): Promise<FlushRecord> {
    return this.#flushes.flush(request);
  }

  /** Reads the stored log, including that of processes that are no longer in the configuration. */
  logs(query: ScopedQuery): Promise<LogPage> {
    return readLogs(this.#specs.config.stateDir, query);
  }

  follow(query: ScopedQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    return followLogs(this.#specs.config.stateDir, query, signal);
  }

  /** The caller makes sure that the process or cluster is known. With a process's token, the entry belongs to that process. Resolves when it can be read. */
  async log({ text, severity = "info", process = undefined }: LogSubmission, caller: Caller): Promise<LogEntry> {
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_TEXT_BYTES)
      throw new ProcmanError(
        "usage",
        `Cannot log a text of ${bytes} bytes: an entry has at most ${MAX_TEXT_BYTES}; send several`,
      );
    const id = process ?? caller.process;
    const spec = id === undefined ? undefined : this.#specs.find(id);
    const at = Date.now();
    const instance = spec?.cluster === undefined ? {} : { instance: spec.cluster.index + 1 };
    await this.#submissions.add({ at, severity, text, category: "log", ...(id === undefined ? {} : { id }) });
    const whose = { ...(id === undefined ? {} : { process: id }), ...instance };
    return { time: new Date(at).toISOString(), ...whose, severity, category: "log", text };
  }

  async #isStored({ at, id, text }: Submission): Promise<boolean> {
    const { entries } = await this.logs({
      categories: ["log"],
      from: at,
      to: at + 1,
      limit: 1_000,
      ...(id === undefined ? {} : { processes: [id] }),
    });
    return entries.some((entry) => entry.text === text && entry.process === id);
  }
}

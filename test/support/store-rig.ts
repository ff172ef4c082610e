/** Test rig: a log store in a temporary folder. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { LogEntry, LogQuery } from "../../src/core/contract/records.ts";
import type { StoreSettings } from "../../src/core/ipc/logger-protocol.ts";
import { readLogs } from "../../src/core/log-store/log-pages.ts";
import { RecordHeader, type RecordSource } from "../../src/core/log-store/record.ts";
import { logsFolder } from "../../src/core/log-store/segment-files.ts";
import { LogStore } from "../../src/core/log-store/store.ts";

export const DAY = { hours: 24, bytes: 1e9 };

export const WEB: RecordSource = { process: "web", run: 1, category: "stdout", severity: "info" };

/** A state folder, removed after the test. */
export function stateDir(context: Pick<TestContext, "after">): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-store-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export class TestStore {
  readonly folder: string;
  readonly store: LogStore;
  readonly reports: string[] = [];

  constructor(folder: string, settings: StoreSettings = DAY) {
    this.folder = logsFolder(folder);
    this.store = new LogStore({
      problem: (_folder, error) => this.reports.push((error as NodeJS.ErrnoException).code ?? String(error)),
      recovered: (_folder, lines, bytes) => this.reports.push(`recovered ${lines} ${bytes}`),
    });
    this.store.folder = this.folder;
    this.store.settings = settings;
  }

  lines(origin: RecordSource, ...lines: readonly string[]): void {
    this.store.add(new RecordHeader(origin, false), Buffer.from(lines.map((line) => `${line}\n`).join("")));
  }

  /** Resolves once everything is in the files. */
  settled(): Promise<void> {
    return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
}

/** The entries of all pages of a query. */
export async function allPages(folder: string, query: LogQuery): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = [];
  for (let cursor = query.cursor; ; ) {
    const page = await readLogs(folder, cursor === undefined ? query : { ...query, cursor });
    entries.push(...page.entries);
    if (page.next === undefined) return entries;
    cursor = page.next;
  }
}

export async function texts(
  folder: string,
  query: LogQuery = { order: "asc", limit: 10_000 },
): Promise<readonly string[]> {
  return (await readLogs(folder, query)).entries.map(({ text }) => text);
}

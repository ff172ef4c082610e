/** `procman logs` of several machines: merged by time or, followed, as they come. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkAnswer } from "../../client/connection/checked-answer.ts";
import { hostsNamed } from "../../client/connection/host-file.ts";
import { LogReader } from "../../client/connection/log-reader.ts";
import type { SendRequest } from "../../client/transport.ts";
import { EXIT, ProcmanError, reasonOf } from "../../core/base/errors.ts";
import { printable } from "../../core/base/printable.ts";
import type { LogEntry, LogItem, ProcessRecord } from "../../core/contract/records.ts";
import { clientFolder } from "./client-folder.ts";
import { clientTo, upstreamTo } from "./host-upstream.ts";

/** Pause before a machine that was lost is asked once more. Milliseconds. */
const RETRY_MS = 500;
/** So many failures aren't worth a word: its service may be restarting. */
const SHORT_LOSSES = 2;

/** Says once that a machine doesn't answer, until it does. */
class Absence {
  readonly #host: string;
  #losses = 0;
  #isSaid = false;

  constructor(host: string) {
    this.#host = host;
  }

  say(why: string): void {
    if (!this.#isSaid) note(this.#host, why);
    this.#isSaid = true;
  }

  observed(send: SendRequest): SendRequest {
    return async (request) => {
      try {
        const reply = await send(request);
        this.#losses = 0;
        this.#isSaid = false;
        return reply;
      } catch (error) {
        if (request.signal?.aborted) throw error;
        this.#losses += 1;
        if (this.#losses > SHORT_LOSSES) this.say(reasonOf(error));
        if (this.#losses > 1) await sleep(RETRY_MS);
        throw error;
      }
    };
  }
}

/** The log of a machine. */
export type HostLog = {
  readonly host: string;
  readonly reader: LogReader;
  readonly processes: () => Promise<readonly ProcessRecord[]>;
  readonly absence: Absence;
};

type HostEntry = { readonly host: string; readonly entry: LogEntry };

/** Ends the connections afterwards. @throws {ProcmanError} `usage` */
export async function withHostLogs(names: string, work: (logs: readonly HostLog[]) => Promise<void>): Promise<void> {
  const folder = clientFolder("logs");
  const parts = hostsNamed(names).map((host, index) => {
    const upstream = upstreamTo(host, join(folder, `${index}.sock`), { isCommand: true });
    const { name, url } = host;
    const absence = new Absence(name);
    const client = clientTo(upstream, (send) => absence.observed(send));
    const reader = new LogReader({ host: name, url, check: checkAnswer, connect: async () => client }, "cli");
    return { upstream, log: { host: name, reader, absence, processes: () => client.processes() } };
  });
  try {
    await work(parts.map(({ log }) => log));
  } finally {
    for (const { upstream } of parts) upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What each has answered; one that doesn't is named. */
export async function answersOf<T>(
  logs: readonly HostLog[],
  ask: (log: HostLog) => Promise<T>,
): Promise<readonly (readonly [HostLog, T])[]> {
  const answers = await Promise.all(logs.map((log) => orAway(log, ask(log))));
  return logs.flatMap((log, index) => {
    const answer = answers[index];
    return answer === undefined ? [] : [[log, answer.value] as const];
  });
}

async function orAway<T>({ absence }: HostLog, work: Promise<T>): Promise<{ readonly value: T } | undefined> {
  try {
    return { value: await work };
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.exitCode !== EXIT.noDaemon) throw error;
    absence.say(error.message);
    process.exitCode = EXIT.noDaemon;
    return undefined;
  }
}

/** All entries, oldest first. `pages`: those of a machine, each with the oldest first. */
export async function* mergedLogs(
  logs: readonly HostLog[],
  pages: (log: HostLog) => AsyncIterable<readonly LogEntry[]>,
): AsyncGenerator<HostEntry> {
  const cursors = logs.map((log) => ({ log, entries: entriesOf(pages(log)) }));
  const next = ({ log, entries }: (typeof cursors)[number]) => orAway(log, entries.next());
  const heads = await Promise.all(cursors.map(next));
  for (;;) {
    let first = -1;
    for (const [index, head] of heads.entries()) {
      const time = timeIn(head);
      const least = timeIn(heads[first]);
      if (time !== undefined && (least === undefined || time < least)) first = index;
    }
    const [cursor, head] = [cursors[first], heads[first]?.value];
    if (cursor === undefined || head === undefined || head.done === true) return;
    yield { host: cursor.log.host, entry: head.value };
    heads[first] = await next(cursor);
  }
}

async function* entriesOf(pages: AsyncIterable<readonly LogEntry[]>): AsyncGenerator<LogEntry, undefined> {
  for await (const page of pages) yield* page;
}

type NextEntry = { readonly value: IteratorResult<LogEntry, undefined> } | undefined;

function timeIn(head: NextEntry): number | undefined {
  return head === undefined || head.value.done === true ? undefined : Date.parse(head.value.value.time);
}

/** Until the signal: `onItem` gets what each machine logs. One that refuses is named, and left out. */
export async function followLogs(
  logs: readonly HostLog[],
  items: (log: HostLog) => AsyncIterable<LogItem>,
  onItem: (log: HostLog, item: LogItem) => Promise<void>,
): Promise<void> {
  const one = async (log: HostLog): Promise<void> => {
    try {
      for await (const item of items(log)) await onItem(log, item);
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      note(log.host, error.message);
      process.exitCode = error.exitCode;
    }
  };
  await Promise.all(logs.map(one));
}

function note(host: string, text: string): void {
  process.stderr.write(`procman: ${printable(`${host}: ${text}`)}\n`);
}

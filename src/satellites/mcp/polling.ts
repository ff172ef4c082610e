/** Waits for what a process becomes, by asking again and again: so the wait outlives each part of procman. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../client/client.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { excerpt } from "../../core/contract/why.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { membersOf } from "./tool-fields.ts";

const POLL_MS = 100;
/** How long procman may be away while it is waited for: its parts are back within seconds. Milliseconds. */
const AWAY_MS = 15_000;
/** The last lines of a run may be stored this long after its end. Milliseconds. */
const LINES_MS = 500;
const LINES = 10;

type PollOptions = {
  readonly connect: () => Promise<Client>;
  readonly seconds: number;
  readonly signal: AbortSignal;
};

/**
 * What `look` finds; undefined: nothing when the time was over.
 *
 * @throws the error of `look`; of procman's absence only if it lasts, or the time is over
 */
export async function poll<Found>(
  look: (client: Client) => Promise<Found | undefined>,
  { connect, seconds, signal }: PollOptions,
): Promise<Found | undefined> {
  const deadline = monotonicMs() + seconds * 1_000;
  let awaySince: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      const found = await look(await connect());
      if (found !== undefined) return found;
      awaySince = undefined;
    } catch (error) {
      if (!isAway(error)) throw error;
      awaySince ??= monotonicMs();
      if (monotonicMs() > Math.min(deadline, awaySince + AWAY_MS)) throw error;
    }
    if (monotonicMs() >= deadline) return undefined;
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Whether procman runs, and doesn't answer: one that was killed has come back, or never will, when a connection fails. */
export function isAway(error: unknown): boolean {
  return error instanceof ProcmanError && error.code === "service-down";
}

/** The last lines of each process or instance whose run has ended since. `since`: milliseconds since 1970. */
export async function lastLines(
  client: Client,
  record: ProcessRecord,
  since: number,
): Promise<readonly { readonly process: string; readonly lines: readonly string[] }[]> {
  const all = await Promise.all(
    membersOf(record).map(async ({ id }) => ({ process: id, lines: await linesOf(client, id, since) })),
  );
  return all.filter(({ lines }) => lines.length > 0);
}

async function linesOf(client: Client, id: string, since: number): Promise<readonly string[]> {
  for (const deadline = monotonicMs() + LINES_MS; ; await sleep(POLL_MS)) {
    const [last] = await client.incidents(id, 1);
    if (last === undefined || Date.parse(last.time) < since) return [];
    if (last.lines.length > 0 || monotonicMs() > deadline) return excerpt(last.lines).slice(-LINES - 2);
  }
}

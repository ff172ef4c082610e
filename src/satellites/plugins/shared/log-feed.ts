/** Ships the stored log in batches, and saves the position after each batch. */
import { openObject, string } from "../../../core/base/schema.ts";
import type { LogQuery } from "../../../core/contract/records.ts";
import type { PluginContext } from "../../../core/plugins/plugin.ts";
import { StateFile } from "../notify/state-file.ts";
import { batches, type LogBatch } from "./batches.ts";

const LIMITS = { entries: 500, bytes: 512 * 1_024, waitMs: 500 };
/** At the end, the feed is closed after this time without a batch. */
const QUIET_MS = 300;
/** At the end, the feed is closed after this time although lines keep coming. */
const MAX_END_MS = 1_200;

type FeedPosition = { readonly cursor: string };

export type LogFeed = {
  /** Ships the lines written so far, then ends the feed. */
  readonly close: () => Promise<void>;
};

/** `ship` resolves with true if the batch is done (shipped or given up), with false if it must be shipped again. */
export function logFeed(
  { control, folder }: Pick<PluginContext<unknown>, "control" | "folder">,
  query: Pick<LogQuery, "processes" | "severity" | "categories">,
  ship: (batch: LogBatch) => Promise<boolean>,
): LogFeed {
  const file = new StateFile<FeedPosition>(folder, "place");
  const stop = new AbortController();
  let ending: NodeJS.Timeout | undefined;
  const endSoon = (): void => {
    clearTimeout(ending);
    ending = setTimeout(() => stop.abort(), QUIET_MS);
  };
  const run = async (): Promise<void> => {
    const saved = file.read(openObject({ cursor: string() }));
    // At first from the start of procman: earlier lines than the plugin's start belong to it, too.
    const from = saved === undefined ? { from: Date.parse((await control.state()).started) } : saved;
    for await (const batch of batches(control.follow({ ...query, ...from }, stop.signal), LIMITS)) {
      if (!(await ship(batch))) return;
      file.write({ cursor: batch.cursor });
      if (ending !== undefined) endSoon();
    }
  };
  // An error ends the plugin's thread; the next thread begins at the saved position.
  const running = run();
  return {
    close: async () => {
      endSoon();
      const timeout = setTimeout(() => stop.abort(), MAX_END_MS);
      await running;
      clearTimeout(timeout);
    },
  };
}

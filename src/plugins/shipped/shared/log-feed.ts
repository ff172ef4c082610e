/** The stored log for somebody far away: from where it was, batch by batch, and the place is noted when a batch has arrived. */
import { openObject, string } from "../../../base/schema.ts";
import type { LogQuery } from "../../../contract/records.ts";
import type { PluginContext } from "../../plugin.ts";
import { StateFile } from "../notify/state-file.ts";
import { batches, type LogBatch } from "./batches.ts";

const BOUNDS = { entries: 500, bytes: 512 * 1_024, waitMs: 500 };
/** What was said just before the end comes within this time. Milliseconds. */
const LAST_MS = 300;
/** Where more and more is said. Milliseconds. */
const LONGEST_MS = 1_200;

type Note = { readonly cursor: string };

export type LogFeed = {
  /** Ends it, once what was said until now has been dealt with. */
  readonly close: () => Promise<void>;
};

/** `ship` resolves with true when a batch needn't be shipped again, with false when it could not be. */
export function logFeed(
  { control, folder }: Pick<PluginContext<unknown>, "control" | "folder">,
  query: Pick<LogQuery, "processes" | "severity" | "categories">,
  ship: (batch: LogBatch) => Promise<boolean>,
): LogFeed {
  const book = new StateFile<Note>(folder, "place");
  const stop = new AbortController();
  let quiet: NodeJS.Timeout | undefined;
  const settle = (): void => {
    clearTimeout(quiet);
    quiet = setTimeout(() => stop.abort(), LAST_MS);
  };
  const run = async (): Promise<void> => {
    const known = book.read(openObject({ cursor: string() }));
    // Those that were started before the plugin belong to it, too.
    const from = known === undefined ? { from: Date.parse((await control.state()).started) } : known;
    for await (const batch of batches(control.follow({ ...query, ...from }, stop.signal), BOUNDS)) {
      if (!(await ship(batch))) return;
      book.write({ cursor: batch.cursor });
      if (quiet !== undefined) settle();
    }
  };
  // What it throws ends the plugin's thread, and the next one begins where this one was.
  const running = run();
  return {
    close: async () => {
      settle();
      const late = setTimeout(() => stop.abort(), LONGEST_MS);
      await running;
      clearTimeout(late);
    },
  };
}

/** The history of a procman: of the running one, else from its state folder. */
import { EXIT, ProcmanError } from "../core/base/errors.ts";
import type { Control } from "../core/contract/control.ts";
import { connect } from "./connected.ts";
import { type TargetOptions, targetLocation } from "./target.ts";

export type HistoryView = Pick<Control, "history" | "historyEntry" | "diff">;

/**
 * Shows what is asked of the running procman. If none runs, shows it from the disk, and ends with the error that says so.
 *
 * @throws {ProcmanError} those of `connect` and of the history
 */
export async function showKept(target: TargetOptions, show: (history: HistoryView) => Promise<void>): Promise<void> {
  try {
    await show(await connect(target));
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.exitCode !== EXIT.noDaemon) throw error;
    // If the folder isn't readable (the error has a cause), neither is its history.
    if (target.host !== undefined || target.name !== undefined || error.cause !== undefined) throw error;
    const stored = await onDisk(targetLocation(target).stateDir);
    if (stored !== undefined) await show(stored);
    throw error;
  }
}

/** undefined: there is none. */
async function onDisk(stateDir: string): Promise<HistoryView | undefined> {
  const [{ HistoryStore }, { shownHistory }, { historyDetail, historyDiff }] = await Promise.all([
    import("../core/history/history-store.ts"),
    import("../core/history/shown-history.ts"),
    import("../core/history/history-reader.ts"),
  ]);
  const store = new HistoryStore(stateDir);
  if (store.numbers.length === 0) return undefined;
  return {
    history: async (limit) => shownHistory(store, limit),
    historyEntry: async (entry) => historyDetail(entry, store),
    diff: (from, to) => historyDiff(store, from, to),
  };
}

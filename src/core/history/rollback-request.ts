/** What is looked at before a rollback: which entry is meant, and whether the files may be replaced. */
import { basename } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { HISTORY_NAMES, type RollbackRecord } from "../contract/history-record.ts";
import { uncommittedText } from "../os/uncommitted.ts";
import { historyDiff } from "./history-reader.ts";
import type { HistoryStore } from "./history-store.ts";
import type { RestoredFile } from "./rollback-files.ts";
import { entryNamed, isEntryName, type SoundEntry, shownEntry } from "./shown-history.ts";

/** `to` absent: the configuration in force, if the files differ from it, else the one before it. @throws {ProcmanError} `history-unknown`, `history-damaged` */
export async function entryToRestore(to: string | undefined, store: HistoryStore): Promise<SoundEntry> {
  if (to !== undefined && !isEntryName(to))
    throw new ProcmanError(
      "history-unknown",
      `Cannot roll back to ${JSON.stringify(to.slice(0, 40))}: allowed: a number of the history, ${HISTORY_NAMES.join(", ")}, or with a running procman the id of a release`,
    );
  if (to !== undefined) return entryNamed(to, store);
  const { files } = await historyDiff(store, "active");
  return entryNamed(files.length > 0 ? "active" : "previous", store);
}

type RestoreTarget = { readonly found: SoundEntry; readonly main: string; readonly force: boolean };

/**
 * What is worth knowing of these changes.
 *
 * @throws {ProcmanError} `rollback-refused`: without `force`, for an entry of another machine, and where a file that the
 * configuration includes has changes that are not committed
 */
export async function remarksOn(
  changes: readonly RestoredFile[],
  { found, main, force }: RestoreTarget,
): Promise<readonly string[]> {
  const { number, isForeign, host } = shownEntry(found, false);
  const refuse = (why: string): never => {
    throw new ProcmanError("rollback-refused", `Cannot roll back to ${number}: ${why}`);
  };
  if (isForeign === true && !force)
    refuse(`it was applied on another machine (${host}); look at "procman history show ${number}", then add --force`);
  const remarks: string[] = [];
  for (const { file, copy } of changes) {
    const problem = copy === undefined ? undefined : await uncommittedText(file);
    if (problem === undefined) continue;
    if (file !== main && !force)
      refuse(`${file}, which the configuration includes, ${problem}; add --force to replace it anyway`);
    remarks.push(`${basename(file)} ${problem}; its text of before stays in ${copy}`);
  }
  return remarks;
}

export function shownChanges(changes: readonly RestoredFile[]): RollbackRecord["files"] {
  return changes.map(({ file, before, after, copy }) => ({
    file,
    change: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    ...(copy !== undefined && { copy }),
  }));
}

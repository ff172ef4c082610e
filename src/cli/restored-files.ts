/** A rollback while no procman runs: only the files are put back. */
import { ProcmanError } from "../core/base/errors.ts";
import { check, load } from "../core/config/load.ts";
import type { RollbackRecord } from "../core/contract/history-record.ts";
import { historyDiff } from "../core/history/history-reader.ts";
import { HistoryStore } from "../core/history/history-store.ts";
import { RollbackFiles } from "../core/history/rollback-files.ts";
import { entryToRestore, remarksOn, shownChanges } from "../core/history/rollback-request.ts";
import { activeIn, releaseIn, type SoundEntry } from "../core/history/shown-history.ts";
import { startFolder } from "../core/os/start-folder.ts";
import { type TargetOptions, targetLocation } from "./target.ts";

/** The entry whose texts are put back; those of a release alone would be half of what is asked for. @throws {ProcmanError} `rollback-refused` */
async function entryWithoutRelease(entry: string | undefined, store: HistoryStore): Promise<SoundEntry> {
  const refuse = (what: string): never => {
    throw new ProcmanError(
      "rollback-refused",
      `Cannot roll back: ${what}, and only a running procman puts a release in use; start it with "procman run", and repeat this`,
    );
  };
  if (entry === undefined && activeIn(store)?.entry.release !== undefined)
    if ((await historyDiff(store, "active")).files.length === 0) refuse("the last change was a deployment");
  const found = await entryToRestore(entry, store);
  const { release } = found.entry;
  if (release !== undefined && release !== releaseIn(store)) refuse(`entry ${found.number} is of a deployment`);
  return found;
}

/** @throws {ProcmanError} `history-unknown`, `history-damaged`, `rollback-refused`; `configuration-invalid`: this version doesn't take the text, and the files are as before */
export async function restoreFiles(
  entry: string | undefined,
  target: TargetOptions,
  { force, dryRun }: { readonly force: boolean; readonly dryRun: boolean },
): Promise<Pick<RollbackRecord, "rollbackTo" | "files" | "remarks">> {
  const { stateDir, file: main } = targetLocation(target);
  if (main === undefined) throw new ProcmanError("configuration-missing", "Cannot roll back: no file is known");
  const store = new HistoryStore(stateDir);
  const found = await entryWithoutRelease(entry, store);
  const files = new RollbackFiles(store, stateDir);
  const changes = files.planned(found, main);
  const remarks = await remarksOn(changes, { found, main, force });
  const restored = { rollbackTo: found.number, files: shownChanges(changes), remarks };
  const { profile } = found.entry;
  if (dryRun) {
    const [text, ...included] = files.textsAt(found, main);
    check(text, { included, ...(profile !== undefined && { profile }) });
    return restored;
  }
  files.begin({ number: found.number, main, files: changes });
  try {
    load(main, startFolder(main), profile);
  } catch (error) {
    files.takeBack();
    throw error;
  }
  files.end();
  return restored;
}

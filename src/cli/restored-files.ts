/** A rollback while no procman runs: only the files are put back. */
import { ProcmanError } from "../core/base/errors.ts";
import { check, load } from "../core/config/load.ts";
import type { RollbackRecord } from "../core/contract/history-record.ts";
import { HistoryStore } from "../core/history/history-store.ts";
import { RollbackFiles } from "../core/history/rollback-files.ts";
import { entryToRestore, remarksOn, shownChanges } from "../core/history/rollback-request.ts";
import { startFolder } from "../core/os/start-folder.ts";
import { type TargetOptions, targetLocation } from "./target.ts";

/** @throws {ProcmanError} `history-unknown`, `history-damaged`, `rollback-refused`; `configuration-invalid`: this version doesn't take the text, and the files are as before */
export async function restoreFiles(
  entry: string | undefined,
  target: TargetOptions,
  { force, dryRun }: { readonly force: boolean; readonly dryRun: boolean },
): Promise<Pick<RollbackRecord, "rollbackTo" | "files" | "remarks">> {
  const { stateDir, file: main } = targetLocation(target);
  if (main === undefined) throw new ProcmanError("configuration-missing", "Cannot roll back: no file is known");
  const store = new HistoryStore(stateDir);
  const found = await entryToRestore(entry, store);
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

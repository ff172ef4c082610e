/** What is asked of the history: an entry with its texts, and how two of them differ. */
import { dirname } from "node:path";
import { ProcmanError, reasonOf } from "../base/errors.ts";
import { type ConfigText, displayPath, readFound } from "../config/config-file.ts";
import { linesWithoutSecrets } from "../config/hidden-values.ts";
import { filesOf, hasValidSyntax } from "../config/load.ts";
import type { HistoryDetail, HistoryDiff } from "../contract/history-record.ts";
import type { KeptHistory, KeptText } from "./history-store.ts";
import { activeIn, entryNamed, type SoundEntry, shownEntry } from "./shown-history.ts";

/** @throws {ProcmanError} `history-unknown`, `history-damaged` */
export function historyDetail(name: string, store: KeptHistory): HistoryDetail {
  const found = entryNamed(name, store);
  const files = found.entry.files.map(({ file, hash }) => {
    try {
      return { file, text: linesWithoutSecrets(store.textOf(hash)).join("\n") };
    } catch (error) {
      return { file, problem: reasonOf(error) };
    }
  });
  return { ...shownEntry(found, found.number === activeIn(store)?.number), files };
}

/** `to` absent: the files as they are now. @throws {ProcmanError} `history-unknown`, `history-damaged`, `configuration-missing` */
export async function historyDiff(store: KeptHistory, from: string, to?: string): Promise<HistoryDiff> {
  const { diffOf } = await import("./text-diff.ts");
  const old = entryNamed(from, store);
  const now = to === undefined ? undefined : entryNamed(to, store);
  const texts = now === undefined ? presentTexts(old) : textsOf(now, store);
  return {
    from: String(old.number),
    to: now === undefined ? "file" : String(now.number),
    files: diffOf(textsOf(old, store), texts),
  };
}

/** @throws {ProcmanError} `history-damaged` */
export function textsOf({ number, entry }: SoundEntry, store: KeptHistory): readonly KeptText[] {
  return entry.files.map(({ file, hash }) => {
    try {
      return { file, text: store.textOf(hash) };
    } catch (error) {
      throw new ProcmanError(
        "history-damaged",
        `Cannot read ${file} of entry ${number} of the history: ${reasonOf(error)}`,
        { cause: error },
      );
    }
  });
}

/** The files of an entry as they are now. If the main one can't be parsed, nothing says what it includes: then those that it had. */
function presentTexts({ entry }: SoundEntry): readonly ConfigText[] {
  const [file = "", ...included] = entry.files.map((each) => each.file);
  const main = readFound(file, file);
  if (main !== undefined && hasValidSyntax(main)) return filesOf(main);
  return [main ?? [], ...included.map((each) => readFound(each, displayPath(each, dirname(file))) ?? [])].flat();
}

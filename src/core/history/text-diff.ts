/** How two texts of a configuration differ, line by line, without what may be secret. */
import { structuredPatch } from "diff";
import { linesWithoutSecrets } from "../config/hidden-values.ts";
import type { HistoryDiff } from "../contract/history-record.ts";
import type { KeptText } from "./history-store.ts";

type FileDiff = HistoryDiff["files"][number];
type Hunk = FileDiff["hunks"][number];

/** Lines around a change. */
const CONTEXT = 3;
/** Texts with more changed lines than this are shown as replaced altogether: the search takes the square of it. */
const MAX_CHANGES = 5_000;

/** The files that differ; the configuration file first. */
export function diffOf(from: readonly KeptText[], to: readonly KeptText[]): readonly FileDiff[] {
  const before = new Map(from.map(({ file, text }) => [file, text]));
  const now = new Map(to.map(({ file, text }) => [file, text]));
  return [...new Set([...before.keys(), ...now.keys()])].flatMap((file) => {
    const [old, text] = [before.get(file), now.get(file)];
    if (old === text) return [];
    const change = old === undefined ? "added" : text === undefined ? "removed" : "changed";
    return [{ file, change, hunks: hunksOf(old ?? "", text ?? "") }];
  });
}

/** The lines that differ are found in the texts as they are, so that a changed secret shows as `***` in both. */
function hunksOf(from: string, to: string): readonly Hunk[] {
  const patch = structuredPatch("", "", from, to, "", "", { context: CONTEXT, maxEditLength: MAX_CHANGES });
  const [old, now] = [shownLines(from), shownLines(to)];
  if (patch === undefined)
    return [{ fromLine: 1, toLine: 1, lines: [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)] }];
  return patch.hunks.map(({ oldStart, newStart, lines }) => {
    let [at, nowAt] = [oldStart - 1, newStart - 1];
    const shown = lines.flatMap((line) => {
      const [kind] = line;
      // "\ No newline at end of file"
      if (kind === "\\") return [];
      const text = kind === "-" ? old[at] : now[nowAt];
      if (kind !== "+") at += 1;
      if (kind !== "-") nowAt += 1;
      return [`${kind}${text ?? ""}`];
    });
    return { fromLine: oldStart, toLine: newStart, lines: shown };
  });
}

function shownLines(text: string): readonly string[] {
  const lines = linesWithoutSecrets(text);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

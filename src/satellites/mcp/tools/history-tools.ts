/** `history`, `diff` and `rollback`. */
import { compact } from "../../../core/base/compact.ts";
import { boolean, integer, list, object, openObject, optional, string, time } from "../../../core/base/schema.ts";
import type { HistoryDiff, HistoryEntry } from "../../../core/contract/history-record.ts";
import { changeText, hunkPlace, requesterText, resultText } from "../../../core/contract/history-words.ts";
import { READS, type Tool, tool } from "../tool.ts";
import { timeoutSeconds } from "../tool-fields.ts";
import { cutTo, harmless, UNTRUSTED } from "../untrusted.ts";
import { CHANGES, changesIn, DEFAULT_SECONDS, linesOf, reloadAnswer } from "./reload-tools.ts";

const SHOWN = 20;
const MAX_SHOWN = 100;
/** Budget of a diff. Bytes. */
const BUDGET = 16_000;

const ENTRY = string({
  minLength: 1,
  maxLength: 15,
  description: "Number of an entry, active (in force) or previous (the one before it).",
});

const historyTool = tool({
  name: "history",
  title: "Which configurations were applied?",
  description:
    "The configurations that were applied, newest first: when, by whom, what each changed, and what became of it. Begin here if something broke and no program was changed.",
  input: object({ limit: optional(integer({ minimum: 1, maximum: MAX_SHOWN, default: SHOWN })) }),
  output: {
    entries: list(
      openObject({
        number: integer(),
        time: time(),
        result: string({ description: "active (in force), applied, rolled-back, running, interrupted or damaged." }),
        by: string({ description: "Who or what asked for it." }),
        changed: string(),
        profile: optional(string()),
      }),
    ),
  },
  annotations: READS,
  needs: ["file"],
  call: async ({ limit = SHOWN }, { connect }) => {
    const entries = (await (await connect()).history(limit)).map(shownEntry);
    return {
      data: { entries },
      text: entries
        .map((each) => `${each.number}: ${each.time}, ${each.result}, ${each.by}: ${each.changed}`)
        .join("\n"),
      next: 'Call "diff" with the numbers of two entries to see how their texts differ.',
    };
  },
});

function shownEntry(entry: HistoryEntry) {
  const { number, time: at, profile } = entry;
  return {
    ...{ number, time: at, result: resultText(entry) },
    ...{ by: harmless(requesterText(entry)), changed: harmless(changeText(entry)) },
    ...(profile !== undefined && { profile }),
  };
}

const diffTool = tool({
  name: "diff",
  title: "How do two configurations differ?",
  description:
    "How the configuration file, and those that it includes, differ from one that was applied, or how two of these differ. What may be secret is ***.",
  input: object({ from: optional(ENTRY), to: optional(ENTRY) }),
  output: {
    from: string(),
    to: string({ description: "file: the present text." }),
    files: list(
      openObject({
        file: string(),
        change: string({ description: "changed, added, removed." }),
        lines: list(string()),
      }),
    ),
    cut: boolean({ description: "There is more than fits into the answer." }),
  },
  annotations: READS,
  needs: ["file"],
  call: async ({ from = "active", to }, { connectForTexts }) => {
    const found = await (await connectForTexts()).diff(from, to);
    const whole = textOf(found);
    const files = found.files.map(({ file, change, hunks }) => ({ file, change, lines: hunks.flatMap(linesIn) }));
    const isCut = Buffer.byteLength(whole) > BUDGET;
    return {
      data: { from: found.from, to: found.to, files: isCut ? [] : files, cut: isCut },
      text: whole === "" ? "They have the same text." : cutTo(whole, BUDGET),
      next: 'Correct the file, then "validate", "plan" and "reload"; or call "rollback" with "dryRun" first.',
    };
  },
});

function linesIn(hunk: HistoryDiff["files"][number]["hunks"][number]): readonly string[] {
  return [hunkPlace(hunk), ...hunk.lines.map(harmless)];
}

function textOf({ files }: HistoryDiff): string {
  return files
    .flatMap(({ file, change, hunks }) => [`${harmless(file)}: ${change}`, ...hunks.flatMap(linesIn)])
    .join("\n");
}

const rollbackTool = tool({
  name: "rollback",
  title: "Go back to an earlier configuration",
  description: `Puts the text of an earlier configuration back into the file and those that it includes, and applies it as "reload" does: all or nothing. The present text stays beside each file. Without an entry: the configuration in force, if the file differs from it, else the release before the present one, if a deployment was the last change, else the configuration before it. ${UNTRUSTED}`,
  input: object({
    entry: optional(ENTRY),
    dryRun: optional(boolean({ description: "Change nothing, and answer with what it would do." })),
    timeoutSeconds: optional(timeoutSeconds(DEFAULT_SECONDS)),
  }),
  output: {
    ...CHANGES,
    rollbackTo: optional(integer({ description: "Number of the entry." })),
    release: optional(string({ description: "Id of the release that is in use again." })),
    files: list(openObject({ file: string(), change: string(), copy: optional(string()) })),
    remarks: list(string()),
    reached: boolean({ description: "All is in the planned state." }),
    lastLines: list(string(), { description: "Untrusted output of the programs that have failed." }),
  },
  annotations: { ...READS, readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  needs: ["reload", "file"],
  call: async ({ entry, dryRun = false, timeoutSeconds: seconds = DEFAULT_SECONDS }, context) => {
    const since = Date.now();
    const waiting = dryRun ? { dryRun } : { waitSeconds: seconds, signal: context.signal };
    const record = await (await context.connectForTexts()).rollback(entry, waiting);
    const { rollbackTo, release, files } = record;
    const remarks = record.remarks.map(harmless);
    const fields = compact({ rollbackTo, release, files, remarks });
    const what = release === undefined ? `Entry ${rollbackTo}.` : `Release ${release}.`;
    if (dryRun)
      return {
        data: { ...changesIn(record), ...fields, reached: false, lastLines: [] },
        text: [`${what} Nothing was changed.`, ...linesOf(record), ...remarks].join("\n"),
        next: "Show this to the user if it stops or restarts something that serves. Then call it without dryRun.",
      };
    const answer = await reloadAnswer(record, since, context);
    return {
      ...answer,
      data: { ...answer.data, ...fields },
      text: [...(release === undefined ? [] : [what]), answer.text, ...remarks].join("\n"),
    };
  },
});

export const historyTools: readonly Tool[] = [historyTool, diffTool, rollbackTool];

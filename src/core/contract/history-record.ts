/** Records of the configurations that were applied. */
import { enumeration, integer, list, literal, openObject, optional, string, time } from "../base/schema.ts";
import { CHANGE, PLAN_PARTS, SETTING } from "./plan.ts";
import { ROLLOUT_MARK } from "./rollout-mark.ts";

export type { HistoryDetail, HistoryDiff, HistoryEntry, RollbackRecord } from "../../../generated/records.ts";

const HISTORY_RESULTS = ["running", "applied", "rolled-back", "interrupted", "damaged"] as const;

/** In place of a number: the configuration that is in force, and the one before it. */
export const HISTORY_NAMES = ["active", "previous"] as const;

const ENTRY_PARTS = {
  number: integer({ description: "From 1; numbers aren't used again." }),
  time: time({ description: "When it was applied." }),
  result: enumeration(HISTORY_RESULTS, {
    description:
      "`running`: a rollout is under way. `rolled-back`: procman took it back by itself; `problem` says why. `interrupted`: procman was killed meanwhile, and has applied another one since. `damaged`: it can't be read.",
  }),
  problem: optional(string({ description: "Why it was taken back, or is damaged." })),
  active: optional(literal(true, { description: "It is in force." })),
  why: string({ description: "Who or what asked for it, such as `asked by cli`." }),
  consumer: optional(string({ description: "The consumer of the token; absent: nobody asked." })),
  user: optional(string({ description: "The Unix user behind it, if procman runs as another one." })),
  rollout: optional(ROLLOUT_MARK),
  configFile: string({ description: "Absolute path." }),
  profile: optional(string({ description: "Name of the profile that was merged; absent: none." })),
  processes: optional(
    list(CHANGE, {
      description: "The plan that was carried out: what changed. Absent: procman was started with it.",
    }),
  ),
  settings: optional(list(SETTING, { description: "Changes outside of `processes`." })),
  rollbackTo: optional(integer({ description: "Number of the entry whose text was put back." })),
  release: optional(string({ description: "Id of the release that a deployment has put in use, or has taken back." })),
  releaseBefore: optional(string({ description: "Id of the release before it." })),
  version: string({ description: "Of procman." }),
  host: string({ description: "Name of the machine." }),
  isForeign: optional(literal(true, { description: "It was applied on another machine." })),
} as const;

export const HISTORY_ENTRY = openObject(ENTRY_PARTS, { description: "A configuration that was applied." });

export const HISTORY_DETAIL = openObject(
  {
    ...ENTRY_PARTS,
    files: list(
      openObject({
        file: string({ description: "Absolute path." }),
        text: optional(string({ description: "Its text, with `***` in place of what may be secret." })),
        problem: optional(string({ description: "Why the text can't be read." })),
      }),
      { description: "The configuration file, and those that it includes." },
    ),
  },
  { description: "A configuration that was applied, with its texts." },
);

export const ROLLBACK = openObject(
  {
    ...PLAN_PARTS,
    rollbackTo: optional(integer({ description: "Number of the entry; absent: the release was named." })),
    release: optional(string({ description: "Id of the release that is in use again; the files stay as they are." })),
    files: list(
      openObject({
        file: string({ description: "Absolute path." }),
        change: enumeration(["changed", "added", "removed"]),
        copy: optional(string({ description: "Where its text of before is." })),
      }),
      { description: "The files that have another text now." },
    ),
    remarks: list(string(), { description: "What to know, such as changes that are not committed." }),
  },
  { description: "What a rollback has done: the plan of its reload, and the files." },
);

export const HISTORY_DIFF = openObject(
  {
    from: string({ description: "What is compared: a number." }),
    to: string({ description: "With what: a number, or `file`: the present text." }),
    files: list(
      openObject({
        file: string({ description: "Absolute path." }),
        change: enumeration(["changed", "added", "removed"]),
        hunks: list(
          openObject({
            fromLine: integer({ description: "Its first line in the one text, from 1." }),
            toLine: integer({ description: "Its first line in the other." }),
            lines: list(string(), {
              description: "Each begins with a space, `-` or `+`; `***` stands in place of what may be secret.",
            }),
          }),
        ),
      }),
      { description: "Those that differ." },
    ),
  },
  { description: "How two configurations differ." },
);

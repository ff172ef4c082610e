/** Entries of the history in words, for the command and the dashboard. */
import type { HistoryDiff, HistoryEntry } from "./history-record.ts";
import { isChange, type PlannedAction } from "./plan.ts";
import { rolloutText } from "./rollout-words.ts";

/** Processes that are named. */
const NAMED = 4;

/** `cli (alice)`, `cli, rollout 20261128-031500-8f3a of ann@laptop`; without a caller what asked for it: `SIGHUP`. */
export function requesterText({ consumer, user, rollout, why, result }: HistoryEntry): string {
  const step = rollout === undefined ? "" : `, ${rolloutText(rollout)}`;
  if (consumer !== undefined) return `${consumer}${user === undefined ? "" : ` (${user})`}${step}`;
  return result === "damaged" ? "" : why;
}

export function resultText({ result, active }: HistoryEntry): string {
  return active === true ? "active" : result;
}

const VERBS: Readonly<Record<PlannedAction, string>> = {
  start: "started",
  stop: "stopped",
  restart: "restarted",
  "in-place": "changed",
  none: "changed",
};

/** `web, api restarted; mail started`; why, if it was taken back or can't be read. */
export function changeText(entry: HistoryEntry): string {
  const { processes, settings = [], problem, rollbackTo, release, releaseBefore } = entry;
  const back = rollbackTo === undefined ? [] : [`back to ${rollbackTo}`];
  if (release !== undefined)
    back.push(`release ${release}${releaseBefore === undefined ? "" : `, before it ${releaseBefore}`}`);
  if (problem !== undefined) return [...back, problem].join(": ");
  if (processes === undefined) return back.join("");
  const changed = processes.filter(isChange);
  const verbs = [...new Set(changed.map(({ action }) => VERBS[action]))];
  const parts = [
    ...back,
    ...verbs.map((verb) => `${namesText(changed.filter(({ action }) => VERBS[action] === verb))} ${verb}`),
    ...(settings.length === 0 ? [] : [`${settings.map(({ field }) => field).join(", ")} changed`]),
  ];
  return parts.join("; ") || "no process";
}

/** As `diff -u` writes it, so that `patch` can read it. @example "@@ -3,7 +3,8 @@" */
export function hunkPlace({ fromLine, toLine, lines }: HistoryDiff["files"][number]["hunks"][number]): string {
  const range = (start: number, other: string): string => {
    const count = lines.filter((line) => !line.startsWith(other)).length;
    return count === 0 ? `${start - 1},0` : `${start},${count}`;
  };
  return `@@ -${range(fromLine, "+")} +${range(toLine, "-")} @@`;
}

function namesText(changes: readonly { readonly process: string }[]): string {
  const named = changes.slice(0, NAMED).map(({ process }) => process);
  const more = changes.length - named.length;
  return more === 0 ? named.join(", ") : `${named.join(", ")} and ${more} more`;
}

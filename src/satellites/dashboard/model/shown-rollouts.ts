/** The rollouts over several hosts that the page of hosts shows, from the record of each host. Pure. */
import { age } from "../../../core/base/quantity.ts";
import type { HostLink, HostSummary } from "../../../core/contract/host-links.ts";
import type { RolloutPhase, RolloutRecord } from "../../../core/contract/rollout-record.ts";
import { actionText, ROLLED_DOING } from "../../../core/contract/rollout-words.ts";
import type { Tone } from "./record-lists.ts";

/** So long the last one stays. Milliseconds. */
const KEPT_MS = 86_400_000;

type Words = { readonly text: string; readonly tone: Tone };

/** A host of it. `link`: absent if the dashboard doesn't show that host. */
type RolledPart = Words & { readonly host: string; readonly link?: HostLink; readonly detail?: string };

export type ShownRollout = Words & {
  readonly id: string;
  readonly what: string;
  readonly by: string;
  readonly time: string;
  readonly isOver: boolean;
  readonly progress: string;
  readonly parts: readonly RolledPart[];
};

type Summaries = ReadonlyMap<string, HostSummary>;

const PHASES: Readonly<Record<Exclude<RolloutPhase, "running">, Words>> = {
  waiting: { text: "waiting", tone: "quiet" },
  draining: { text: "draining", tone: "busy" },
  undraining: { text: "undraining", tone: "busy" },
  readying: { text: "undraining", tone: "busy" },
  done: { text: "done", tone: "good" },
  failed: { text: "failed", tone: "bad" },
  "back-draining": { text: "draining, to go back", tone: "busy" },
  "back-running": { text: "going back", tone: "busy" },
  "back-readying": { text: "undraining", tone: "busy" },
  "back-failed": { text: "the way back failed", tone: "bad" },
  "taken-back": { text: "went back", tone: "quiet" },
};

/** In these nothing is done. */
const STILL: readonly RolloutPhase[] = ["waiting", "done", "failed", "back-failed", "taken-back"];

/** All that are under way, else the last one. `now`: milliseconds since 1970. */
export function shownRollouts(links: readonly HostLink[], summaries: Summaries, now: number): readonly ShownRollout[] {
  const all = new Map<string, RolloutRecord[]>();
  for (const { rollout } of summaries.values())
    if (rollout !== undefined) all.set(rollout.id, [...(all.get(rollout.id) ?? []), rollout]);
  const shown = [...all.values()].map((records) => shownOf(records as [RolloutRecord], links, summaries, now));
  const ongoing = shown.filter(({ isOver }) => !isOver);
  const last = shown.filter(({ id }) => newestEnd(all.get(id) ?? []) > now - KEPT_MS).sort(byTime)[0];
  return ongoing.length > 0 || last === undefined ? ongoing.sort(byTime) : [last];
}

function byTime(one: ShownRollout, other: ShownRollout): number {
  return one.time < other.time ? 1 : -1;
}

function newestEnd(records: readonly RolloutRecord[]): number {
  return Math.max(...records.map(({ ended = "" }) => Date.parse(ended)));
}

function shownOf(
  records: readonly [RolloutRecord, ...RolloutRecord[]],
  links: readonly HostLink[],
  summaries: Summaries,
  now: number,
): ShownRollout {
  const [{ id, action, hosts, consumer, by, batch }] = records;
  const time = records.map((record) => record.time).sort()[0] ?? "";
  const done = records.filter(({ phase }) => phase === "done").length;
  const count = hosts.length === 1 ? "1 host" : `${hosts.length} hosts`;
  return {
    id,
    what: `${actionText(action)} on ${count}`,
    by: by === undefined ? consumer : `${by} (${consumer})`,
    time,
    isOver: records.every(({ ended }) => ended !== undefined),
    progress: `${done} of ${hosts.length} done${batch < hosts.length ? `, ${batch} at a time` : ""}`,
    ...headOf(records),
    parts: hosts.map((host) => partOf(host, records, { links, summaries, now })),
  };
}

/** How it is as a whole. */
function headOf(records: readonly [RolloutRecord, ...RolloutRecord[]]): Words {
  const [{ hosts, maxFailed }] = records;
  const has = (...phases: readonly RolloutPhase[]): boolean => records.some(({ phase }) => phases.includes(phase));
  const failed = records.filter(({ phase }) => phase === "failed" || phase === "back-failed").length;
  if (records.every(({ ended }) => ended !== undefined)) {
    if (records.length === hosts.length && records.every(({ phase }) => phase === "done"))
      return { text: "done", tone: "good" };
    if (has("taken-back")) return { text: "taken back", tone: "bad" };
    return failed > 0 ? { text: "over, with failures", tone: "bad" } : { text: "over", tone: "quiet" };
  }
  if (records.some(({ back }) => back === true)) return { text: "going back", tone: "bad" };
  if (records.some(({ aborted }) => aborted === true)) return { text: "being aborted", tone: "busy" };
  const isMoving = has("draining", "undraining", "running", "readying");
  return failed > maxFailed && !isMoving ? { text: "stopped", tone: "bad" } : { text: "under way", tone: "busy" };
}

type PartContext = { readonly links: readonly HostLink[]; readonly summaries: Summaries; readonly now: number };

/** `host`: as the list of the client of the rollout calls it. */
function partOf(host: string, records: readonly RolloutRecord[], { links, summaries, now }: PartContext): RolledPart {
  const record = records.find((each) => each.host === host);
  const link = links.find((each) =>
    record === undefined ? each.host === host : summaries.get(each.host)?.rollout === record,
  );
  const summary = link && summaries.get(link.host);
  const place = { host, ...(link && { link }) };
  if (record !== undefined) return { ...place, ...wordsOf(record), ...detailOf(record, now) };
  if (link === undefined) return { ...place, text: "not in this dashboard", tone: "quiet" };
  if (summary === undefined) return { ...place, text: "…", tone: "quiet" };
  if (summary.problem !== undefined)
    return { ...place, text: "unreachable", tone: "bad", detail: firstLine(summary.problem) };
  return { ...place, text: "takes no part in it", tone: "quiet" };
}

function wordsOf({ phase, ended, action }: RolloutRecord): Words {
  if (phase === "running") return { text: ROLLED_DOING[action.kind], tone: "busy" };
  return phase === "waiting" && ended !== undefined ? { text: "not begun", tone: "quiet" } : PHASES[phase];
}

function detailOf(
  { problem, line, said, since, phase, ended }: RolloutRecord,
  now: number,
): { readonly detail?: string } {
  if (problem !== undefined) return { detail: firstLine(problem) };
  if (ended !== undefined || STILL.includes(phase)) return {};
  const lasts = age(Math.max(0, now - Date.parse(said ?? since)));
  return { detail: line === undefined ? lasts : `${firstLine(line)} (${lasts})` };
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

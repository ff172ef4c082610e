/** Candidates for completion: ids of running processes, and names in the configuration file. Errors are silent. */
import { type ApiPlace, connectTo } from "../client/connection/connect.ts";
import { livingHolder } from "../client/connection/endpoint-file.ts";
import { groupsIn } from "../client/connection/history.ts";
import { isObject } from "../core/base/schema-check.ts";
import { read } from "../core/config/config-file.ts";
import { type Document, parseDocument } from "../core/config/document.ts";
import { dataOf, load } from "../core/config/load.ts";
import { profileNames } from "../core/config/profile.ts";
import { selectorOf, selectorsIn } from "../core/contract/groups.ts";
import { HISTORY_NAMES, type HistoryEntry } from "../core/contract/history-record.ts";
import { changeText } from "../core/contract/history-words.ts";
import { startFolder } from "../core/os/start-folder.ts";
import { type TargetOptions, targetPlace } from "./target.ts";

export type Completion = { readonly value: string; readonly text?: string };

type CachedCandidates = Completion & { readonly isCluster: boolean; readonly groups: readonly string[] };

/** Limit of the time for one completion. Milliseconds. */
const TIMEOUT_MS = 1_000;

/** Ids and groups of the running procman; without one, those of the file. */
export async function ids(target: TargetOptions): Promise<readonly Completion[]> {
  const found = await known(target);
  return found.length === 0 ? [] : [...found, ...groupsOf(found), { value: "all", text: "all processes" }];
}

function groupsOf(found: readonly CachedCandidates[]): readonly Completion[] {
  return selectorsIn(found).map((value) => ({ value, text: "group" }));
}

export async function clusters(target: TargetOptions): Promise<readonly Completion[]> {
  return (await known(target)).filter(({ isCluster }) => isCluster);
}

/** Entries of the history, newest first. */
export async function entries(target: TargetOptions): Promise<readonly Completion[]> {
  return inTime(async () => {
    const place = targetPlace(target);
    const found = "url" in place ? await (await connectTo(place)).history() : await keptIn(place.stateDir);
    const numbers = found.map((entry) => ({ value: String(entry.number), text: `${entry.time} ${changeText(entry)}` }));
    return [...HISTORY_NAMES.map((value) => ({ value })), ...numbers];
  });
}

async function keptIn(stateDir: string): Promise<readonly HistoryEntry[]> {
  const [{ HistoryStore }, { shownHistory }] = await Promise.all([
    import("../core/history/history-store.ts"),
    import("../core/history/shown-history.ts"),
  ]);
  return shownHistory(new HistoryStore(stateDir));
}

async function known(target: TargetOptions): Promise<readonly CachedCandidates[]> {
  return inTime(async () => {
    const place = targetPlace(target);
    return "url" in place || livingHolder(place.stateDir) !== undefined ? running(place) : configured(target.config);
  });
}

async function inTime<T>(look: () => Promise<readonly T[]>): Promise<readonly T[]> {
  const timer = setTimeout(() => process.exit(), TIMEOUT_MS);
  try {
    return await look();
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

async function running(place: ApiPlace): Promise<readonly CachedCandidates[]> {
  const records = await (await connectTo(place)).processes();
  return records
    .flatMap((record) => [record, ...(record.instances ?? [])])
    .map(({ id, status, type, groups = [] }) => ({ value: id, text: status, isCluster: type === "cluster", groups }));
}

async function configured(config: string | undefined): Promise<readonly CachedCandidates[]> {
  const { processes } = load(config, startFolder(config));
  const clusters = new Set(processes.flatMap(({ cluster }) => cluster?.id ?? []));
  return [
    ...[...clusters].map((id) => ({ value: id, isCluster: true, groups: [] })),
    ...processes.map(({ id, groups = [] }) => ({ value: id, isCluster: false, groups })),
  ];
}

/** Names of the groups in the file. */
export function groupNamesInFile(config: string | undefined): readonly string[] {
  return groupsIn(dataIn(config));
}

/** `group:NAME` of each group in the file. */
export function groupsInFile(config: string | undefined): readonly Completion[] {
  return groupNamesInFile(config).map((name) => ({ value: selectorOf(name), text: "group" }));
}

/** Ids in the file, a cluster having one. The file may be invalid: removing a process can repair it. */
export function idsInFile(config: string | undefined): readonly Completion[] {
  const data = dataIn(config);
  const processes = isObject(data) && Array.isArray(data.processes) ? data.processes : [];
  return processes.flatMap((each: unknown) =>
    isObject(each) && typeof each.id === "string" ? [{ value: each.id }] : [],
  );
}

/** Ids of all processes and instances in the file; of a cluster the last, which is the longest (the first, if their number is not in the file). */
export function printedIdsInFile(config: string | undefined): readonly string[] {
  const data = dataIn(config);
  const processes = isObject(data) && Array.isArray(data.processes) ? data.processes : [];
  return processes.flatMap((each: unknown) => {
    if (!isObject(each) || typeof each.id !== "string") return [];
    if (!isObject(each.cluster)) return [each.id];
    const { instances } = each.cluster;
    return [`${each.id}-${typeof instances === "number" ? instances : 1}`];
  });
}

export function profilesInFile(config: string | undefined): readonly Completion[] {
  const document = documentOf(config);
  return document === undefined ? [] : profileNames(document).map((value) => ({ value }));
}

/** With the files that it includes. */
function dataIn(config: string | undefined): unknown {
  try {
    return dataOf(read(config, startFolder(config)));
  } catch {
    return undefined;
  }
}

function documentOf(config: string | undefined): Document | undefined {
  try {
    return parseDocument(read(config, startFolder(config)).text);
  } catch {
    // Without a readable file there are no names.
    return undefined;
  }
}

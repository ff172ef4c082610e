/** The history of a process, read from disk when procman doesn't answer: how its runs ended, and the run whose end is unknown. */
import { existsSync, readdirSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { fingerprint } from "../../core/base/hash.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { groupNamed, selectorOf, unknownProcess } from "../../core/contract/groups.ts";
import { endedRun, runPage, runUnderWay } from "../../core/contract/run-history.ts";
import { type Incident, isRunEnd, type RunPage, type RunSummary } from "../../core/contract/run-summary.ts";
import type { PastRuns, UnendedRun } from "../../core/contract/why.ts";
import { STARTS, startedPid } from "../../core/contract/words.ts";
import { IncidentLog, type IncidentLogEntry } from "../../core/incidents/incident-log.ts";
import { lastLines, readLogs } from "../../core/log-store/log-pages.ts";
import { processEnvironment } from "../../core/os/process-stat.ts";

const LINES = 10;
/** As many as a complete incident has. */
const INCIDENT_LINES = 50;
const CHARACTERS = 2_000;
/** Clocks differ; with more, lines of the previous procman's run of this number could be meant. Milliseconds. */
const EARLY_MS = 100;
/** The last lines may be read shortly after the exit. Milliseconds. */
const LATE_MS = 1_000;

/**
 * The processes that an id stands for: the process itself, the instances of a cluster, the members of a group, or
 * `all`.
 *
 * @param config content of the configuration file, valid or not
 * @throws {ProcmanError} `process-unknown` if neither the file nor the disk has it
 */
export function membersOf(config: unknown, stateDir: string, id: string): readonly string[] {
  const entries = processesIn(config);
  const configured = new Map(entries.map((entry) => [entry.id, entry.instances]));
  const group = groupNamed(id);
  const inGroup = entries.filter(({ groups }) => group !== undefined && groups.includes(group));
  if (id === "all" || inGroup.length > 0)
    return (id === "all" ? entries : inGroup).flatMap((each) => membersOf(config, stateDir, each.id));
  const recorded = recordedIn(stateDir);
  const count = configured.get(id);
  if (count !== undefined && count > 0) {
    const isInstance = (name: string): boolean => name.startsWith(`${id}-`) && /^\d+$/.test(name.slice(id.length + 1));
    const numbered = Array.from({ length: count }, (_, index) => `${id}-${index + 1}`);
    return [...new Set([...numbered, ...recorded.filter(isInstance)])].sort(
      (one, other) => numberOf(one) - numberOf(other),
    );
  }
  const known = [...configured].flatMap(([name, instances]) => [
    name,
    ...Array.from({ length: instances }, (_, index) => `${name}-${index + 1}`),
  ]);
  if (known.includes(id) || recorded.includes(id)) return [id];
  throw unknownProcess(id, [...known, ...recorded], groupsIn(config).map(selectorOf));
}

/** All recorded ends; `count`: how many of the latest get their lines. */
export async function historyOf(
  stateDir: string,
  id: string,
  count: number,
): Promise<PastRuns & Pick<RunPage, "runs">> {
  const log = new IncidentLog(stateDir, (problem) => void process.stderr.write(`procman: ${problem}\n`));
  const all = (await log.read(id)).toReversed();
  const incidents = await Promise.all(
    all.map((entry, index) => (index < count ? complete(stateDir, entry) : entry.incident)),
  );
  const unended = await unendedOf(stateDir, id, incidents);
  const { entries } = await readLogs(stateDir, { limit: 1 });
  const ended = all.flatMap(({ incident, slot }) => (isRunEnd(incident) ? [endedRun(incident, slot)] : []));
  const { runs } = runPage([...(unended ? [unendedRun(id, unended)] : []), ...ended], { limit: count });
  return { id, incidents, runs, ...(unended && { unended }), ...(entries[0] && { until: entries[0].time }) };
}

function unendedRun(id: string, { started, pid, run = 0, how }: UnendedRun): RunSummary {
  const known = { process: id, run, pid, started };
  return how === "runs" ? runUnderWay(known) : { ...known, reason: "has no recorded end" };
}

async function complete(stateDir: string, { open, incident }: IncidentLogEntry): Promise<Incident> {
  if (open === undefined) return incident;
  const { process: id, run, started, time } = incident;
  const from = Date.parse(started ?? time) - EARLY_MS;
  const before = Date.parse(time) + LATE_MS;
  return {
    ...incident,
    lines: await lastLines(stateDir, { process: id, run, from, before, count: INCIDENT_LINES, characters: CHARACTERS }),
  };
}

/** Its last start, if its end is unknown. */
async function unendedOf(
  stateDir: string,
  id: string,
  incidents: readonly Incident[],
): Promise<UnendedRun | undefined> {
  const query = { ...STARTS, processes: [id], limit: 1 };
  const [entry] = (await readLogs(stateDir, query)).entries;
  const pid = entry && startedPid(entry);
  if (entry === undefined || pid === undefined) return undefined;
  const from = Date.parse(entry.time) - LATE_MS;
  if (incidents.some((incident) => incident.pid === pid && Date.parse(incident.time) >= from)) return undefined;
  const { run } = entry;
  const lines = run === undefined ? [] : await lastLines(stateDir, { process: id, run, from, count: LINES });
  const booted = Math.round(Date.now() - uptime() * 1_000);
  const how = isStillThere(stateDir, id, pid) ? "runs" : booted > Date.parse(entry.time) ? "machine" : "procman";
  return {
    started: entry.time,
    pid,
    ...(run && { run }),
    lines,
    how,
    ...(how === "machine" && { booted: new Date(booted).toISOString() }),
  };
}

/** Whether the process still exists, by its marker variable. */
function isStillThere(stateDir: string, id: string, pid: number): boolean {
  const environment = processEnvironment(pid) ?? "";
  return environment.includes(`PROCMAN_PROCESS_ID=${id}`) && environment.includes(`@${fingerprint(stateDir)}`);
}

/** Names of the groups in the content of a configuration file, valid or not. */
export function groupsIn(config: unknown): readonly string[] {
  return [...new Set(processesIn(config).flatMap(({ groups }) => groups))];
}

/** `instances`: 0 for a process that is not a cluster. */
type FileEntry = { readonly id: string; readonly instances: number; readonly groups: readonly string[] };

/** The processes of the file. For "max", only instances on disk are known. */
function processesIn(config: unknown): readonly FileEntry[] {
  const processes = isObject(config) && Array.isArray(config.processes) ? config.processes : [];
  return processes.flatMap((each: unknown) => {
    if (!isObject(each) || typeof each.id !== "string") return [];
    const instances = isObject(each.cluster) ? each.cluster.instances : 0;
    const groups = [each.groups ?? []].flat().filter((group) => typeof group === "string");
    return [{ id: each.id, instances: typeof instances === "number" ? instances : 1, groups }];
  });
}

/** Ids of the processes with incidents. */
function recordedIn(stateDir: string): readonly string[] {
  const folder = join(stateDir, "incidents");
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -".jsonl".length)] : []));
}

function numberOf(instance: string): number {
  return Number(/(?<!\d)\d+$/.exec(instance)?.[0]);
}

/** What a procman that doesn't answer has left on disk about a process: how its runs ended, and the run of which no end is there. */
import { existsSync, readdirSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { fingerprint } from "../base/fingerprint.ts";
import { isObject } from "../base/shape.ts";
import { didYouMean } from "../base/suggest.ts";
import type { Incident, LogEntry } from "../contract/records.ts";
import type { Past, Unended } from "../contract/why.ts";
import { processEnvironment } from "../os/process-stat.ts";
import { lastLines, readLogs } from "../store/query.ts";
import { type Entry, IncidentBook } from "../telemetry/incident-book.ts";

const LINES = 10;
/** As of an incident that is complete. */
const INCIDENT_LINES = 50;
const CHARACTERS = 2_000;
/** A line that was read a moment after the end. Milliseconds. */
const LATE_MS = 1_000;
const STARTED = /^started \(pid (\d+)\)/;

/**
 * The processes that an id stands for: itself, the instances of a cluster, or `all`.
 *
 * @param config data of the configuration file, valid or not
 * @throws {ProcmanError} `process-unknown`: neither the file nor the disk has it
 */
export function membersOf(config: unknown, stateDir: string, id: string): readonly string[] {
  const configured = processesIn(config);
  if (id === "all") return [...configured.keys()].flatMap((each) => membersOf(config, stateDir, each));
  const kept = keptIn(stateDir);
  const count = configured.get(id);
  if (count !== undefined && count > 0) {
    const isInstance = (name: string): boolean => name.startsWith(`${id}-`) && /^\d+$/.test(name.slice(id.length + 1));
    const numbered = Array.from({ length: count }, (_, index) => `${id}-${index + 1}`);
    return [...new Set([...numbered, ...kept.filter(isInstance)])].sort((one, other) => numberOf(one) - numberOf(other));
  }
  const known = [...configured].flatMap(([name, instances]) => [
    name,
    ...Array.from({ length: instances }, (_, index) => `${name}-${index + 1}`),
  ]);
  if (known.includes(id) || kept.includes(id)) return [id];
  throw new ProcmanError("process-unknown", `Cannot find process "${id}": there is none of this id.${didYouMean(id, [...known, ...kept])}`);
}

/** `count`: so many of its last ends. */
export async function pastOf(stateDir: string, id: string, count: number): Promise<Past> {
  const book = new IncidentBook(stateDir, (problem) => void process.stderr.write(`procman: ${problem}\n`));
  const latest = (await book.read(id)).slice(-count).reverse();
  const incidents = await Promise.all(latest.map((entry) => complete(stateDir, entry)));
  const unended = await unendedOf(stateDir, id, incidents);
  const { entries } = await readLogs(stateDir, { limit: 1 });
  return { id, incidents, ...(unended && { unended }), ...(entries[0] && { until: entries[0].time }) };
}

async function complete(stateDir: string, { open, incident }: Entry): Promise<Incident> {
  if (open === undefined) return incident;
  const { process: id, run, started, time } = incident;
  const [from, before] = [Date.parse(started ?? time) - LATE_MS, Date.parse(time) + LATE_MS];
  return {
    ...incident,
    lines: await lastLines(stateDir, { process: id, run, from, before, count: INCIDENT_LINES, characters: CHARACTERS }),
  };
}

/** Its last start, if none of the ends is that of it. */
async function unendedOf(stateDir: string, id: string, incidents: readonly Incident[]): Promise<Unended | undefined> {
  const query = { processes: [id], categories: ["lifecycle"], search: "started (pid", limit: 1 } as const;
  const [entry] = (await readLogs(stateDir, query)).entries;
  const pid = Number(STARTED.exec(entry?.text ?? "")?.[1]);
  if (entry === undefined || Number.isNaN(pid)) return undefined;
  const from = Date.parse(entry.time) - LATE_MS;
  if (incidents.some((incident) => incident.pid === pid && Date.parse(incident.time) >= from)) return undefined;
  const output = { processes: [id], categories: ["stdout", "stderr"], from, limit: LINES } as const;
  const { entries: latest } = await readLogs(stateDir, output);
  // The run before may have had its last words a moment ago.
  const lines: readonly LogEntry[] = latest.filter(({ run }) => run === latest[0]?.run).reverse();
  const booted = Math.round(Date.now() - uptime() * 1_000);
  const how = isStillThere(stateDir, id, pid) ? "runs" : booted > Date.parse(entry.time) ? "machine" : "procman";
  return { started: entry.time, pid, lines, how, ...(how === "machine" && { booted: new Date(booted).toISOString() }) };
}

/** It carries the mark of this procman. */
function isStillThere(stateDir: string, id: string, pid: number): boolean {
  const environment = processEnvironment(pid) ?? "";
  return environment.includes(`PROCMAN_PROCESS_ID=${id}`) && environment.includes(`@${fingerprint(stateDir)}`);
}

/** Numbers of instances by id; 0: no cluster. Of "max" those are known that are on disk. */
function processesIn(config: unknown): ReadonlyMap<string, number> {
  const processes = isObject(config) && Array.isArray(config.processes) ? config.processes : [];
  return new Map(
    processes.flatMap((each: unknown) => {
      if (!isObject(each) || typeof each.id !== "string") return [];
      const instances = isObject(each.cluster) ? each.cluster.instances : 0;
      return [[each.id, typeof instances === "number" ? instances : 1] as const];
    }),
  );
}

/** Ids of whoever has incidents. */
function keptIn(stateDir: string): readonly string[] {
  const folder = join(stateDir, "incidents");
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -".jsonl".length)] : []));
}

function numberOf(instance: string): number {
  return Number(/\d+$/.exec(instance)?.[0]);
}

/** Records each end of a run with lines and metrics from before it. Decisions are sent first; until the incident is written, a note at the keeper holds it. */
import type { RequestRecord } from "../../contract/causes.ts";
import type { Caller } from "../../contract/control.ts";
import type { LogEntry } from "../../contract/records.ts";
import { endedRun } from "../../contract/run-history.ts";
import { type Incident, isRunEnd, type RunSummary } from "../../contract/run-summary.ts";
import { type AdmittedIncident, IncidentLimit } from "../../incidents/incident-limit.ts";
import { IncidentLog, type IncidentLogEntry } from "../../incidents/incident-log.ts";
import { OomKills } from "../../os/oom.ts";
import type { Transition } from "../../supervisor/slot.ts";
import type { Occupied } from "../../supervisor/states.ts";
import { isRunning } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";
import { endOf, incidentOf, mayLackPort, withCore, withPort } from "./incident-record.ts";
import type { ProcessStatsCache } from "./process-stats-cache.ts";
import type { ServiceMetrics } from "./service-metrics.ts";

/** Lists or logs that are read at a time. */
const BATCH = 4;

/** The last lines of a run between two times (milliseconds since 1970), oldest first. */
export type ReadLastLines = (query: {
  readonly process: string;
  readonly run: number;
  readonly from: number;
  readonly before: number;
  readonly count: number;
  /** Longer lines are cut to this length. */
  readonly characters: number;
}) => Promise<readonly LogEntry[]>;

/** The program that holds the port which these last lines of a run say is in use. */
export type FindTakenPort = (
  run: { readonly slot: string; readonly run: number },
  lines: readonly LogEntry[],
) => Occupied | undefined;

/** Builds the incident. `claimOomKill` may be slow: it asks the kernel. */
export type BuildIncident = (claimOomKill: () => boolean) => Omit<Incident, "metrics">;

/** What incidents are made from, and who gets them. */
export type IncidentSources = {
  readonly stats: Pick<ProcessStatsCache, "messageContext">;
  readonly metrics: Pick<ServiceMetrics, "recent">;
  readonly lastLines: ReadLastLines;
  readonly takenPort: FindTakenPort;
  readonly onWritten: (incident: Incident) => void;
};

/** Delay before an incident is written, so that the next run can start first; the keeper has it as a note. Milliseconds. */
const WRITE_DELAY_MS = 5;
const MAX_LINES = 50;
const MAX_LINE_LENGTH = 2_000;
/** After this time the log store has the last lines of a run. Milliseconds. */
const DRAINED_MS = 1_000;
/** Lines this much before the start still belong to the run: clocks differ. With more, a run of the previous procman could have written them. Milliseconds. */
const EARLY_MS = 100;
/** Lines this much after the end still belong to the run: they are read late. Milliseconds. */
const LATE_MS = 1_000;
/** After a longer time another program may have the port than the one that had it. Milliseconds. */
const FRESH_MS = 10_000;
const DEFAULT_LIMIT = 20;

type ReportedIncident = {
  readonly slot: string;
  readonly draft: Omit<Incident, "metrics">;
  readonly build: BuildIncident;
};

export class ServiceIncidents implements Subsystem {
  readonly #oomKills = new OomKills();
  readonly #services: Pick<Services, "log" | "notes" | "specs">;
  readonly #sources: IncidentSources;
  readonly #incidentLog: IncidentLog;
  readonly #limit = new IncidentLimit<ReportedIncident>();
  /** Noted, not written yet. */
  readonly #unwritten: (ReportedIncident & { readonly note: string; readonly more: Pick<Incident, "leftOut"> })[] = [];
  /** Written without lines; these are added later. */
  #withoutLines: readonly { readonly entry: IncidentLogEntry; readonly since: number }[] = [];
  /** The latest request to end the run of a process, by id. */
  readonly #requests = new Map<string, RequestRecord>();
  readonly #lastEnds = new Map<string, Pick<Incident, "cause" | "reason">>();
  /** Why everything is being stopped. */
  #shutdownReason: string | undefined;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(services: Pick<Services, "bus" | "log" | "notes" | "specs">, sources: IncidentSources) {
    const { bus, log, specs } = services;
    this.#services = services;
    this.#sources = sources;
    bus.transitions.listen(({ id, transition }) => this.#onTransition(id, transition));
    bus.events.listen(({ id, request }) => {
      if (request !== undefined) this.#requests.set(id, request);
    });
    bus.samples.listen(() => this.#oomKills.poll(performance.now()));
    bus.removed.listen((id) => {
      this.#requests.delete(id);
      this.#lastEnds.delete(id);
      this.#limit.remove(id);
    });
    this.#incidentLog = new IncidentLog(
      specs.config.stateDir,
      (problem) => log.warn(problem),
      () =>
        new Set(specs.config.processes.flatMap(({ id, cluster }) => (cluster === undefined ? [id] : [id, cluster.id]))),
    );
  }

  /** Writes incidents that an earlier service had noted and may not have written. */
  recover(): void {
    const { notes } = this.#services;
    for (const [key, entry] of notes.incidents()) {
      if (entry !== undefined) this.#incidentLog.append(entry);
      notes.removeIncident(key);
    }
  }

  /** Records that this caller requested the next end of the process's run. */
  recordRequester(id: string, { consumer }: Caller): void {
    this.#requests.set(id, { kind: "consumer", by: consumer });
  }

  /** How the latest run of the process that this service has seen end has ended. */
  lastEnd(id: string): Pick<Incident, "cause" | "reason"> | undefined {
    return this.#lastEnds.get(id);
  }

  onShutdown(why: string): void {
    this.#shutdownReason = why;
  }

  #onTransition(id: string, transition: Transition): void {
    const ending = endOf(transition);
    if (ending !== undefined) {
      const request = this.#requests.get(id);
      const messageContext = this.#sources.stats.messageContext(id);
      const context = {
        messageContext,
        shutdownReason: this.#shutdownReason,
        ...(request && { request }),
      };
      this.#requests.delete(id);
      this.#add(transition.slot, (claimOomKill) => incidentOf(transition, ending, { ...context, claimOomKill }));
    }
    if (isRunning(transition.to)) this.#requests.delete(id);
  }

  #add(slot: string, build: BuildIncident): void {
    const draft = build(() => false);
    this.#lastEnds.set(draft.process, { cause: draft.cause, reason: draft.reason });
    const admitted = this.#limit.admit(draft.process, { slot, draft, build }, performance.now());
    if (admitted !== undefined) this.#note(admitted);
    this.#schedule();
  }

  /** Newest first. */
  async of(ids: readonly string[], limit = DEFAULT_LIMIT): Promise<readonly Incident[]> {
    this.#write();
    const entries = await inBatches(ids, (id) => this.#incidentLog.read(id));
    const latest = entries
      .flat()
      .sort((one, other) => Date.parse(other.incident.time) - Date.parse(one.incident.time))
      .slice(0, limit);
    return inBatches(latest, async (entry) =>
      entry.open ? this.#complete(entry, isDrainedByNow(entry)) : entry.incident,
    );
  }

  /** All recorded ends as runs. */
  async ended(ids: readonly string[]): Promise<readonly RunSummary[]> {
    this.#write();
    const lists = await inBatches(ids, (id) => this.#incidentLog.read(id));
    return lists.flat().flatMap(({ incident, slot }) => (isRunEnd(incident) ? [endedRun(incident, slot)] : []));
  }

  /** One that is not the end of a run, written at once. It replaces one of the same process and time. */
  write(incident: Incident): void {
    this.#incidentLog.append({ slot: incident.process, incident });
    this.#sources.onWritten(incident);
  }

  /** The latest one on disk. */
  latest(id: string): Incident | undefined {
    return this.#incidentLog.latest(id);
  }

  stopped(): void {
    this.retire();
  }

  /** Writes what was held back; lines are read when the incident is next requested. */
  retire(): void {
    clearTimeout(this.#timer);
    for (const admitted of this.#limit.drain()) this.#note(admitted);
    this.#write();
    this.#withoutLines = [];
    this.#isClosed = true;
  }

  #note({ item, leftOut }: AdmittedIncident<ReportedIncident>): void {
    const { slot, draft } = item;
    const note = `${slot}#${draft.run}`;
    const more = leftOut === 0 ? {} : { leftOut };
    this.#services.notes.writeIncident(note, { slot, open: true, incident: { ...draft, metrics: [], ...more } });
    if (this.#unwritten.push({ ...item, note, more }) === 1) setTimeout(() => this.#write(), WRITE_DELAY_MS);
  }

  #write(): void {
    for (const { slot, build, note, more } of this.#unwritten.splice(0)) {
      const incident = build(() => this.#oomKills.claim(performance.now()));
      const entry: IncidentLogEntry = {
        slot,
        open: true,
        incident: { ...incident, metrics: this.#sources.metrics.recent(incident.process), ...more },
      };
      const isNews = this.#incidentLog.append(entry);
      this.#services.notes.removeIncident(note);
      if (isNews) this.#withoutLines = [...this.#withoutLines, { entry, since: performance.now() }];
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer === undefined && !this.#isClosed && (this.#withoutLines.length > 0 || this.#limit.hasDeferred))
      this.#timer = setTimeout(() => void this.#completeDue(), DRAINED_MS).unref();
  }

  /** Adds the lines to incidents of a second ago, and writes those that the rate limit held back. */
  async #completeDue(): Promise<void> {
    const now = performance.now();
    const due = this.#withoutLines.filter(({ since }) => now - since >= DRAINED_MS);
    this.#withoutLines = this.#withoutLines.filter(({ since }) => now - since < DRAINED_MS);
    for (const admitted of this.#limit.release(now)) this.#note(admitted);
    for (const { entry } of due) {
      const incident = await this.#complete(entry, true).catch((error: Error) => {
        this.#services.log.warn(`Cannot read the last lines of "${entry.incident.process}": ${error.message}`);
        return entry.incident;
      });
      this.#sources.onWritten(incident);
    }
    this.#timer = undefined;
    this.#schedule();
  }

  /** Adds the lines and stores them with the incident, as the log is deleted one day. */
  async #complete({ slot, incident }: IncidentLogEntry, isDrained: boolean): Promise<Incident> {
    const { process, run, started, time } = incident;
    // Bounded in time: run numbers start again with each procman, and a run without lines must not cause a search of
    // the whole log.
    const from = Date.parse(started ?? time) - EARLY_MS;
    const before = Date.parse(time) + LATE_MS;
    const lines = await this.#sources.lastLines({
      process,
      run,
      from,
      before,
      count: MAX_LINES,
      characters: MAX_LINE_LENGTH,
    });
    const isFresh = Date.now() - Date.parse(time) < FRESH_MS;
    const port = isFresh && mayLackPort(incident) ? this.#sources.takenPort({ slot, run }, lines) : undefined;
    const folder = this.#services.specs.find(slot)?.cwd;
    const complete = { ...withCore(withPort(incident, port), folder), lines };
    if (isDrained && !this.#isClosed) this.#incidentLog.append({ slot, incident: complete });
    return complete;
  }
}

/** By now the log store has the last lines of its run. */
function isDrainedByNow({ incident }: IncidentLogEntry): boolean {
  return Date.now() - Date.parse(incident.time) > 2 * DRAINED_MS;
}

/** A few at a time, as each has a file open. */
async function inBatches<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += BATCH)
    results.push(...(await Promise.all(items.slice(at, at + BATCH).map(read))));
  return results;
}

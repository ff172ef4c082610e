/** Writes down each end of a run, with what was seen before it. What follows from the end goes first: until that is on its way, a note of the keeper's holds it. */
import type { Incident, LogEntry, MetricPoint } from "../contract/records.ts";
import { OomKills } from "../os/oom.ts";
import { type Entry, entryIn, IncidentBook } from "../telemetry/incident-book.ts";
import { type Admitted, IncidentLimit } from "../telemetry/incident-limit.ts";
import type { Notes } from "./part.ts";

/** The lines of a run, oldest first, of between two times (milliseconds since 1970). */
export type LastLines = (query: {
  readonly process: string;
  readonly run: number;
  readonly from: number;
  readonly before: number;
  readonly count: number;
  /** Of longer lines only so many. */
  readonly characters: number;
}) => Promise<readonly LogEntry[]>;

/** Tells what the end was; looking whether the kernel has killed somebody takes its time. */
export type Tell = (claimOomKill: () => boolean) => Omit<Incident, "metrics">;

export type IncidentPorts = {
  /** Goes to the keeper with what was decided in the same turn: both arrive or neither. */
  readonly notes: { readonly remember: (name: string, entry: Entry) => void; readonly forget: (name: string) => void };
  readonly stateDir: string;
  readonly lastLines: LastLines;
  readonly recent: (id: string) => readonly MetricPoint[];
  readonly written: (incident: Incident) => void;
  readonly report: (problem: string) => void;
};

/** Until it is written, the keeper has it as a note: a run that follows has its beginning to itself. Milliseconds. */
const LATER_MS = 5;
const NOTE = ":incident ";
const LINES = 50;
const LINE_LENGTH = 2_000;
/** What a run has written last is in the store by then. Milliseconds. */
const DRAINED_MS = 1_000;
/** Of a clock that differs, or a line that was read a moment after the end. Milliseconds. */
const LATE_MS = 1_000;
const DEFAULT_LIMIT = 20;

type Told = { readonly slot: string; readonly draft: Omit<Incident, "metrics">; readonly tell: Tell };

export class Incidents {
  readonly oomKills = new OomKills();
  readonly #ports: IncidentPorts;
  readonly #book: IncidentBook;
  readonly #limit = new IncidentLimit<Told>();
  /** Noted, and about to be written. */
  readonly #noted: (Told & { readonly note: string; readonly more: Pick<Incident, "leftOut"> })[] = [];
  /** Written without their lines, until these are there. */
  #open: readonly { readonly entry: Entry; readonly since: number }[] = [];
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(ports: IncidentPorts) {
    this.#ports = ports;
    this.#book = new IncidentBook(ports.stateDir, ports.report);
  }

  /** What an earlier service had noted, and perhaps not written any more. */
  resume(notes: Notes): void {
    for (const [name, text] of Object.entries(notes)) {
      if (!name.startsWith(NOTE)) continue;
      const entry = entryIn(text);
      if (entry !== undefined) this.#book.append(entry);
      this.#ports.notes.forget(name);
    }
  }

  add(slot: string, tell: Tell): void {
    const draft = tell(() => false);
    const admitted = this.#limit.admit(draft.process, { slot, draft, tell }, performance.now());
    if (admitted !== undefined) this.#note(admitted);
    this.#arm();
  }

  /** Newest first. */
  async of(ids: readonly string[], limit = DEFAULT_LIMIT): Promise<readonly Incident[]> {
    this.#write();
    const lists = await Promise.all(ids.map((id) => this.#book.read(id)));
    const latest = lists
      .flat()
      .sort((one, other) => Date.parse(other.incident.time) - Date.parse(one.incident.time))
      .slice(0, limit);
    return Promise.all(latest.map(async (entry) => (entry.open ? this.#complete(entry, isOld(entry)) : entry.incident)));
  }

  /** What was held back is written; lines are looked for by whoever asks next. */
  close(): void {
    clearTimeout(this.#timer);
    for (const admitted of this.#limit.drain()) this.#note(admitted);
    this.#write();
    this.#open = [];
    this.#isClosed = true;
  }

  forget(id: string): void {
    this.#limit.forget(id);
  }

  #note({ item, leftOut }: Admitted<Told>): void {
    const { slot, draft } = item;
    const note = `${NOTE}${slot}#${draft.run}`;
    const more = leftOut === 0 ? {} : { leftOut };
    this.#ports.notes.remember(note, { slot, open: true, incident: { ...draft, metrics: [], ...more } });
    if (this.#noted.push({ ...item, note, more }) === 1) setTimeout(() => this.#write(), LATER_MS);
  }

  #write(): void {
    for (const { slot, tell, note, more } of this.#noted.splice(0)) {
      const incident = tell(() => this.oomKills.claim(performance.now()));
      const entry: Entry = { slot, open: true, incident: { ...incident, metrics: this.#ports.recent(incident.process), ...more } };
      this.#book.append(entry);
      this.#ports.notes.forget(note);
      this.#open = [...this.#open, { entry, since: performance.now() }];
    }
    this.#arm();
  }

  #arm(): void {
    if (this.#timer === undefined && !this.#isClosed && (this.#open.length > 0 || this.#limit.isHolding))
      this.#timer = setTimeout(() => void this.#settle(), DRAINED_MS).unref();
  }

  /** Those of a second ago have their lines now; those that came too fast may be written now. */
  async #settle(): Promise<void> {
    const now = performance.now();
    const due = this.#open.filter(({ since }) => now - since >= DRAINED_MS);
    this.#open = this.#open.filter(({ since }) => now - since < DRAINED_MS);
    for (const admitted of this.#limit.release(now)) this.#note(admitted);
    for (const { entry } of due) {
      const incident = await this.#complete(entry, true).catch((error: Error) => {
        this.#ports.report(`Cannot read the last lines of "${entry.incident.process}": ${error.message}`);
        return entry.incident;
      });
      this.#ports.written(incident);
    }
    this.#timer = undefined;
    this.#arm();
  }

  /** With its lines, which are kept from then on: the log is thrown away one day. */
  async #complete({ slot, incident }: Entry, isDrained: boolean): Promise<Incident> {
    const { process, run, started, time } = incident;
    // Numbers of runs begin anew with procman; and where there is no line, nobody shall search all of the log.
    const [from, before] = [Date.parse(started ?? time) - LATE_MS, Date.parse(time) + LATE_MS];
    const lines = await this.#ports.lastLines({ process, run, from, before, count: LINES, characters: LINE_LENGTH });
    const complete = { ...incident, lines };
    if (isDrained && !this.#isClosed) this.#book.append({ slot, incident: complete });
    return complete;
  }
}

/** Left by an earlier service, or about to be completed: what it wrote is in the store by now. */
function isOld({ incident }: Entry): boolean {
  return Date.now() - Date.parse(incident.time) > 2 * DRAINED_MS;
}

/** The notes that the service stores at the keeper for the next service: one table of their names and contents. */
import { compact } from "../../base/compact.ts";
import {
  boolean,
  enumeration,
  integer,
  list,
  literal,
  map,
  number,
  openObject,
  optional,
  string,
  type TypeOf,
  union,
} from "../../base/schema.ts";
import { matches } from "../../base/schema-check.ts";
import { STOP_SIGNALS } from "../../base/signals.ts";
import type { Config } from "../../config/spec.ts";
import { RELOAD, type ReloadRecord } from "../../contract/state-record.ts";
import { entryIn, type IncidentLogEntry } from "../../incidents/incident-log.ts";
import type { FileChange } from "../../supervisor/file-change.ts";
import { decodeSnapshot, type ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { StopRequest } from "../../supervisor/states.ts";
import { type ConfigSnapshot, readConfigSnapshot, writeConfigSnapshot } from "./config-snapshot.ts";

/** Notes as the keeper stores them, by name. A name without a leading colon is the id of a process. */
export type StoredNotes = Readonly<Record<string, string>>;

/** A change of watched files, and the instances that it concerns. */
export type FileChangeBatch = FileChange & { readonly ids: readonly string[] };

/** The state of a rolling restart. */
export type RollingRestartState = {
  /** Id of the cluster, or of the process that is restarted after one. */
  readonly unit: string;
  /** Instances whose new runs are awaited; empty: it has not begun. */
  readonly current: readonly string[];
  /** Instances that are not restarted yet. */
  readonly pending: readonly string[];
  /** The consumer that requested it; absent: files have changed. */
  readonly consumer?: string;
  readonly change?: FileChangeBatch;
  /** Changes since: another rolling restart follows. */
  readonly queuedChange?: FileChangeBatch;
};

/** The state of a reload's rollout, or of its rollback. */
export type RolloutState = {
  readonly to: Config;
  /** The configuration that a rollback leads to; absent: this is the rollback. */
  readonly from?: Config | undefined;
  /** The instance whose new run is awaited; empty: the rollout has not begun. */
  readonly current: readonly string[];
  /** Instances that are not restarted yet. */
  readonly pending: readonly string[];
  /** `to` has the instance counts that were requested at run time; they stay valid. */
  readonly keepsCounts?: boolean | undefined;
};

/** `desired` is valid as long as the configuration file has the count `configured`. */
export type InstanceCount = {
  readonly desired: number;
  readonly configured: number | "max";
  /** With `scale`: asked for by hand, so that the load doesn't count. */
  readonly pinned?: true;
  /** Its load, or a schedule, has asked for it. */
  readonly decision?: SizeDecision;
};

/** A change of the number of instances by load or schedule. */
export type SizeDecision = {
  readonly time: string;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
};

/** Clusters that have instances of two releases: how many they had before (`sizes`), and the runs that get no clients, by instance. */
export type StandbyState = {
  readonly sizes: Readonly<Record<string, number>>;
  readonly runs: Readonly<Record<string, number>>;
};

/** The active profile, which a reload has asked for instead of that of `procman run`; valid as long as that is `ofRun`. Absent: none. */
export type ProfileState = { readonly profile?: string | undefined; readonly ofRun?: string | undefined };

/** A stop that is sent once the balancer sends no new connections. */
export type PendingStop = StopRequest & { readonly slot: string; readonly run: number };

/** The state of a shutdown. `code`: the exit code, if known. */
export type ShutdownState = { readonly why: string; readonly code?: number };

/** The watched files when processes last started with them. `at`: milliseconds since 1970. */
export type WatchedFiles = { readonly fingerprint: number; readonly at: number };

type Contents = {
  /** The configuration that the current runs were started by. */
  readonly ":config": ConfigSnapshot;
  readonly ":rolls": readonly RollingRestartState[];
  readonly ":reload": RolloutState;
  /** Instance counts that were requested at run time, by cluster. */
  readonly ":scale": ReadonlyMap<string, InstanceCount>;
  readonly ":standby": StandbyState;
  /** Runs that have reported that they are busy, by id of their process. */
  readonly ":busy": Readonly<Record<string, number>>;
  readonly ":profile": ProfileState;
  readonly ":terminating": ShutdownState;
  readonly ":owed": readonly PendingStop[];
  /** By fingerprint of what is watched. */
  readonly ":watched": ReadonlyMap<string, WatchedFiles>;
  /** How often each plugin was started in a row. */
  readonly ":plugins": Readonly<Record<string, number>>;
  /** Present: a service has had plugins, whose processes may be left. `at`: milliseconds since 1970. */
  readonly ":plugin-threads": { readonly at: number };
  readonly ":last-reload": ReloadRecord;
};

type NoteName = keyof Contents;

/** `sessionId`: of an uninterrupted series of keepers. A shutdown and a reload end with their session. */
type Codec<Content> = {
  readonly encode: (content: Content, sessionId: string) => unknown;
  /** undefined: not understood here, or of another session. */
  readonly decode: (note: string, sessionId: string) => Content | undefined;
};

const count = integer({ minimum: 0 });
const fileChangeBatch = openObject({ files: list(string()), count, at: number(), ids: list(string()) });
const storedRestart = openObject({
  cluster: string(),
  at: list(string()),
  left: list(string()),
  consumer: optional(string()),
  news: optional(fileChangeBatch),
  again: optional(fileChangeBatch),
});
const storedRollout = openObject({
  to: string(),
  from: optional(string()),
  at: string(),
  left: optional(list(string())),
  keepsCounts: optional(boolean()),
});
const storedScales = openObject({
  scales: map(
    openObject({
      to: count,
      of: union([count, literal("max")]),
      pinned: optional(literal(true)),
      decision: optional(openObject({ time: string(), from: count, to: count, reason: string() })),
    }),
  ),
});
const profileState = openObject({ profile: optional(string()), ofRun: optional(string()) });
const shutdown = openObject({ why: string(), code: optional(count) });
const pendingStop = openObject({
  slot: string(),
  run: number(),
  signal: optional(enumeration(STOP_SIGNALS)),
  to: optional(literal("leader")),
  drain: optional(boolean()),
});
const watchedFiles = map(openObject({ fingerprint: number(), at: number() }));
const busy = map(count);
const standby = openObject({ sizes: map(count), runs: map(number()) });
const attempts = map(number());
const pluginThreads = openObject({ at: number() });

const CODECS: { readonly [Name in NoteName]: Codec<Contents[Name]> } = {
  ":config": { encode: writeConfigSnapshot, decode: readConfigSnapshot },
  ":rolls": plain({
    encode: (restarts) => ({ rolls: restarts.map(storedOf) }),
    decode: ({ rolls }) =>
      Array.isArray(rolls) ? rolls.filter((each) => matches(each, storedRestart)).map(restartOf) : undefined,
  }),
  ":reload": perSession({
    encode: ({ to, from, current, pending, keepsCounts }) => ({
      to: writeConfigSnapshot({ config: to, removing: [] }),
      ...(from === undefined ? {} : { from: writeConfigSnapshot({ config: from, removing: [] }) }),
      at: current[0],
      left: pending,
      ...(keepsCounts === true ? { keepsCounts } : {}),
    }),
    decode: (value) => (matches(value, storedRollout) ? rolloutOf(value) : undefined),
  }),
  ":scale": plain({
    encode: (scales) => ({
      scales: Object.fromEntries(
        [...scales].map(([id, { desired, configured, ...more }]) => [id, { to: desired, of: configured, ...more }]),
      ),
    }),
    decode: (value) => {
      if (!matches(value, storedScales)) return undefined;
      const counts = Object.entries(value.scales).map(([id, { to, of, pinned, decision }]) => {
        return [id, compact({ desired: to, configured: of, pinned, decision })] as const;
      });
      return new Map(counts);
    },
  }),
  ":standby": plain({
    encode: (content) => content,
    decode: (value) => (matches(value, standby) ? value : undefined),
  }),
  ":busy": plain({
    encode: (content) => content,
    decode: (value) => (matches(value, busy) ? value : undefined),
  }),
  ":profile": plain({
    encode: (content) => content,
    decode: (value) => (matches(value, profileState) ? { profile: value.profile, ofRun: value.ofRun } : undefined),
  }),
  ":terminating": perSession({
    encode: (content) => content,
    decode: (value) => {
      if (!matches(value, shutdown)) return undefined;
      const { why, code } = value;
      return { why, ...(code === undefined ? {} : { code }) };
    },
  }),
  ":owed": plain({
    encode: (stops) => stops.map((stop) => ({ ...stop, ...(stop.signal === undefined && { drain: true }) })),
    decode: (value) =>
      Array.isArray(value) ? value.filter((each) => matches(each, pendingStop)).map(pendingStopOf) : undefined,
  }),
  ":watched": plain({
    encode: (watched) => Object.fromEntries(watched),
    decode: (value) => (matches(value, watchedFiles) ? new Map(Object.entries(value)) : undefined),
  }),
  ":plugins": plain({
    encode: (content) => content,
    decode: (value) => (matches(value, attempts) ? value : undefined),
  }),
  ":plugin-threads": plain({
    encode: (content) => content,
    decode: (value) => (matches(value, pluginThreads) ? value : undefined),
  }),
  ":last-reload": plain({
    encode: (content) => content,
    decode: (value) => (matches(value, RELOAD) ? value : undefined),
  }),
};

/** Requests at run time: they are valid until procman ends, also if that end is cut off. */
const UNTIL_END = [":rolls", ":scale", ":standby", ":busy", ":profile", ":last-reload"] as const;

/** One note for each incident that is not written to its file yet. */
const INCIDENT = ":incident ";

export class NoteStore {
  readonly #link: { readonly remember: (name: string, note: unknown) => void };
  #stored: StoredNotes = {};
  #sessionId = "";
  #isEndCutOff = false;
  /** Names of the notes that the keeper has. */
  readonly #present = new Set<string>();
  /** Notes that are sent as text: only when they have changed. */
  readonly #texts = new Map<string, string>();

  constructor(link: { readonly remember: (name: string, note: unknown) => void }) {
    this.#link = link;
  }

  /** Whether these are notes of an end of an earlier session, which was cut off. */
  get isEndCutOff(): boolean {
    return this.#isEndCutOff;
  }

  /** Takes the notes of the keeper's snapshot. */
  load(stored: StoredNotes, sessionId: string): void {
    this.#sessionId = sessionId;
    this.#isEndCutOff = Boolean(stored[":terminating"]) && readNote(":terminating", stored, sessionId) === undefined;
    const ended = this.#isEndCutOff ? UNTIL_END : resetsCounts(stored, sessionId) ? ([":scale"] as const) : [];
    this.#stored = { ...stored, ...Object.fromEntries(ended.map((name) => [name, ""])) };
    for (const [name, note] of Object.entries(stored)) if (note !== "") this.#present.add(name);
    for (const name of ended) this.#remove(name);
    if (stored[":config"] !== undefined) this.#texts.set(":config", stored[":config"]);
  }

  /** The note of the previous service; undefined: there is none, or it can't be used. */
  read<Name extends NoteName>(name: Name): Contents[Name] | undefined {
    return readNote(name, this.#stored, this.#sessionId);
  }

  /** Sent with the commands of the same turn: both arrive or neither. */
  write<Name extends NoteName>(name: Name, content: Contents[Name]): void {
    const note = CODECS[name].encode(content, this.#sessionId);
    if (typeof note === "string") {
      if (note === this.#texts.get(name)) return;
      this.#texts.set(name, note);
    }
    this.#remember(name, note);
  }

  remove(name: NoteName): void {
    this.#remove(name);
  }

  /** undefined: it can't be read. */
  incidents(): readonly (readonly [key: string, IncidentLogEntry | undefined])[] {
    return Object.entries(this.#stored)
      .filter(([name, note]) => name.startsWith(INCIDENT) && note !== "")
      .map(([name, note]) => [name.slice(INCIDENT.length), entryIn(note)]);
  }

  writeIncident(key: string, entry: IncidentLogEntry): void {
    this.#remember(`${INCIDENT}${key}`, entry);
  }

  removeIncident(key: string): void {
    this.#remove(`${INCIDENT}${key}`);
  }

  #remember(name: string, note: unknown): void {
    this.#present.add(name);
    this.#link.remember(name, note);
  }

  #remove(name: string): void {
    if (this.#present.delete(name)) this.#link.remember(name, "");
  }
}

export function readNote<Name extends NoteName>(
  name: Name,
  stored: StoredNotes,
  sessionId: string,
): Contents[Name] | undefined {
  const note = stored[name];
  if (note === undefined || note === "") return undefined;
  return CODECS[name].decode(note, sessionId);
}

/** The note of each process; undefined: it can't be read. */
export function processNotes(stored: StoredNotes): ReadonlyMap<string, ProcessSnapshot | undefined> {
  const own = Object.entries(stored).filter(([name]) => !name.startsWith(":"));
  return new Map(own.map(([id, note]) => [id, decodeSnapshot(parsed(note), id)]));
}

function storedOf({
  unit,
  current,
  pending,
  consumer,
  change,
  queuedChange,
}: RollingRestartState): TypeOf<typeof storedRestart> {
  return compact({
    cluster: unit,
    at: current,
    left: pending,
    consumer,
    news: change,
    again: queuedChange,
  });
}

function restartOf({ cluster, at, left, consumer, news, again }: TypeOf<typeof storedRestart>): RollingRestartState {
  return compact({
    unit: cluster,
    current: at,
    pending: left,
    consumer,
    change: news,
    queuedChange: again,
  });
}

function rolloutOf({ to, from, at, left = [], keepsCounts }: TypeOf<typeof storedRollout>): RolloutState | undefined {
  const target = readConfigSnapshot(to)?.config;
  return target === undefined
    ? undefined
    : {
        to: target,
        from: readConfigSnapshot(from)?.config,
        current: [at],
        pending: left,
        ...(keepsCounts === true ? { keepsCounts } : {}),
      };
}

/** `drain`: the message to a worker. */
function pendingStopOf({ slot, run, to, drain, signal = "SIGTERM" }: TypeOf<typeof pendingStop>): PendingStop {
  return { slot, run, ...(to && { to }), ...(drain !== true && { signal }) };
}

type ValueCodec<Content> = {
  readonly encode: (content: Content) => unknown;
  readonly decode: (value: Readonly<Record<string, unknown>>) => Content | undefined;
};

function plain<Content>({ encode, decode }: ValueCodec<Content>): Codec<Content> {
  return {
    encode,
    decode: (note) => {
      const value = parsed(note);
      return typeof value === "object" && value !== null
        ? decode(value as Readonly<Record<string, unknown>>)
        : undefined;
    },
  };
}

/** Whether a reload of an earlier session was cut off: this session applies the file at once, and its counts are valid again. */
function resetsCounts(stored: StoredNotes, sessionId: string): boolean {
  if (readNote(":reload", stored, sessionId) !== undefined) return false;
  const rollout = parsed(stored[":reload"] ?? "");
  return matches(rollout, storedRollout) && rollout.from !== undefined && rollout.keepsCounts !== true;
}

function perSession<Content>({ encode, decode }: ValueCodec<Content>): Codec<Content> {
  return {
    encode: (content, lineage) => ({ ...(encode(content) as object), lineage }),
    decode: (note, lineage) =>
      plain({ encode, decode: (value) => (value.lineage === lineage ? decode(value) : undefined) }).decode(note, ""),
  };
}

function parsed(note: string): unknown {
  try {
    return JSON.parse(note);
  } catch {
    return undefined;
  }
}

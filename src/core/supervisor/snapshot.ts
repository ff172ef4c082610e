/** The persisted state of a process, from which the next service continues. It is validated when it is read. */
import {
  boolean,
  enumeration,
  integer,
  list,
  literal,
  map,
  nullSchema,
  number,
  openObject,
  optional,
  string,
  union,
} from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import type { RunFault, ScheduledAction, SlotState } from "./states.ts";

/** The next scheduled times, in milliseconds since 1970. */
export type PlannedTime = Readonly<Partial<Record<ScheduledAction, number>>>;

/** A scheduled time that was called: when it was planned (milliseconds since 1970), and when it was called (monotonic milliseconds). */
export type MetTime = { readonly planned: number; readonly at: number };

/** The latest scheduled times that were called. */
export type MetTimes = Readonly<Partial<Record<ScheduledAction, MetTime>>>;

/** Scheduled times that procman was away for, in milliseconds since 1970. */
export type MissedTimes = { readonly first: number; readonly last: number; readonly times: number };

/** `isCapped`: there are more times than were counted. `isMadeUpFor`: it is started once for them. */
export type MissedSchedule = MissedTimes & { readonly isCapped: boolean; readonly isMadeUpFor: boolean };

export type ProcessSnapshot = {
  readonly blocked: boolean;
  /** Slots whose start or restart the block has prevented. */
  readonly held?: readonly string[];
  /** States by slot: the main slot has the process's id, those of overlapping runs a number added, such as `web:2`. */
  readonly slots: Readonly<Record<string, SlotState>>;
  /** The next times of its schedules, in milliseconds since 1970. */
  readonly planned?: PlannedTime;
  /** The latest times of its schedules that were called: the next service doesn't call one again when the clock is set back a little. */
  readonly met?: MetTimes;
  /** The scheduled starts that were missed last, until the next one comes. */
  readonly missed?: MissedSchedule;
  /** When each dependency with `restart: true` was declared, if that was after its first definition. Monotonic milliseconds. */
  readonly declared?: Readonly<Record<string, number>>;
};

type SnapshotParts = Pick<ProcessSnapshot, "blocked" | "held" | "planned" | "met" | "missed" | "declared"> & {
  readonly slots: readonly { readonly id: string; readonly state: SlotState }[];
};

export function snapshotOf({ slots, ...rest }: SnapshotParts): ProcessSnapshot {
  return { ...rest, slots: Object.fromEntries(slots.map(({ id, state }) => [id, state])) };
}

/** Phases that have other names in notes, which stay as they are: a service of any version continues from the note of any other. */
const NOTED_PHASES = { "waiting-dependents": "held", cleanup: "sweep", "cleanup-kill": "sweep-kill" } as const;
type NotedPhase = keyof typeof NOTED_PHASES;
const PHASES = new Map<string, NotedPhase>(
  Object.entries(NOTED_PHASES).map(([phase, note]) => [note, phase as NotedPhase]),
);

/** What is noted of a snapshot; `decodeSnapshot` reads it. */
export function encodeSnapshot(snapshot: ProcessSnapshot): unknown {
  return withStates(snapshot, (noted) => {
    const state = encodeSleep(noted);
    // A version without hooks takes it for a sweep, after which it goes on in the same way.
    if (state.phase === "after-stop") return { ...state, phase: NOTED_PHASES.cleanup, isSwept: true };
    const phase = NOTED_PHASES[state.phase as NotedPhase];
    return phase === undefined ? state : { ...state, phase };
  });
}

/** The snapshot of the process `id` from its note; undefined: it isn't one. */
export function decodeSnapshot(note: unknown, id: string): ProcessSnapshot | undefined {
  if (
    !matches(note, processSnapshot) ||
    !Object.keys(note.slots).every((slot) => slot === id || isFurtherSlot(slot, id))
  )
    return undefined;
  return withStates(note, (noted) => {
    const { isSwept, ...state } = decodeSleep(noted);
    const phase = isSwept === true ? "after-stop" : PHASES.get(state.phase ?? "");
    return phase === undefined ? state : { ...state, phase };
  }) as ProcessSnapshot;
}

/** A version that knows no sleep takes it for a stop by an operator. */
function encodeSleep(state: NotedState): NotedState {
  const { outcome, cause } = state;
  if (cause === "idle") return { ...state, cause: "operator", sleeps: true };
  if (outcome?.kind !== "asleep") return state;
  const { since = 0, ...rest } = outcome;
  return { ...state, outcome: { ...rest, kind: "stopped", asleepSince: since } };
}

function decodeSleep({ sleeps, ...state }: NotedState): NotedState {
  if (sleeps === true) return { ...state, cause: "idle" };
  const { asleepSince: since, ...outcome } = state.outcome ?? {};
  return since === undefined ? state : { ...state, outcome: { ...outcome, kind: "asleep", since } };
}

type NotedState = {
  readonly status: string;
  readonly phase?: string;
  readonly isSwept?: boolean;
  readonly cause?: string;
  readonly sleeps?: boolean;
  readonly outcome?: { readonly kind?: string; readonly since?: number; readonly asleepSince?: number };
};
type WithSlots = { readonly slots: Readonly<Record<string, NotedState>> };

/** Most processes run, or wait: then it is the same object. */
function withStates<Snapshot extends WithSlots>(
  snapshot: Snapshot,
  convert: (state: NotedState) => NotedState,
): unknown {
  let slots: WithSlots["slots"] = snapshot.slots;
  for (const [id, state] of Object.entries(snapshot.slots))
    if (state.phase !== undefined || state.outcome !== undefined) slots = { ...slots, [id]: convert(state) };
  return slots === snapshot.slots ? snapshot : { ...snapshot, slots };
}

/** `web:2` is a further slot of `web`. */
function isFurtherSlot(slot: string, id: string): boolean {
  return slot.startsWith(`${id}:`) && /^[1-9]\d{0,8}$/.test(slot.slice(id.length + 1));
}

/** Monotonic milliseconds; the limit is three hundred years. */
const monotonicMs = number({ minimum: -1e13, maximum: 1e13 });
const count = integer({ minimum: 0 });
/** kill(2) gives 0 and -1 a special meaning. */
const pid = integer({ minimum: 2 });

const occupied = optional(
  openObject({
    port: count,
    by: string(),
    process: optional(string()),
    own: optional(count),
    chosen: optional(literal(true)),
  }),
);
const details = { outOfMemory: optional(literal(true)), occupied, left: optional(count), at: optional(monotonicMs) };
const ending = union([
  openObject({
    kind: literal("exited"),
    code: union([number(), nullSchema]),
    signal: union([string(), nullSchema]),
    ...details,
  }),
  openObject({
    kind: literal("unstartable"),
    message: string(),
    permanent: boolean(),
    exitCode: optional(count),
    at: optional(monotonicMs),
  }),
  openObject({ kind: literal("unknown"), unseen: optional(literal(true)), ...details }),
]);
const FAULTS = ["timeout", "unready", "unhealthy", "memory"] as const satisfies readonly RunFault[];
const fault = optional(enumeration(FAULTS));
const outcome = union([
  openObject({ kind: literal("never-started") }),
  openObject({ kind: literal("stopped"), ending: optional(ending), asleepSince: optional(monotonicMs) }),
  openObject({ kind: literal("finished"), ending }),
  openObject({ kind: enumeration(["failed", "exhausted"]), ending, fault }),
]);
const base = { run: count, restarts: count };
const stopIntent = {
  next: enumeration(["idle", "start", "policy"]),
  cause: enumeration(["operator", "terminate", "watch", "itself", ...FAULTS]),
  sleeps: optional(literal(true)),
};
const child = { pid, started: monotonicMs, since: monotonicMs };
const stopping = { ...base, ...stopIntent, status: literal("stopping") };

const slotState = union([
  openObject({ ...base, status: literal("idle"), outcome }),
  openObject({ ...base, status: literal("waiting") }),
  openObject({ ...base, status: literal("starting"), hookSince: optional(monotonicMs) }),
  openObject({
    ...base,
    status: literal("running"),
    pid,
    since: monotonicMs,
    ready: boolean(),
    healthy: optional(boolean()),
  }),
  openObject({ ...stopping, phase: literal("spawning"), held: optional(boolean()), hookSince: optional(monotonicMs) }),
  openObject({ ...stopping, ...child, phase: enumeration(["held", "grace", "terminate", "kill"]) }),
  openObject({
    ...stopping,
    ...child,
    phase: enumeration(["sweep", "sweep-kill"]),
    isSwept: optional(boolean()),
    ending,
  }),
  openObject({ ...base, status: literal("backoff"), until: monotonicMs, ending, fault }),
]);

const metTime = optional(openObject({ planned: count, at: monotonicMs }));
const processSnapshot = openObject({
  blocked: boolean(),
  held: optional(list(string())),
  slots: map(slotState),
  planned: optional(openObject({ start: optional(count), terminate: optional(count) })),
  met: optional(openObject({ start: metTime, terminate: metTime })),
  missed: optional(
    openObject({ first: count, last: count, times: count, isCapped: boolean(), isMadeUpFor: boolean() }),
  ),
  declared: optional(map(monotonicMs)),
});

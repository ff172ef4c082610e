/** What a service leaves to its successor about one process. It comes back from a disk: its shape is checked, not trusted. */
import { count, either, literal, mapOf, number, optional, record, type Shape, text, truth } from "../base/shape.ts";
import type { Fault, Instance } from "./states.ts";
import type { Planned } from "./timetable.ts";

export type Memory = {
  readonly blocked: boolean;
  /** States by slot: the process's own is named as the process, those of overlapping runs have a number behind: `web:2`. */
  readonly slots: Readonly<Record<string, Instance>>;
  /** The next times of its schedules. */
  readonly planned?: Planned;
};

type Kept = Pick<Memory, "blocked" | "planned"> & { readonly slots: readonly { readonly id: string; readonly state: Instance }[] };

export function memoryOf({ slots, ...rest }: Kept): Memory {
  return { ...rest, slots: Object.fromEntries(slots.map(({ id, state }) => [id, state])) };
}

export function isMemory(value: unknown, id: string): value is Memory {
  return shape(value) && Object.keys((value as Memory).slots).every((slot) => slot === id || isFurtherSlot(slot, id));
}

/** `web:2` of `web`. */
function isFurtherSlot(slot: string, id: string): boolean {
  return slot.startsWith(`${id}:`) && /^[1-9]\d{0,8}$/.test(slot.slice(id.length + 1));
}

/** Monotonic milliseconds; no machine is up for three hundred years. */
const moment: Shape = (value) => number(value) && Math.abs(value as number) < 1e13;

/** 0 and 1 would be signalled as "everybody". */
const pid: Shape = (value) => count(value) && (value as number) > 1;

const occupied = optional(record({ port: count, by: text }));
const told = { outOfMemory: optional(literal(true)), occupied, at: optional(moment) };
const ending = either(
  record({ kind: literal("exited"), code: either(number, literal(null)), signal: either(text, literal(null)), ...told }),
  record({ kind: literal("unstartable"), message: text, permanent: truth, exitCode: optional(count), at: optional(moment) }),
  record({ kind: literal("unknown"), ...told }),
);
const FAULTS = ["timeout", "unready", "unhealthy", "memory"] as const satisfies readonly Fault[];
const fault = optional(literal(...FAULTS));
const outcome = either(
  record({ kind: literal("never-started") }),
  record({ kind: literal("stopped"), ending: optional(ending) }),
  record({ kind: literal("finished"), ending }),
  record({ kind: literal("failed", "exhausted"), ending, fault }),
);
const base = { run: count, restarts: count };
const plan = { next: literal("idle", "start", "policy"), cause: literal("operator", "terminate", "watch", "itself", ...FAULTS) };
const child = { pid, started: moment, since: moment };
const stopping = { ...base, ...plan, status: literal("stopping") };

const instance = either(
  record({ ...base, status: literal("idle"), outcome }),
  record({ ...base, status: literal("waiting", "starting") }),
  record({ ...base, status: literal("running"), pid, since: moment, ready: truth, healthy: optional(truth) }),
  record({ ...stopping, phase: literal("spawning"), held: optional(truth) }),
  record({ ...stopping, ...child, phase: literal("held", "grace", "terminate", "kill") }),
  record({ ...stopping, ...child, phase: literal("sweep", "sweep-kill"), ending }),
  record({ ...base, status: literal("backoff"), until: moment, ending, fault }),
);

const shape = record({
  blocked: truth,
  slots: mapOf(instance),
  planned: optional(record({ start: optional(count), terminate: optional(count) })),
});

/** State of procman and its machine, with the schema. */
import {
  enumeration,
  integer,
  list,
  number,
  openObject,
  optional,
  reference,
  schemaFor,
  string,
  time,
} from "../base/schema.ts";
import { PART, type PartRecord } from "./part-record.ts";
import type { PluginRecord } from "./plugin-record.ts";
import type { MemoryRecord, Status } from "./records.ts";
import { ROLLED_BY, type RolloutMark } from "./rollout-mark.ts";

/** The machine. */
export type SystemRecord = {
  readonly hostname: string;
  /** As Node names it: `linux`, `darwin`. */
  readonly platform: string;
  /** Kernel release, as `uname -r` prints it. */
  readonly release: string;
  readonly arch: string;
  readonly cpus: number;
  /** Load averages over 1, 5 and 15 minutes. */
  readonly loadAverage: readonly number[];
  readonly totalMemoryBytes: number;
  readonly freeMemoryBytes: number;
  readonly uptimeSeconds: number;
};

export const RELOAD_RESULTS = ["running", "done", "rolled-back"] as const;

/** `why`: who or what asked for it, such as `asked by cli`. `problem`: why it was rolled back, if that is known. */
export type ReloadRecord = {
  readonly time: string;
  readonly why: string;
  readonly result: (typeof RELOAD_RESULTS)[number];
  readonly problem?: string;
};

export type StateRecord = {
  readonly name: string;
  readonly version: string;
  /** Pid of the keeper, which is the one to signal. */
  readonly pid: number;
  readonly status: "running" | "terminating";
  /** Start of the service, and time of this record. */
  readonly started: string;
  readonly updated: string;
  readonly uptimeSeconds: number;
  readonly configFile: string;
  /** The profile that is merged over the rest of the file, if any. */
  readonly profile?: string;
  /** What the file has that is not applied. `invalid`: the changed file is not valid. */
  readonly unapplied?: "changes" | "invalid";
  /** Absent: there was none since procman was started. */
  readonly lastReload?: ReloadRecord;
  /** Absent: it takes part in no rollout over several hosts. */
  readonly rollout?: RolloutMark & { readonly time: string };
  /** Absent: no API is reachable. */
  readonly api?: { readonly hostname: string; readonly port: number };
  /** How long the log and the metrics are stored; 0: not at all. */
  readonly internalLogHours: number;
  /** Memory of the service. Bytes. */
  readonly memory: MemoryRecord;
  /** CPU use of the service since its start. 100 is one core. */
  readonly cpuPercent: number;
  readonly system: SystemRecord;
  readonly runtime: { readonly name: string; readonly version: string };
  /** procman's own processes: keeper, service, logger, and the balancer while one is wanted. */
  readonly parts: readonly PartRecord[];
  readonly processes: { readonly total: number } & Readonly<Partial<Record<Status, number>>>;
  /** Absent: the configuration has none. */
  readonly plugins?: readonly PluginRecord[];
};

const MEMORY = schemaFor<MemoryRecord>(
  {
    rss: integer({ description: "Resident memory. Bytes." }),
    heapTotal: integer({ description: "JavaScript heap. Bytes." }),
    heapUsed: integer({ description: "Used part of the heap. Bytes." }),
    external: integer({ description: "Outside of the heap. Bytes." }),
  },
  { description: "Memory of the service." },
);

const SYSTEM = schemaFor<SystemRecord>(
  {
    hostname: string({ description: "Its name." }),
    platform: string({ description: "As Node names it: `linux`, `darwin`." }),
    release: string({ description: "Of the kernel." }),
    arch: string({ description: "As Node names it: `x64`, `arm64`." }),
    cpus: integer({ description: "Processors that can be used." }),
    loadAverage: list(number(), { description: "Of 1, 5 and 15 minutes." }),
    totalMemoryBytes: integer({ description: "Total memory." }),
    freeMemoryBytes: integer({ description: "Free memory." }),
    uptimeSeconds: integer({ description: "Since the machine was started." }),
  },
  { description: "The machine." },
);

export const RELOAD = schemaFor<ReloadRecord>(
  {
    time: time({ description: "When it began." }),
    why: string({ description: "Who or what asked for it, such as `asked by cli`." }),
    result: enumeration(RELOAD_RESULTS),
    problem: optional(string({ description: "Why it was rolled back." })),
  },
  { description: "The last reload; absent: there was none since procman was started." },
);

export const STATE = schemaFor<StateRecord>(
  {
    name: string({ description: "Name of the configuration." }),
    version: string({ description: "Of procman." }),
    pid: integer({ description: "Of procman's keeper: the one to signal." }),
    status: enumeration(["running", "terminating"]),
    started: time({ description: "Start of the service." }),
    updated: time({ description: "Time of this record." }),
    uptimeSeconds: number({ description: "Time between the two." }),
    configFile: string({ description: "Absolute path of the configuration." }),
    profile: optional(string({ description: "The profile that is merged over the rest of the file; absent: none." })),
    unapplied: optional(
      enumeration(["changes", "invalid"], {
        description: "The file has changes that are not applied, or is not valid now; absent: neither.",
      }),
    ),
    lastReload: optional(RELOAD),
    rollout: optional(
      schemaFor<NonNullable<StateRecord["rollout"]>>(
        {
          id: string({ description: "Its id, the same on all hosts." }),
          by: ROLLED_BY,
          time: time({ description: "When it began." }),
        },
        { description: "The rollout over several hosts that it takes part in; absent: none." },
      ),
    ),
    api: optional(
      schemaFor<NonNullable<StateRecord["api"]>>(
        { hostname: string({ description: "Address." }), port: integer({ description: "Port." }) },
        { description: "Where the API listens." },
      ),
    ),
    internalLogHours: number({ description: "How long the log and the metrics are stored; 0: not at all." }),
    memory: MEMORY,
    cpuPercent: number({ description: "Of the service, since its start. 100 is one core." }),
    system: SYSTEM,
    runtime: schemaFor<StateRecord["runtime"]>(
      { name: string({ description: "`node`." }), version: string({ description: "Such as `24.1.0`." }) },
      { description: "Runtime of the service." },
    ),
    parts: list(PART, { description: "procman's own processes." }),
    processes: openObject(
      { total: integer({ description: "All processes." }) },
      { description: "Numbers of processes, in total and by status.", additionalProperties: integer() },
    ),
    plugins: optional(
      list(reference<PluginRecord>("PluginRecord"), {
        description: "Plugins of the configuration; absent: it has none.",
      }),
    ),
  },
  { description: "State of procman." },
);

/** What procman says of itself and its machine, with its schema. */
import { enumeration, integer, list, number, openObject, optional, reference, schemaFor, string, time } from "../base/schema.ts";
import type { PluginRecord } from "./plugin-record.ts";
import type { MemoryRecord, Status } from "./records.ts";

/** The machine. */
export type SystemRecord = {
  readonly hostname: string;
  /** As Node names it: `linux`, `darwin`. */
  readonly platform: string;
  /** Of the kernel. */
  readonly release: string;
  readonly arch: string;
  readonly cpus: number;
  /** Of 1, 5 and 15 minutes. */
  readonly loadAverage: readonly number[];
  readonly totalMemoryBytes: number;
  readonly freeMemoryBytes: number;
  readonly uptimeSeconds: number;
};

export type StateRecord = {
  readonly name: string;
  readonly version: string;
  /** Of the keeper: the one to signal. */
  readonly pid: number;
  readonly status: "running" | "terminating";
  /** Begin of the service, and when this was said. */
  readonly started: string;
  readonly updated: string;
  readonly uptimeSeconds: number;
  readonly configFile: string;
  /** Absent: it is not reached by any. */
  readonly api?: { readonly hostname: string; readonly port: number };
  /** Of the service. Bytes. */
  readonly memory: MemoryRecord;
  /** Of the service, since its start. 100 is one core. */
  readonly cpuPercent: number;
  readonly system: SystemRecord;
  readonly runtime: { readonly name: string; readonly version: string };
  readonly processes: { readonly total: number } & Readonly<Partial<Record<Status, number>>>;
  /** Absent: the configuration has none. */
  readonly plugins?: readonly PluginRecord[];
};

const MEMORY = schemaFor<MemoryRecord>(
  {
    rss: integer({ description: "All that is resident. Bytes." }),
    heapTotal: integer({ description: "Of the JavaScript heap. Bytes." }),
    heapUsed: integer({ description: "Used of it. Bytes." }),
    external: integer({ description: "Outside of it. Bytes." }),
  },
  { description: "Memory of the service, as it sees itself." },
);

const SYSTEM = schemaFor<SystemRecord>(
  {
    hostname: string({ description: "Its name." }),
    platform: string({ description: "As Node names it: `linux`, `darwin`." }),
    release: string({ description: "Of the kernel." }),
    arch: string({ description: "As Node names it: `x64`, `arm64`." }),
    cpus: integer({ description: "Processors that can be used." }),
    loadAverage: list(number(), { description: "Of 1, 5 and 15 minutes." }),
    totalMemoryBytes: integer({ description: "All of it." }),
    freeMemoryBytes: integer({ description: "Of it." }),
    uptimeSeconds: integer({ description: "Since the machine was started." }),
  },
  { description: "The machine." },
);

export const STATE = schemaFor<StateRecord>(
  {
    name: string({ description: "Name of the configuration." }),
    version: string({ description: "Of procman." }),
    pid: integer({ description: "Of procman's keeper: the one to signal." }),
    status: enumeration(["running", "terminating"]),
    started: time({ description: "Begin of the service." }),
    updated: time({ description: "When this was said." }),
    uptimeSeconds: number({ description: "From one to the other." }),
    configFile: string({ description: "Absolute path of the configuration." }),
    api: optional(
      schemaFor<NonNullable<StateRecord["api"]>>(
        { hostname: string({ description: "Address." }), port: integer({ description: "Port." }) },
        { description: "Where the API listens." },
      ),
    ),
    memory: MEMORY,
    cpuPercent: number({ description: "Of the service, since its start. 100 is one core." }),
    system: SYSTEM,
    runtime: schemaFor<StateRecord["runtime"]>(
      { name: string({ description: "`node`." }), version: string({ description: "As `24.1.0`." }) },
      { description: "What the service runs on." },
    ),
    processes: openObject(
      { total: integer({ description: "In all." }) },
      { description: "How many there are, in all and by status.", additionalProperties: integer() },
    ),
    plugins: optional(list(reference<PluginRecord>("PluginRecord"), { description: "Of the configuration; absent: it has none." })),
  },
  { description: "State of the application." },
);

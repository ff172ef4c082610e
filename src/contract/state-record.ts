/** What procman says of itself and its machine, with its schema. */
import type { PluginRecord } from "./plugin-record.ts";
import type { MemoryRecord, Status } from "./records.ts";
import { listOf, number, record, text, time, whole } from "./schema-words.ts";

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

const MEMORY = record<MemoryRecord>("Memory of the service, as it sees itself.", [], {
  rss: whole("All that is resident. Bytes."),
  heapTotal: whole("Of the JavaScript heap. Bytes."),
  heapUsed: whole("Used of it. Bytes."),
  external: whole("Outside of it. Bytes."),
});

const SYSTEM = record<SystemRecord>("The machine.", [], {
  hostname: text("Its name."),
  platform: text("As Node names it: `linux`, `darwin`."),
  release: text("Of the kernel."),
  arch: text("As Node names it: `x64`, `arm64`."),
  cpus: whole("Processors that can be used."),
  loadAverage: { type: "array", items: { type: "number" }, description: "Of 1, 5 and 15 minutes." },
  totalMemoryBytes: whole("All of it."),
  freeMemoryBytes: whole("Of it."),
  uptimeSeconds: whole("Since the machine was started."),
});

export const STATE = record<StateRecord>("State of the application.", ["api", "plugins"], {
  name: text("Name of the configuration."),
  version: text("Of procman."),
  pid: whole("Of procman's keeper: the one to signal."),
  status: { type: "string", enum: ["running", "terminating"] },
  started: time("Begin of the service."),
  updated: time("When this was said."),
  uptimeSeconds: number("From one to the other."),
  configFile: text("Absolute path of the configuration."),
  api: record<NonNullable<StateRecord["api"]>>("Where the API listens.", [], { hostname: text("Address."), port: whole("Port.") }),
  memory: MEMORY,
  cpuPercent: number("Of the service, since its start. 100 is one core."),
  system: SYSTEM,
  runtime: record<StateRecord["runtime"]>("What the service runs on.", [], { name: text("`node`."), version: text("As `24.1.0`.") }),
  processes: {
    type: "object",
    description: "How many there are, in all and by status.",
    required: ["total"],
    properties: { total: whole("In all.") },
    additionalProperties: { type: "integer" },
  },
  plugins: listOf("PluginRecord", "Of the configuration; absent: it has none."),
});

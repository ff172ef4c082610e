/** A test kit for authors of plugins: runs the plugin in the test program, without procman. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PlanRecord } from "../contract/plan.ts";
import type { LogEntry, LogItem, LogPage, ProcessRecord, Severity } from "../contract/records.ts";
import type { Incident } from "../contract/run-summary.ts";
import type { StateRecord } from "../contract/state-record.ts";
import { ASKED, type PluginEvent } from "../ipc/plugin-protocol.ts";
import { EventListeners } from "./event-listeners.ts";
import type { Plugin, PluginControl } from "./plugin.ts";
import { optionsFor, pluginIn } from "./plugin-definition.ts";

/** A record for a test: what it leaves out is that of a running process. */
export type RigProcess = Partial<ProcessRecord> & Pick<ProcessRecord, "id">;

/** An event for a test: what it leaves out, the rig fills in. */
export type RigEvent = PartsOf<PluginEvent>;

type PartsOf<Event> = Event extends PluginEvent
  ? Pick<Event, "type"> & {
      readonly [Name in Exclude<keyof Event, "type">]?: Event[Name] extends object ? Partial<Event[Name]> : Event[Name];
    }
  : never;

export type RigOptions = {
  /** As in the configuration; checked by the plugin's schema. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Answers of `control.processes()` and `control.process(id)`. */
  readonly processes?: readonly RigProcess[];
  /** Methods of `control` to replace. */
  readonly control?: Partial<PluginControl>;
  /** `folder` of the context. Default: a new one, which `close` removes. */
  readonly folder?: string;
};

export type PluginRig = {
  /** Resolves when all listeners of the plugin have handled the event. */
  readonly emit: (event: RigEvent) => Promise<void>;
  /** Adds a log line, which `control.follow` yields. */
  readonly line: (entry: Partial<LogEntry> & { readonly text: string }) => void;
  /** Lines that the plugin has logged. */
  readonly said: readonly { readonly severity: Severity; readonly text: string }[];
  /** Its calls of `control`, like `["act", "web", "restart"]`. */
  readonly asked: readonly (readonly [string, ...unknown[]])[];
  readonly folder: string;
  /** Ends the plugin as procman does: aborts its signal, awaits its `dispose`. */
  readonly close: () => Promise<void>;
};

/**
 * Sets up a plugin with a `control` that answers from data and records its calls.
 *
 * @throws what the plugin's `setup` throws, or an error about its options
 * @example
 * const rig = await testPlugin(plugin, { options: { file } });
 * await rig.emit({ type: "process.incident", incident: { process: "web", reason: "exited with code 3" } });
 * assert.deepEqual(rig.asked, [["act", "web", "stop"]]);
 * await rig.close();
 */
export async function testPlugin<Options>(plugin: Plugin<Options>, options: RigOptions = {}): Promise<PluginRig> {
  const checked = pluginIn(plugin);
  const stop = new AbortController();
  const said: { severity: Severity; text: string }[] = [];
  const asked: [string, ...unknown[]][] = [];
  const say = (severity: Severity) => (text: string) => void said.push({ severity, text });
  const listeners = new EventListeners(() => undefined, say("error"));
  const lines = new TestLines();
  const valid = await optionsFor(checked, options.options ?? {});
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "procman-plugin-"));
  const removeFolder = (): void => {
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  };
  const setUp = async () =>
    checked.setup({
      control: recording(
        { ...answering((options.processes ?? []).map(whole), lines), ...options.control } as PluginControl,
        asked,
      ),
      events: listeners,
      options: valid as never,
      log: { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") },
      signal: stop.signal,
      folder,
      name: "test",
    });
  const dispose = await setUp().catch((error: unknown) => {
    removeFolder();
    throw error;
  });
  return {
    emit: (event) => listeners.deliver([wholeEvent(event)]),
    line: (entry) => lines.add(entry),
    said,
    asked,
    folder,
    close: async () => {
      stop.abort();
      await dispose?.();
      removeFolder();
    },
  };
}

const PROCESS = { type: "process", status: "running", blocked: false, restarts: 0, reason: "runs" } as const;

const INCIDENT: Omit<Incident, "time"> = {
  process: "",
  run: 1,
  reason: "exited with code 1",
  cause: "exit",
  decision: "is not restarted",
  lines: [],
  metrics: [],
};

function whole(process: RigProcess): ProcessRecord {
  return { ...PROCESS, ...process } as ProcessRecord;
}

function wholeEvent(event: RigEvent): PluginEvent {
  const time = new Date().toISOString();
  if (event.type === "gap") return { lost: 1, ...event };
  const inner =
    event.type === "process.incident"
      ? { incident: { ...INCIDENT, time, ...event.incident } }
      : event.type === "process.state"
        ? { process: { ...PROCESS, id: "", ...event.process } }
        : {};
  return { id: "1", time, ...event, ...inner } as PluginEvent;
}

/** The log lines of the rig; each reader gets all, as from the log store. */
class TestLines {
  readonly #entries: LogEntry[] = [];
  #wake = (): void => undefined;

  add(entry: Partial<LogEntry> & { readonly text: string }): void {
    this.#entries.push({ time: new Date().toISOString(), severity: "info", category: "stdout", ...entry });
    this.#wake();
  }

  async *follow(cursor: string | undefined, signal: AbortSignal): AsyncGenerator<LogItem> {
    for (let next = Number(cursor ?? 0); !signal.aborted; next += 1) {
      while (next >= this.#entries.length && !signal.aborted)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      const entry = this.#entries[next];
      if (entry !== undefined && !signal.aborted) yield { type: "entry", entry, cursor: String(next + 1) };
    }
  }
}

function answering(processes: readonly ProcessRecord[], lines: TestLines): PluginControl {
  const find = async (id: string): Promise<ProcessRecord> => {
    const found = processes.find((process) => process.id === id);
    if (found === undefined)
      throw new Error(`Cannot find process ${JSON.stringify(id)}: the rig has no process with this id`);
    return found;
  };
  const none = async (): Promise<[]> => [];
  const answers: Partial<PluginControl> = {
    processes: async () => processes,
    process: find,
    state: async () => STATE,
    act: find,
    definitions: async () => [],
    scale: find,
    signal: find,
    plan: async () => PLAN,
    reload: async () => PLAN,
    terminate: async () => undefined,
    logs: async (): Promise<LogPage> => ({ entries: [] }),
    follow: ({ cursor }, signal) => lines.follow(cursor, signal),
    flush: async () => ({ processes: [], store: true, files: [], kept: [] }),
    log: async ({ text, severity = "info" }) => ({ time: new Date().toISOString(), severity, category: "log", text }),
    telemetry: async () => undefined,
    metrics: none,
    incidents: none,
    history: none,
    runs: async () => ({ runs: [] }),
    prometheus: async () => "",
  };
  return { ...Object.fromEntries(ASKED.map((name) => [name, () => unanswered(name)])), ...answers } as PluginControl;
}

function unanswered(name: string): Promise<never> {
  return Promise.reject(new Error(`Cannot answer ${name}: give the rig an answer, by "control" of its options`));
}

const PLAN: PlanRecord = { configFile: "", processes: [], settings: [], warnings: [] };

const STATE: StateRecord = {
  name: "test",
  version: "0.0.0",
  pid: 1,
  status: "running",
  started: "2026-01-01T00:00:00.000Z",
  updated: "2026-01-01T00:00:00.000Z",
  uptimeSeconds: 0,
  configFile: "",
  internalLogHours: 24,
  parts: [],
  memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 },
  cpuPercent: 0,
  system: {
    hostname: "test",
    platform: "linux",
    release: "1",
    arch: "x64",
    cpus: 1,
    loadAverage: [0, 0, 0],
    totalMemoryBytes: 1,
    freeMemoryBytes: 1,
    uptimeSeconds: 1,
  },
  runtime: { name: "node", version: "20.19.0" },
  processes: { total: 0 },
};

/** `control` with each call recorded. */
function recording(control: PluginControl, asked: [string, ...unknown[]][]): PluginControl {
  const recorded = Object.entries(control).map(([name, method]) => [
    name,
    (...args: unknown[]) => {
      asked.push([name, ...args]);
      return (method as (...args: unknown[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(recorded) as PluginControl;
}

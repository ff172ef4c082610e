/** What has changed between two configurations, and what that asks of the processes that run. */
import { isDeepStrictEqual } from "node:util";
import type { PlannedSetting } from "../contract/plan.ts";
import type { Policy } from "../supervisor/restart-policy.ts";
import { API, TOP } from "./config-schema.ts";
import type { Field, Fields } from "./fields/field.ts";
import { LOGGER } from "./fields/logger-fields.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { isCaptured } from "./normalise.ts";
import type { Config, ProcessSpec } from "./spec.ts";

export type ChangedProcesses = {
  readonly id: string;
  /** What has changed, by the names in the file. */
  readonly fields: readonly string[];
  /** What a run consists of has changed: it takes a new run to make that true. */
  readonly restart: boolean;
  /** The output of its runs goes elsewhere, or looks otherwise, which is no matter for the runs themselves. */
  readonly route: boolean;
};

export type Diff = {
  /** Ids, in the order of now. */
  readonly added: readonly string[];
  /** Ids, in the order of before. */
  readonly removed: readonly string[];
  readonly changed: readonly ChangedProcesses[];
};

type Part = Exclude<keyof ProcessSpec, "id" | "command" | "policy" | "log">;

/** `cluster` is one field in the file. How the balancer serves its common port is no matter for the runs. */
const OF_CLUSTER = { cluster: true, front: false, share: true } as const;

/** Whether a run must be started anew to have another value. */
const RESTARTS: Readonly<Record<Part, boolean>> = {
  ...(Object.fromEntries(
    Object.entries(PROCESS).flatMap(([name, row]) => ("spec" in row ? [[name, row.onChange === "restart"]] : [])),
  ) as Record<Exclude<Part, keyof typeof OF_CLUSTER>, boolean>),
  ...OF_CLUSTER,
};

const POLICY_NAMES: Readonly<Record<keyof Policy, string>> = {
  restart: "restart",
  restartDelayMs: "restartDelayMs",
  restartLimit: "restartLimit",
  restartResetMs: "restartResetMs",
  graceMs: "terminateGracePeriod",
  terminateMs: "terminateTimeout",
  timeoutMs: "timeout",
  readyMs: "ready",
  waits: "dependsOn",
  stopSignal: "stopSignal",
};

/** Processes are the same when their ids are; ids differ within a configuration. */
export function diff(before: readonly ProcessSpec[], now: readonly ProcessSpec[]): Diff {
  const former = new Map(before.map((spec) => [spec.id, spec]));
  const present = new Set(now.map(({ id }) => id));
  return {
    added: now.filter(({ id }) => !former.has(id)).map(({ id }) => id),
    removed: before.filter(({ id }) => !present.has(id)).map(({ id }) => id),
    changed: now.flatMap((spec) => changeOf(former.get(spec.id) ?? spec, spec)),
  };
}

function changeOf(before: ProcessSpec, now: ProcessSpec): readonly ChangedProcesses[] {
  if (before === now) return [];
  const isOther = (name: keyof ProcessSpec): boolean => !isDeepStrictEqual(before[name], now[name]);
  const command = isOther("command") ? [now.command.kind === "worker" ? "worker" : "cmd"] : [];
  const plain = namesOf(RESTARTS).filter(isOther);
  const policy = namesOf(POLICY_NAMES).filter((name) => before.policy[name] !== now.policy[name]);
  const logger = isOther("log") ? ["logger"] : [];
  const named = new Set(plain.map((name) => (name in OF_CLUSTER ? "cluster" : name)));
  const fields = [...new Set([...command, ...named, ...policy.map((name) => POLICY_NAMES[name]), ...logger])];
  if (fields.length === 0) return [];
  const [wasCaptured, captured] = [isCaptured(before.log), isCaptured(now.log)];
  return [
    {
      id: now.id,
      fields,
      restart:
        command.length > 0 ||
        plain.some((name) => RESTARTS[name]) ||
        descriptorOf(before) !== descriptorOf(now) ||
        wasCaptured !== captured,
      route: logger.length > 0 && wasCaptured && captured,
    },
  ];
}

/** What a run gets at its start and has no other way to. */
function descriptorOf({ ready }: ProcessSpec): number | undefined {
  return ready?.kind === "fd" ? ready.fd : undefined;
}

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(table) as Name[];
}

type SettingsOf<Rows, Prefix extends string> = {
  readonly [Name in keyof Rows & string as Rows[Name] extends { readonly onChange: unknown } ? `${Prefix}${Name}` : never]: (
    config: Config,
  ) => unknown;
};

/** What counts for all processes: the value of each field whose row says what a change does. */
const SETTINGS: SettingsOf<typeof TOP, ""> & SettingsOf<typeof API, "api."> & SettingsOf<typeof LOGGER, "logger."> = {
  name: ({ name }) => name,
  "api.hostname": ({ api }) => api.hostname,
  "api.port": ({ api }) => api.port,
  "api.revoked": ({ api }) => api.revoked,
  "api.cors": ({ api }) => api.cors,
  watcher: ({ watcher }) => watcher,
  plugins: ({ plugins }) => plugins,
  "logger.decorate": ({ console }) => console.decorate,
  "logger.colors": ({ console }) => console.colors,
  "logger.internalLogHours": ({ internalLogHours }) => internalLogHours,
  "logger.internalLogSize": ({ internalLogBytes }) => internalLogBytes,
};

/** What has changed beside the processes, and when that takes effect. */
export function changedSettings(before: Config, now: Config): readonly PlannedSetting[] {
  return namesOf(SETTINGS)
    .filter((field) => !isDeepStrictEqual(SETTINGS[field](before), SETTINGS[field](now)))
    .map((field) => ({ field, takesEffect: rowOf(field)?.onChange === "next-run" ? "next-run" : "in-place" }));
}

function rowOf(field: string): Field | undefined {
  const [section = "", name = ""] = field.split(".");
  const sections: Readonly<Record<string, Fields>> = { api: API, logger: LOGGER };
  return name === "" ? (TOP as Fields)[section] : sections[section]?.[name];
}

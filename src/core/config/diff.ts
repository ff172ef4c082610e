/** Differences between two configurations, and what they mean for running processes. */
import { isDeepStrictEqual } from "node:util";
import type { PlannedSetting } from "../contract/plan.ts";
import { POLICY, type Policy } from "../supervisor/restart-policy.ts";
import { readyDescriptor } from "./checks/probe-checks.ts";
import { API, TOP } from "./config-schema.ts";
import type { Field, Fields } from "./fields/field.ts";
import { LOGGER } from "./fields/logger-fields.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { isCaptured } from "./normalise.ts";
import type { Config, ProcessSpec } from "./spec.ts";

export type ChangedProcess = {
  readonly id: string;
  /** The changed fields, by their names in the file. */
  readonly fields: readonly string[];
  /** The change takes effect only with a new run. */
  readonly restart: boolean;
  /** The output goes elsewhere, or has another format; the run itself isn't affected. */
  readonly route: boolean;
};

export type Diff = {
  /** Ids, in the order of the new configuration. */
  readonly added: readonly string[];
  /** Ids, in the order of the old configuration. */
  readonly removed: readonly string[];
  readonly changed: readonly ChangedProcess[];
};

type Part = Exclude<keyof ProcessSpec, "id" | "command" | "policy" | "log">;

/** Parts that are one field, `cluster`, in the file; the value says whether a change needs a new run. */
const CLUSTER_PARTS = { cluster: true, front: false, share: true } as const;

/** Whether a change of the part needs a new run. */
const RESTARTS: Readonly<Record<Part, boolean>> = {
  ...(Object.fromEntries(
    Object.entries<Field>(PROCESS).flatMap(([name, { spec, copied = spec, onChange }]) =>
      copied === undefined ? [] : [[name, onChange === "restart"]],
    ),
  ) as Record<Exclude<Part, keyof typeof CLUSTER_PARTS>, boolean>),
  ...CLUSTER_PARTS,
};

/** The field of a part of the policy, where it has another name. */
const POLICY_FIELDS: Readonly<Partial<Record<keyof Policy, string>>> = {
  graceMs: "terminateGracePeriod",
  terminateMs: "terminateTimeout",
  readyMs: "ready",
  idleMs: "idle",
  waits: "dependsOn",
  beforeStart: "hooks",
  afterStop: "hooks",
  ...Object.fromEntries(
    Object.entries<Field>(PROCESS).flatMap(([name, { policy }]) => (policy === undefined ? [] : [[policy, name]])),
  ),
};

/** Processes are compared by id; ids are unique within a configuration. */
export function diff(before: readonly ProcessSpec[], now: readonly ProcessSpec[]): Diff {
  const previous = new Map(before.map((spec) => [spec.id, spec]));
  const present = new Set(now.map(({ id }) => id));
  return {
    added: now.filter(({ id }) => !previous.has(id)).map(({ id }) => id),
    removed: before.filter(({ id }) => !present.has(id)).map(({ id }) => id),
    changed: now.flatMap((spec) => changeOf(previous.get(spec.id) ?? spec, spec)),
  };
}

function changeOf(before: ProcessSpec, now: ProcessSpec): readonly ChangedProcess[] {
  if (before === now) return [];
  const isOther = (name: keyof ProcessSpec): boolean => !isDeepStrictEqual(before[name], now[name]);
  const command = isOther("command") ? [now.command.kind === "worker" ? "worker" : "cmd"] : [];
  const plain = namesOf(RESTARTS).filter(isOther);
  const policy = namesOf(POLICY).filter((name) => !isDeepStrictEqual(before.policy[name], now.policy[name]));
  const logger = isOther("log") ? ["logger"] : [];
  // The port of a process without a cluster is part of another field.
  const section = (now.cluster ?? before.cluster) === undefined ? "idle" : "cluster";
  const named = new Set(plain.map((name) => (name in CLUSTER_PARTS ? section : name)));
  const fields = [...new Set([...command, ...named, ...policy.map((name) => POLICY_FIELDS[name] ?? name), ...logger])];
  if (fields.length === 0) return [];
  const wasCaptured = isCaptured(before.log);
  const captured = isCaptured(now.log);
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

/** The ready descriptor, which a run can get only at its start. */
function descriptorOf({ ready }: ProcessSpec): number | undefined {
  return ready === undefined ? undefined : readyDescriptor(ready);
}

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(table) as Name[];
}

type SettingsOf<Rows, Prefix extends string> = {
  readonly [Name in keyof Rows & string as Rows[Name] extends { readonly onChange: unknown }
    ? `${Prefix}${Name}`
    : never]: (config: Config) => unknown;
};

/** The value of each field outside of `processes` whose row has `onChange`. */
const SETTINGS: SettingsOf<typeof TOP, ""> & SettingsOf<typeof API, "api."> & SettingsOf<typeof LOGGER, "logger."> = {
  name: ({ name }) => name,
  api: ({ api }) => api.isOff,
  "api.hosts": ({ api }) => api.hosts,
  "api.hostname": ({ api }) => api.hostname,
  "api.port": ({ api }) => api.port,
  "api.revoked": ({ api }) => api.revoked,
  "api.exec": ({ api }) => api.exec,
  "api.cors": ({ api }) => api.cors,
  "api.group": ({ api }) => api.group,
  "api.tls": ({ api }) => api.tls,
  watcher: ({ watcher }) => watcher,
  releases: ({ releases }) => releases,
  plugins: ({ plugins }) => plugins,
  "logger.decorate": ({ console }) => console.decorate,
  "logger.colors": ({ console }) => console.colors,
  "logger.format": ({ console }) => console.format,
  "logger.prefix": ({ console }) => console.prefix,
  "logger.internalLogHours": ({ internalLogHours }) => internalLogHours,
  "logger.internalLogSize": ({ internalLogBytes }) => internalLogBytes,
  "logger.levels": ({ levels }) => levels,
};

/** Changed settings outside of `processes`, and when each takes effect. */
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

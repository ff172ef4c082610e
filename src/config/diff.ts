/** What has changed between two configurations, and what that asks of the processes that run. */
import { isDeepStrictEqual } from "node:util";
import type { Policy } from "../supervisor/restart-policy.ts";
import { isCaptured } from "./log-spec.ts";
import type { ProcessSpec } from "./spec.ts";

export type Changed = {
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
  readonly changed: readonly Changed[];
};

/** Whether a run must be started anew to have another value. */
const CONCERNS_RUN: Readonly<Record<Exclude<keyof ProcessSpec, "id" | "command" | "policy" | "log">, boolean>> = {
  cwd: true,
  env: true,
  envFile: true,
  path: true,
  pidFile: true,
  cluster: true,
  ready: false,
  dependsOn: false,
  health: false,
  memoryLimit: false,
  memoryMax: true,
  ulimits: true,
  user: true,
  group: true,
  nice: true,
  umask: true,
  front: false,
  share: true,
  overrun: false,
  autostart: false,
  cron: false,
  watch: false,
  terminate: false,
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

function changeOf(before: ProcessSpec, now: ProcessSpec): readonly Changed[] {
  if (before === now) return [];
  const isOther = (name: keyof ProcessSpec): boolean => !isDeepStrictEqual(before[name], now[name]);
  const command = isOther("command") ? [now.command.kind === "worker" ? "worker" : "cmd"] : [];
  const plain = namesOf(CONCERNS_RUN).filter(isOther);
  const policy = namesOf(POLICY_NAMES).filter((name) => before.policy[name] !== now.policy[name]);
  const logger = isOther("log") ? ["logger"] : [];
  // How a cluster's common port is served is part of "cluster" in the file, but no matter for the runs.
  const named = new Set(plain.map((name) => (name === "front" || name === "share" ? "cluster" : name)));
  const fields = [...new Set([...command, ...named, ...policy.map((name) => POLICY_NAMES[name]), ...logger])];
  if (fields.length === 0) return [];
  const [wasCaptured, captured] = [isCaptured(before.log), isCaptured(now.log)];
  return [
    {
      id: now.id,
      fields,
      restart:
        command.length > 0 ||
        plain.some((name) => CONCERNS_RUN[name]) ||
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

/** The note about the configuration that the current runs were started by, for the next service. */
import { matches } from "../../base/schema-check.ts";
import { type Config, type ProcessSpec, snapshotSchema } from "../../config/spec.ts";
import { isSchedule } from "../../supervisor/schedule.ts";

export type ConfigSnapshot = {
  readonly config: Config;
  /** Processes that are no longer in the configuration but still being stopped. */
  readonly removing: readonly ProcessSpec[];
};

export function writeConfigSnapshot({ config, removing }: ConfigSnapshot): string {
  const { texts: _, ...noted } = config;
  return JSON.stringify({ config: { ...noted, warnings: [] }, leaving: removing });
}

/** undefined: there is no note, or this version doesn't understand it. */
export function readConfigSnapshot(note: string | undefined): ConfigSnapshot | undefined {
  if (note === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(note);
  } catch {
    return undefined;
  }
  if (!matches(value, snapshotSchema)) return undefined;
  const { config, leaving } = value;
  if (![...config.processes, ...leaving].every(hasSchedules)) return undefined;
  const { plugins = [] } = config;
  return {
    config: { ...config, plugins, processes: config.processes.map(withRestartLimit), warnings: [] },
    removing: leaving.map(withRestartLimit),
  };
}

function hasSchedules({ cron, terminate, timeZone }: ProcessSpec): boolean {
  const zone = timeZone === undefined ? {} : { timeZone };
  return [cron, terminate].every((pattern) => pattern === undefined || isSchedule({ pattern, ...zone }));
}

/** JSON writes infinity as null. */
function withRestartLimit(spec: ProcessSpec): ProcessSpec {
  const { restartLimit } = spec.policy as { readonly restartLimit: number | null };
  return { ...spec, policy: { ...spec.policy, restartLimit: restartLimit ?? Number.POSITIVE_INFINITY } };
}

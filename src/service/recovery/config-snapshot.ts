/** What a service leaves to its successor about the configuration: the one that the runs of now were started by. */
import { matches } from "../../base/schema-check.ts";
import { type Config, type ProcessSpec, snapshotSchema } from "../../config/spec.ts";
import { isPattern } from "../../supervisor/schedule.ts";

export type ConfigSnapshot = {
  readonly config: Config;
  /** No longer in the configuration, and not over yet. */
  readonly removing: readonly ProcessSpec[];
};

export function writeConfigSnapshot({ config, removing }: ConfigSnapshot): string {
  return JSON.stringify({ config: { ...config, warnings: [] }, leaving: removing });
}

/** undefined: there is none, or none that is understood here. */
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

function hasSchedules({ cron, terminate }: ProcessSpec): boolean {
  return [cron, terminate].every((pattern) => pattern === undefined || isPattern(pattern));
}

/** JSON has no infinity, and says null. */
function withRestartLimit(spec: ProcessSpec): ProcessSpec {
  const { restartLimit } = spec.policy as { readonly restartLimit: number | null };
  return { ...spec, policy: { ...spec.policy, restartLimit: restartLimit ?? Number.POSITIVE_INFINITY } };
}

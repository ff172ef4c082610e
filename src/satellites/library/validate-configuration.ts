/** The check of a configuration, for programs. */

import type {
  ApiConfiguration,
  ClusterConfiguration,
  Configuration,
  GlobalLoggerConfiguration,
  HealthConfiguration,
  ProcessConfiguration,
  ReadyConfiguration,
  RotationConfiguration,
  ScaleConfiguration,
  WatcherConfiguration,
} from "../../../generated/configuration.ts";
import { withDefaults } from "../../core/config/defaults.ts";
import { deepFreeze } from "../../core/config/normalise.ts";
import type { ConfigProblem } from "../../core/config/spec.ts";
import { type CheckOptions, checkConfiguration } from "../../core/config/validate.ts";

/**
 * The configuration as it is given: helps editors to complete and check it. Nothing is checked at run time; see
 * `validateConfiguration`.
 *
 * @example
 * export default defineConfig({ processes: [{ id: "web", cmd: "node server.js", autostart: true }] });
 */
export function defineConfig(config: Configuration): Configuration {
  return config;
}

/** A part of a configuration in which these fields have a value. */
type Filled<Part, Fields extends keyof Part> = Omit<Part, Fields> & {
  readonly [Field in Fields]-?: Exclude<Part[Field], undefined>;
};

/** `null` takes away what is inherited: where that is written out, there is none. */
type WithoutNull<Part> = { readonly [Field in keyof Part]: Exclude<Part[Field], null> };

/**
 * A process with its defaults filled in, and with what it has by `defaults` and `extends`. What it has of `logger`,
 * `env` and the like of the top level is there alone.
 */
export type CompleteProcess = Omit<
  Filled<
    WithoutNull<ProcessConfiguration>,
    | ("node" | "stdin" | "tty" | "timeout" | "overrun" | "autostart" | "task" | "catchUp" | "jitter")
    | ("restartResetMs" | "minUptimeMs" | "stopSignal" | "killMode")
  >,
  "ready" | "health" | "cluster" | "scale" | "env" | "extends"
> & {
  readonly env?: Configuration["env"];
  readonly ready?: Filled<ReadyConfiguration, "timeout"> | undefined;
  readonly health?: Filled<HealthConfiguration, "interval" | "timeout" | "failures" | "startPeriod"> | undefined;
  readonly cluster?: Filled<ClusterConfiguration, "mode"> | undefined;
  readonly scale?: Filled<ScaleConfiguration, "min" | "max" | "upAfter" | "downAfter"> | undefined;
};

/** A configuration with its defaults filled in, in the shape of the file. */
export type CompleteConfiguration = Omit<
  Filled<Configuration, "name" | "terminateGracePeriod" | "terminateTimeout" | "portRange">,
  "processes" | "defaults" | "logger" | "watcher" | "api"
> & {
  readonly processes: readonly CompleteProcess[];
  readonly logger: Omit<
    Filled<
      GlobalLoggerConfiguration,
      "console" | "decorateFiles" | "decorate" | "colors" | "format" | "prefix" | "internalLogHours" | "internalLogSize"
    >,
    "rotate"
  > & { readonly rotate: false | Filled<RotationConfiguration, "size" | "hours" | "total" | "gzip"> };
  readonly watcher: Filled<WatcherConfiguration, "interval" | "exts" | "match" | "skip">;
  readonly api: false | Filled<ApiConfiguration, "hostname" | "revoked" | "exec" | "hosts" | "cors" | "insecure">;
};

export type ValidateOptions = Omit<CheckOptions, "scale" | "edited" | "ports"> & {
  /** Called with each warning. Warnings concern what is valid, but hardly meant. */
  readonly onWarning?: (warning: ConfigProblem) => void;
};

/**
 * Checks a configuration against the schema and all its rules, and returns it with the defaults filled in, frozen.
 * Takes data, or text in JSON with comments; `Procman.run` and this function take the result in turn, and it means the
 * same.
 *
 * What the configuration has stays as it is written. Relative paths still resolve from the folder that it is run from.
 * What all processes have of the top level (`terminateTimeout`, `logger`) is filled in there alone; what they have by
 * `defaults` and `extends` is in each of them. With `profile` the profile is merged; `profiles` stay.
 *
 * @throws {ConfigurationError} with all problems, for text with line and column; for data both are 0.
 *
 * @example
 * const config = validateConfiguration({ processes: [{ id: "web", cmd: "node server.js", autostart: true }] });
 * config.terminateTimeout; // 30
 * config.processes[0].stopSignal; // "SIGTERM"
 * await Procman.run(config);
 *
 * @example
 * try {
 *   validateConfiguration('{ "processes": [{ "id": "web", "cmd": "node", "restart": "allways" }] }');
 * } catch (error) {
 *   if (!(error instanceof ConfigurationError)) throw error;
 *   error.problems[0].path;    // "processes[0].restart"
 *   error.problems[0].message; // Found "allways"; allowed: "always", "error". Did you mean "always"?
 * }
 */
export function validateConfiguration(
  input: unknown,
  { onWarning, ...options }: ValidateOptions = {},
): CompleteConfiguration {
  const { raw, warnings } = checkConfiguration(input, options);
  for (const warning of warnings) onWarning?.(warning);
  return deepFreeze(withDefaults(raw)) as CompleteConfiguration;
}

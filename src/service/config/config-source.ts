/** Where a service has its configuration from: the file, as the options of `procman run` have it. */
import { join } from "node:path";
import type { Scale } from "../../config/instance-overrides.ts";
import { load } from "../../config/load.ts";
import type { Config } from "../../config/spec.ts";

/** Reads it anew each time, with the numbers of instances that the file says, or others; with the profile of the options, or another. @throws {ProcmanError} `configuration-missing`, `configuration-invalid` */
export type ConfigSource = (scale?: Scale, profile?: string) => Config;

export type ConfigSourceOptions = {
  /** Path of the file. */
  readonly config?: string | undefined;
  readonly profile?: string | undefined;
  readonly console: boolean;
  readonly detached: boolean;
};

export function configSource(options: ConfigSourceOptions): ConfigSource {
  return (scale, profile = options.profile) => withOptions(load(options.config, process.cwd(), profile, scale), options);
}

/** A state folder can't be changed while anything runs. */
export function withStateDir(found: Config, stateDir: string | undefined): Config {
  return stateDir === undefined || found.stateDir === stateDir ? found : { ...found, stateDir };
}

function withOptions(found: Config, options: ConfigSourceOptions): Config {
  const { console, processes, stateDir } = found;
  return {
    ...found,
    processes: options.console ? processes.map((spec) => ({ ...spec, log: { ...spec.log, console: true } })) : processes,
    // Nobody watches it, so the time belongs to each line.
    console: options.detached ? { ...console, decorate: true, file: join(stateDir, "logs/console.log") } : console,
  };
}

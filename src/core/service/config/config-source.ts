/** Reads the configuration file, by the options of `procman run`. */

import { join } from "node:path";
import { compact } from "../../base/compact.ts";
import { readHere } from "../../config/config-file.ts";
import type { Scale } from "../../config/instance-overrides.ts";
import { check } from "../../config/load.ts";
import { namesProcesses, type RunSelection, withSelection } from "../../config/run-selection.ts";
import type { Config } from "../../config/spec.ts";
import { startFolder } from "../../os/start-folder.ts";

/** Reads the file at each call. `scale` replaces instance counts, `profile` is merged; absent: none. `looksAtFiles`: the warnings have what a start would lack here. @throws {ProcmanError} `configuration-missing`, `configuration-invalid` */
export type ConfigSource = (scale?: Scale, profile?: string, looksAtFiles?: boolean) => Config;

export type ConfigSourceOptions = RunSelection & {
  /** Path of the file. */
  readonly config?: string | undefined;
  readonly console: boolean;
  readonly detached: boolean;
  /** A program gets the lines of the console as JSON, and shows them on a terminal or not. */
  readonly front?: "terminal" | "plain" | undefined;
};

export function configSource(options: ConfigSourceOptions): ConfigSource {
  return (scale, profile, looksAtFiles) => {
    const given = compact({
      startsNamed: namesProcesses(options),
      profile,
      scale,
      looksAtFiles,
    });
    return withOptions(check(readHere(options.config, startFolder(options.config)), given), options);
  };
}

/** The state folder can't change while procman runs. */
export function withStateDir(found: Config, stateDir: string | undefined): Config {
  return stateDir === undefined || found.stateDir === stateDir ? found : { ...found, stateDir };
}

function withOptions(found: Config, options: ConfigSourceOptions): Config {
  const { console: configured, processes, stateDir, watcher } = withSelection(found, options);
  const console = options.front === undefined ? shown(configured, options) : styleFor(options.front);
  return {
    ...found,
    watcher,
    processes: processes.map((spec) =>
      options.console || (options.once === true && spec.task === true)
        ? { ...spec, log: { ...spec.log, console: true } }
        : spec,
    ),
    // A console file is read later, so each line needs its time.
    console: options.detached ? { ...console, decorate: true, file: join(stateDir, "logs/console.log") } : console,
  };
}

/** Who asks for the output reads it at a terminal; without one there are no colors. */
function shown(configured: Config["console"], { console }: Pick<ConfigSourceOptions, "console">): Config["console"] {
  return console ? { ...configured, colors: true } : configured;
}

function styleFor(front: "terminal" | "plain"): Config["console"] {
  const isTerminal = front === "terminal";
  return { decorate: false, colors: isTerminal, format: "json", ...(isTerminal && { reader: "terminal" }) };
}

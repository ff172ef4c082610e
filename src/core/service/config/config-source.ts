/** Reads the configuration file, by the options of `procman run`. */

import { join } from "node:path";
import { compact } from "../../base/compact.ts";
import { type ConfigText, readHere } from "../../config/config-file.ts";
import type { Scale } from "../../config/instance-overrides.ts";
import { check } from "../../config/load.ts";
import { likelyPorts, type PortChoice, reservedPorts } from "../../config/port-choice.ts";
import { namesProcesses, type RunSelection, withSelection } from "../../config/run-selection.ts";
import type { Config } from "../../config/spec.ts";
import { startFolder } from "../../os/start-folder.ts";

/**
 * What a reading is for: `look` changes nothing; `check` neither, and its warnings have what a start would lack here;
 * `apply` reserves the ports of "auto". Texts: as `check`, in place of the files; that of the main one comes first.
 */
export type ConfigReading = "look" | "check" | "apply" | readonly ConfigText[];

/**
 * Reads the file at each call.
 *
 * @param scale replaces instance counts; absent: none
 * @param profile is merged; absent: none
 * @param reading default `look`
 * @param running ids: the ports of "auto" of all others may change if they are taken; default `all`: none changes
 * @throws {ProcmanError} `configuration-missing`, `configuration-invalid`
 */
export type ConfigSource = (
  scale?: Scale,
  profile?: string,
  reading?: ConfigReading,
  running?: ReadonlySet<string> | "all",
) => Config;

export type ConfigSourceOptions = RunSelection & {
  /** The state folder of the service before this one, whose processes may still run. */
  readonly stateDir?: string | undefined;
  /** Path of the file. */
  readonly config?: string | undefined;
  readonly console: boolean;
  readonly detached: boolean;
  /** A program gets the lines of the console as JSON, and shows them on a terminal or not. */
  readonly front?: "terminal" | "plain" | undefined;
};

/** `instanceMemory`: bytes that one instance uses now, by cluster; undefined: it isn't known yet. */
export function configSource(
  options: ConfigSourceOptions,
  instanceMemory: () => ReadonlyMap<string, number> | undefined = () => undefined,
): ConfigSource {
  // undefined: nothing runs yet. Another "name" in the file doesn't change it.
  let { stateDir } = options;
  return (scale, profile, reading = "look", running = "all") => {
    const ports: PortChoice = (found) => {
      const scope = { ...found, stateDir: stateDir ?? found.stateDir };
      return reading === "apply"
        ? reservedPorts(scope, stateDir === undefined ? undefined : running)
        : likelyPorts(scope, running);
    };
    const [main, ...included] = typeof reading === "string" ? [] : reading;
    const given = compact({
      startsNamed: namesProcesses(options),
      profile,
      scale,
      looksAtFiles: reading === "check" || main !== undefined,
      included: main && included,
      instanceMemory: instanceMemory(),
      ports,
    });
    const found = withOptions(check(main ?? readHere(options.config, startFolder(options.config)), given), options);
    if (reading === "apply") stateDir ??= found.stateDir;
    return found;
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

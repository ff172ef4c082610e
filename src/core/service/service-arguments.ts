/** The arguments that the keeper starts the service with. */
import { parseArgs as parse } from "node:util";
import type { ConfigSourceOptions } from "./config/config-source.ts";

export type ServiceArguments = ConfigSourceOptions & {
  /** The profile that procman was run with. */
  readonly profile?: string | undefined;
  /** The service reloads the configuration file when it changes. */
  readonly watchConfig: boolean;
};

const OPTIONS = {
  config: { type: "string" },
  console: { type: "boolean", default: false },
  detached: { type: "boolean", default: false },
  "watch-config": { type: "boolean", default: false },
  profile: { type: "string" },
  front: { type: "string" },
  only: { type: "string", multiple: true },
  except: { type: "string", multiple: true },
  watch: { type: "string", multiple: true },
  once: { type: "boolean", default: false },
  "exit-with": { type: "string" },
  "state-dir": { type: "string" },
} as const;

/** As `serviceProgram` of the keeper writes them; those of a newer keeper are ignored. */
export function parseArgs(args: readonly string[]): ServiceArguments {
  const { values } = parse({ args: [...args], options: OPTIONS, strict: false });
  const { "watch-config": watchConfig, "exit-with": exitWith, "state-dir": stateDir, only: ids, ...others } = values;
  return { ...others, watchConfig, ids, exitWith, stateDir } as ServiceArguments;
}

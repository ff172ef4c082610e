/** The options that say which procman a command is for. */
import type { TargetOptions } from "./target.ts";

export const CONFIG_HELP =
  "configuration file, or its folder (default: PROCMAN_CONFIG, else procman.jsonc or procman.json in this folder or the nearest above)";

export const NAME_HELP = "name of a running procman, as `procman list` shows it; its configuration file isn't needed";

export const HOST_HELP =
  "name of another machine, as `procman host list` shows it; several (separated by commas, a group as @web, or all) where the command allows it";

/** A command as one would type it, for the same procman. */
export function asTyped(command: string, { config, name, host }: TargetOptions): string {
  if (host !== undefined) return `procman ${command} --host ${host}`;
  if (name !== undefined) return `procman ${command} --name ${name}`;
  return `procman ${command}${config === undefined ? "" : ` --config ${config}`}`;
}

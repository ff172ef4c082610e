/** The option that all commands with a configuration have. */
export const CONFIG_HELP =
  "configuration file, or its folder (default: PROCMAN_CONFIG, else procman.jsonc or procman.json in this folder or the nearest above)";

/** A command as one would type it, for the same configuration file. */
export function asTyped(command: string, config: string | undefined): string {
  return `procman ${command}${config === undefined ? "" : ` --config ${config}`}`;
}

/** The option that all commands with a configuration have. */
export const CONFIG_HELP =
  "configuration file, or its folder (default: PROCMAN_CONFIG, else procman.jsonc or procman.json in this folder or the nearest above)";

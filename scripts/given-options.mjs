/** Options of a script. Wrong ones end it with one line and code 64, as procman's own commands. */
import { parseArgs } from "node:util";

const USAGE = 64;

/** @param {string} message @returns {never} */
export function badUsage(message) {
  console.error(message);
  process.exit(USAGE);
}

/**
 * @template {import("node:util").ParseArgsConfig} Config
 * @param {Config} config
 * @returns {ReturnType<typeof parseArgs<Config>>}
 */
export function givenOptions(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    return badUsage(error.message);
  }
}

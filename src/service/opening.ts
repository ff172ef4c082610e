/** The first that a service says to its keeper. */
import { VERSION } from "../base/version.ts";
import { isCaptured } from "../config/log-spec.ts";
import type { Config } from "../config/spec.ts";
import { PROTOCOL, type ToKeeper } from "../contract/keeper-protocol.ts";
import { planOf } from "./specs.ts";

/** `processes`: of those that start at once, the output is about to be captured. */
export function openingOf({ stateDir, processes }: Pick<Config, "stateDir" | "processes">): ToKeeper {
  const captures = processes.filter((spec) => planOf(spec).autostart && isCaptured(spec.log)).length;
  return { t: "open", protocol: PROTOCOL, version: VERSION, stateDir, captures };
}

/** Processes of a release before the first one is there. */
import { existsSync } from "node:fs";
import { isWithin } from "../os/files.ts";
import type { Config } from "./spec.ts";

/** The problem and its remedy, if this folder lies in the present release and there is none. */
export function missingRelease(folder: string, { releases }: Pick<Config, "releases">): string | undefined {
  if (releases === undefined || !isWithin(releases.current, folder) || existsSync(releases.current)) return undefined;
  return `there is no release yet; "procman deploy FOLDER" makes the first one, and until then "ln -s . ${releases.current}" lets it run in the folder of that link`;
}

/** What the keeper tells the service that it starts, in its arguments. */
import type { SourceOptions } from "./source.ts";

export type Wishes = SourceOptions & {
  /** The configuration file is taken up whenever it changes. */
  readonly watchConfig: boolean;
  /** Id of the process that everything ends with. */
  readonly exitWith?: string | undefined;
  /** There was a service before, and what it started may run. */
  readonly stateDir?: string | undefined;
};

/** `--name=value` or `--name`, as `keeper/installation` writes them. (`parseArgs` would be a millisecond of each start.) */
export function wishesIn(args: readonly string[]): Wishes {
  const given = new Map(args.map((arg) => (/^--([^=]+)=?(.*)$/s.exec(arg) ?? []).slice(1) as [string, string]));
  return {
    config: given.get("config"),
    console: given.has("console"),
    detached: given.has("detached"),
    watchConfig: given.has("watch-config"),
    profile: given.get("profile"),
    exitWith: given.get("exit-with"),
    stateDir: given.get("state-dir"),
  };
}

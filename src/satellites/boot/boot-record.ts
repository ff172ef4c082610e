/** What `procman install` has written, as noted in its launcher; whether what it needs is still there. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { errnoOf, isNotFound } from "../../core/base/errors.ts";
import { readWhole } from "../../core/os/careful-files.ts";

export type BootScope = "system" | "user";

export type InitName = "systemd" | "launchd" | "openrc" | "runit" | "s6" | "cron";

export type BootRecord = {
  readonly init: InitName;
  readonly scope: BootScope;
  /** Name of the procman instance. */
  readonly name: string;
  /** The configuration file. */
  readonly config: string;
  readonly profile?: string;
  readonly node: string;
  /** `dist/procman.cjs`. */
  readonly script: string;
  /** Who runs it. */
  readonly user: string;
  /** `~deploy` for a user of whom only the shell knows it. */
  readonly home: string;
  /** PATH of its processes. */
  readonly path: string;
  /** PROCMAN_STATE_DIR, if it was set. */
  readonly stateRoot?: string;
  /** The folder that runit or s6 watches. */
  readonly serviceDir?: string;
  /** What it has written, beside the launcher. */
  readonly unitFile?: string;
};

/** Before the record, in a comment line. */
const TAG = "# record: ";

/** `procman-NAME`, in the form that all init systems take. */
export function unitName({ name }: Pick<BootRecord, "name">): string {
  return `procman-${name}`;
}

export function launcherPath(scope: BootScope, name: string): string {
  return scope === "system" ? `/etc/procman/${name}.sh` : join(configHome(), "procman", `${name}.sh`);
}

export function configHome(): string {
  return process.env.XDG_CONFIG_HOME || join(homedir(), ".config");
}

export function recordLine(record: BootRecord): string {
  return `${TAG}${JSON.stringify(record)}`;
}

/** undefined: nothing is installed, or the file is not a launcher. */
function recordAt(launcher: string): BootRecord | undefined {
  try {
    const line = readWhole(launcher)
      .toString()
      .split("\n")
      .find((each) => each.startsWith(TAG));
    return line === undefined ? undefined : (JSON.parse(line.slice(TAG.length)) as BootRecord);
  } catch (error) {
    // A file that another user has put there, or closed, is none of this user's.
    if (isNotFound(error) || error instanceof SyntaxError || ["EPERM", "EACCES"].includes(errnoOf(error)))
      return undefined;
    throw error;
  }
}

/** What was installed for this name, in both scopes. */
export function recordsOf(name: string): readonly BootRecord[] {
  return (["system", "user"] as const).flatMap((scope) => recordAt(launcherPath(scope, name)) ?? []);
}

/** A sentence for each installed unit of this procman that misses a file. `file`: its configuration, if it is known. */
export function bootProblems(name: string, file: string | undefined): readonly string[] {
  return recordsOf(name)
    .filter(({ config }) => file === undefined || config === file)
    .flatMap((record) => {
      const { node, script, config, unitFile, scope } = record;
      const needed = { Node: node, procman: script, "a configuration file": config, "a unit": unitFile ?? config };
      const gone = Object.entries(needed).filter(([, path]) => !existsSync(path));
      if (gone.length === 0) return [];
      const what = gone.map(([kind, path]) => `${kind} that is gone: ${path}`).join(", and ");
      return [`what starts ${name} at boot points to ${what}; "procman install --${scope}" renews it`];
    });
}

/** Folders of procman's files that the user of the process may change: as root, procman is careful there. */
import { type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { UserAccount } from "../../contract/limits.ts";
import type { JsonPath } from "../document.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import { accountOf } from "./accounts.ts";
import { envFilesIn } from "./command-checks.ts";

type NamedFile = { readonly value: string; readonly path: JsonPath };

/** `folder`: of the configuration file. `uid`: user id of procman. */
export function sharedFolderWarnings(
  { processes = [], ...global }: PartialConfig,
  folder: string,
  uid: number | undefined = process.geteuid?.(),
): readonly Finding[] {
  if (uid !== 0) return [];
  const seen = new Set<string>();
  return processes.flatMap((each, index) => {
    const account = each?.user === undefined ? undefined : accountOf(each.user);
    if (account === undefined || account.uid === 0) return [];
    return filesOf(each ?? {}, index, global).flatMap(({ value, path }) => {
      const place = dirname(resolve(folder, value.replace(/\{.*/s, "x")));
      const key = `${account.uid} ${place}`;
      if (seen.has(key) || !mayWrite(account, place)) return [];
      seen.add(key);
      return [{ path, message: messageOf(value, account, place) }];
    });
  });
}

function filesOf(
  { logger, pidFile, envFile }: PartialProcess,
  index: number,
  global: Omit<PartialConfig, "processes">,
): readonly NamedFile[] {
  const at = ["processes", index] as const;
  const named: readonly (readonly [string | undefined, JsonPath])[] = [
    [logger?.stdout, [...at, "logger", "stdout"]],
    [logger?.stderr, [...at, "logger", "stderr"]],
    [logger?.stdout === undefined ? global.logger?.stdout : undefined, ["logger", "stdout"]],
    [pidFile, [...at, "pidFile"]],
    ...[...envFilesIn(envFile, [...at, "envFile"]), ...envFilesIn(global.envFile, ["envFile"])].map(
      ({ file, place }) => [file, place] as const,
    ),
  ];
  return named.flatMap(([value, path]) => (value === undefined ? [] : [{ value, path }]));
}

function mayWrite({ uid, gid }: UserAccount, folder: string): boolean {
  const stat = statIfThere(folder);
  if (stat === undefined || (stat.mode & 0o1000) !== 0) return false;
  return stat.uid === uid || (stat.gid === gid && (stat.mode & 0o020) !== 0) || (stat.mode & 0o002) !== 0;
}

function statIfThere(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function messageOf(value: string, { name }: UserAccount, folder: string): string {
  const rules = "as root, procman follows links there only into folders of that user, and refuses files of others";
  return `Found ${show(value)}; the user ${name} may write in ${folder}: ${rules}. Give the folder to root if ${name} doesn't need to write there.`;
}

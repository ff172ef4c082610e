/** Which procman a command is for: the one of a configuration file, or one that is running, by its name. */
import { accessSync, constants, existsSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { livingHolder, withStateFolderErrors } from "../client/connection/endpoint-file.ts";
import type { RemoteApi } from "../client/connection/remote-api.ts";
import { apiOf, remoteApi } from "../client/connection/remote-host.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { isObject } from "../core/base/schema-check.ts";
import { didYouMean } from "../core/base/suggest.ts";
import { read } from "../core/config/config-file.ts";
import { groupSocketFor, type Location, locate } from "../core/config/find-config.ts";
import { dataOf } from "../core/config/load.ts";
import { FILE_NAMES, nearestFolder } from "../core/config/nearest-folder.ts";
import { hasSymlink } from "../core/os/files.ts";
import { hasLock, homeOf, inUseText, otherFileOf } from "../core/os/lock.ts";
import { type RunningKeeper, runningKeepers, runsFile } from "../core/os/running-keepers.ts";
import { startFolder } from "../core/os/start-folder.ts";
import { BESIDE_CONFIGURATION } from "../core/os/state-folder.ts";
import { userName } from "../core/os/user-names.ts";

export type TargetOptions = {
  /** Path of the configuration file. */
  readonly config?: string | undefined;
  /** Name of a running procman, whose configuration file may have been moved or deleted. */
  readonly name?: string | undefined;
  /** Another machine; here only one whose API is asked. */
  readonly host?: string | undefined;
};

/** `file`: undefined for a procman by name that doesn't tell. */
export type TargetLocation = Location & { readonly file: string | undefined };

/**
 * The state folder of the procman that is meant: the one that runs the file, also by another path or under an earlier
 * name, and without
 * `PROCMAN_STATE_DIR` in another state folder, too.
 *
 * @throws {ProcmanError} those of `locate`; `no-daemon` for an unknown name, `usage` for an ambiguous one
 */
export function targetLocation({ config, name }: TargetOptions): TargetLocation {
  if (name !== undefined) return byName(name, config);
  const location = byFile(config ?? fileOfDev());
  const { stateDir, file, name: named } = location;
  // A keeper that runs or was killed is here, or has gone on elsewhere.
  if (withStateFolderErrors(stateDir, () => hasLock(stateDir))) return { ...location, stateDir: homeOf(stateDir) };
  const root = process.env.PROCMAN_STATE_DIR ? dirname(stateDir) : undefined;
  const elsewhere = runningKeepers().filter(
    (each) => runsFile(each, file) && (root === undefined || dirname(each.stateDir) === root),
  );
  const ofName = elsewhere.filter(({ name: its }) => its === named);
  // A keeper that follows a link will be here.
  if (ofName.length > 0 && hasSymlink(stateDir)) return location;
  // The file has lost or changed its name since.
  const [first, ...others] = ofName.length > 0 ? ofName : elsewhere;
  return first === undefined || others.length > 0 ? location : found(first);
}

/** The same, or the API of another machine, or of another user who lets a group of this one look. @throws {ProcmanError} those of `targetLocation`, and `usage` for an unknown host */
export function targetPlace(target: TargetOptions): TargetLocation | RemoteApi {
  if (target.host !== undefined) return remoteApi(target.host, target);
  try {
    return targetLocation(target);
  } catch (error) {
    const shared = isOfOtherUser(error) ? sharedApi(target) : undefined;
    if (shared === undefined) throw error;
    return shared;
  }
}

/**
 * The same for a command that applies the file, or compares it with what runs.
 *
 * @throws {ProcmanError} those of `targetPlace`; `already-running`: the procman of its name runs another file
 */
export function placeOfFile(target: TargetOptions): TargetLocation | RemoteApi {
  const place = targetPlace(target);
  const other = "stateDir" in place ? otherFileText(place, target) : undefined;
  if (other === undefined) return place;
  throw new ProcmanError("already-running", `Cannot use this file: ${other}`);
}

/** Says that the procman of its name runs another file; undefined: it doesn't, or was asked for by that name. */
export function otherFileText({ stateDir, file }: TargetLocation, { name }: TargetOptions): string | undefined {
  const holder = name === undefined ? livingHolder(stateDir) : undefined;
  return holder === undefined || otherFileOf(holder, file) === undefined
    ? undefined
    : inUseText(holder, stateDir, file);
}

function isOfOtherUser(error: unknown): boolean {
  return error instanceof ProcmanError && ["state-folder", "no-daemon"].includes(error.code);
}

/** Not for root, who may connect to all sockets: as the other user it may do more. */
function sharedApi({ config, name }: TargetOptions): RemoteApi | undefined {
  if (name !== undefined || process.geteuid?.() === 0) return undefined;
  const host = groupSocketFor(config, startFolder(config));
  try {
    accessSync(host, constants.W_OK);
    return apiOf({ name: host, url: `unix:${host}` });
  } catch {
    return undefined;
  }
}

/** The configuration file of the target, for what is read from it. */
export function targetFile({ config, name }: TargetOptions): string | undefined {
  return name === undefined ? (config ?? fileOfDev()) : targetLocation({ name }).file;
}

/**
 * The configuration that `procman dev` or `run --file`, running in this folder or above, has made of a foreign file: it
 * counts where no other one is found.
 */
function fileOfDev(): string | undefined {
  const cwd = startFolder();
  if (process.env.PROCMAN_CONFIG || nearestFolder(cwd) !== undefined) return undefined;
  const made = runningKeepers().flatMap(({ file }) => (file === undefined || !isMadeOfForeign(file) ? [] : [file]));
  const isAbove = (file: string): boolean => isMeant(join(dirname(file), "..", "..", basename(file)), undefined, cwd);
  // The nearest one.
  return made.filter(isAbove).sort((one, other) => other.length - one.length)[0];
}

/** The library, too, writes into a folder of the state folder, but has the configuration itself. */
function isMadeOfForeign(file: string): boolean {
  return (
    basename(dirname(dirname(file))) === BESIDE_CONFIGURATION && !FILE_NAMES.some((name) => name === basename(file))
  );
}

/** The content of its configuration file, valid or not. undefined: it is on another machine, or was found by name and is gone. */
export function dataOfTarget(target: TargetOptions): unknown {
  if (target.host !== undefined) return undefined;
  const file = targetFile(target);
  if (target.name !== undefined && (file === undefined || !existsSync(file))) return undefined;
  return dataOf(read(file, startFolder(file)));
}

/** What a command says then. */
export const NO_LOGS = 'nothing is stored, because "logger.internalLogHours" is 0';

/** Whether the configuration turns off storing logs. */
export function storesNoLogs(target: TargetOptions): boolean {
  const data = dataOfTarget(target);
  return isObject(data) && isObject(data.logger) && data.logger.internalLogHours === 0;
}

/** Why there are no logs; undefined: there are. A file that can't be read now says nothing about it. */
export function logProblemOf(target: TargetOptions): string | undefined {
  try {
    return storesNoLogs(target) ? NO_LOGS : undefined;
  } catch (error) {
    if (error instanceof ProcmanError) return undefined;
    throw error;
  }
}

/** Names of this user's running procmans. */
export function runningNames(): readonly string[] {
  return [...new Set(runningKeepers().map(({ name }) => name))];
}

function byName(name: string, config: string | undefined): TargetLocation {
  if (config !== undefined)
    throw new ProcmanError("usage", "Cannot use --config and --name together: each names a procman; leave one out");
  const own = process.geteuid?.();
  const running = runningKeepers(own !== 0);
  const named = running.filter((keeper) => keeper.name === name);
  const [first, ...others] = named.filter(({ uid }) => uid === own || own === undefined);
  if (first === undefined) throw named[0] === undefined ? unknownName(name, running) : ofOtherUser(named[0]);
  if (others.length > 0) throw ambiguousName(name, [first, ...others]);
  return found(first);
}

function found({ name, stateDir, file }: RunningKeeper): TargetLocation {
  return { name, stateDir, file };
}

function unknownName(name: string, running: readonly RunningKeeper[]): ProcmanError {
  const names = [...new Set(running.map((keeper) => keeper.name))];
  const which = names.length === 0 ? "none is running." : `running: ${names.join(", ")}.${didYouMean(name, names)}`;
  return new ProcmanError(
    "no-daemon",
    `Cannot find a running procman named ${JSON.stringify(name)}: ${which} "procman list" shows them all`,
  );
}

function ofOtherUser({ name, uid }: RunningKeeper): ProcmanError {
  const user = userName(uid);
  const remedy = `run this as ${user}: "sudo -u ${user} procman … --name ${name}"`;
  return new ProcmanError(
    "no-daemon",
    `Cannot reach the procman ${JSON.stringify(name)}: it belongs to ${user}; ${remedy}`,
  );
}

function ambiguousName(name: string, keepers: readonly RunningKeeper[]): ProcmanError {
  const places = keepers.map(
    ({ stateDir, file }) => `\n  ${file === undefined ? "" : `--config ${file}  `}(state folder ${stateDir})`,
  );
  return new ProcmanError(
    "usage",
    `Cannot choose: ${keepers.length} procmans are named ${JSON.stringify(name)}; name the file:${places.join("")}`,
  );
}

/** A missing file may have been moved, and its procman still be running. */
function byFile(config: string | undefined): ReturnType<typeof locate> {
  const cwd = startFolder(config);
  try {
    return locate(config, cwd);
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.code !== "configuration-missing") throw error;
    const left = runningKeepers().filter(
      ({ file }) => file !== undefined && !existsSync(file) && isMeant(file, config, cwd),
    );
    if (left.length === 0) throw error;
    const names = left.map(
      ({ name, file }) =>
        `\n${JSON.stringify(name)} was started with ${file} and is running: --name ${name} reaches it.`,
    );
    throw new ProcmanError("configuration-missing", `${error.message}${names.join("")}`, { cause: error });
  }
}

function isMeant(file: string, config: string | undefined, cwd: string): boolean {
  const folder = dirname(file);
  const given = config ?? process.env.PROCMAN_CONFIG;
  if (given) return [file, folder].includes(resolve(cwd, given));
  return cwd === folder || cwd.startsWith(folder === sep ? sep : `${folder}${sep}`);
}

/** Who may change the state folder: procman believes what is in it, so only its own user may. */
import { type Stats, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { writeWhole } from "./careful-files.ts";
import { makeFolder, statIfSeen } from "./files.ts";
import { askAs, userInText } from "./user-names.ts";

const OTHERS_WRITE = 0o022;

/** The default folder lies beside the configuration file: who may replace it decides what procman runs anyway. */
export const BESIDE_CONFIGURATION = ".procman";

/**
 * A folder that doesn't exist, or may not be looked at, is not a fault here.
 *
 * @param uid effective user
 * @throws {ProcmanError} `state-folder`: another user owns it, or may change or replace it
 */
export function checkStateFolder(stateDir: string, uid: number | undefined = process.geteuid?.()): void {
  const stat = statIfSeen(stateDir);
  if (stat === undefined || uid === undefined) return;
  const problem = problemOf(stateDir, stat, uid) ?? problemAbove(dirname(stateDir), uid);
  if (problem !== undefined)
    throw new ProcmanError("state-folder", `Cannot use the state folder ${stateDir}: ${problem}`);
}

/**
 * Creates the state folder, closed to other users. A `.procman` in a project is ignored by Git and npm: it holds the
 * secret.
 *
 * @throws {ProcmanError} `state-folder`, and errors of the file system
 */
export function makeStateFolder(stateDir: string): void {
  makeFolder(stateDir, 0o700);
  checkStateFolder(stateDir);
  const parent = dirname(stateDir);
  if (basename(parent) !== BESIDE_CONFIGURATION) return;
  try {
    writeFileSync(join(parent, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 });
  } catch {
    // It is there, or the disk is full: procman runs without it.
  }
}

/** Writes a configuration that the user has in another form; the folder is created. @throws {ProcmanError} `state-folder` */
export function writeInStateFolder(file: string, text: string): void {
  try {
    makeStateFolder(dirname(file));
    writeWhole(file, text);
  } catch (cause) {
    if (cause instanceof ProcmanError) throw cause;
    throw new ProcmanError(
      "state-folder",
      `Cannot run: ${file} can't be written: ${(cause as Error).message}; set PROCMAN_STATE_DIR to use another place`,
      { cause },
    );
  }
}

function problemOf(stateDir: string, { uid: owner, mode }: Stats, uid: number): string | undefined {
  if (owner !== uid) {
    // Root would only start a second one beside it.
    const elsewhere = uid === 0 ? "" : ", or set PROCMAN_STATE_DIR to use another place";
    return `it belongs to ${userInText(owner)}, not to ${userInText(uid)}; ${askAs(owner)}${elsewhere}`;
  }
  if ((mode & OTHERS_WRITE) === 0) return undefined;
  return `other users may write in it, so its content can't be trusted; remove it, or check its content and remove that permission: "chmod go-w ${stateDir}"`;
}

/** A volume of a container may be open to all users, so only the owner counts. */
function problemAbove(folder: string, uid: number): string | undefined {
  const stat = basename(folder) === BESIDE_CONFIGURATION ? undefined : statIfSeen(folder);
  if (stat === undefined) return undefined;
  if (stat.uid === uid || stat.uid === 0) return undefined;
  return `${folder} belongs to ${userInText(stat.uid)}, who could replace it; set PROCMAN_STATE_DIR to a folder of this user`;
}

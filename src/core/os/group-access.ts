/** Where the members of a Unix group reach a procman: a socket beside its state folder, which is closed to them. */
import { existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { statIfSeen } from "./files.ts";
import { foldersTo } from "./path-trust.ts";
import { BESIDE_CONFIGURATION } from "./state-folder.ts";
import { userName } from "./user-names.ts";

const GROUP_ENTERS = 0o010;
const OTHERS_ENTER = 0o001;

/** No state folder has "@" in its name. @example groupSocketOf("/srv/shop/.procman/shop") // "/srv/shop/.procman/shop@group.sock" */
export function groupSocketOf(stateDir: string): string {
  return `${stateDir}@group.sock`;
}

/** Whether this process may give a file to the group (chown(2)). */
export function mayGiveTo(gid: number): boolean {
  return process.geteuid?.() === 0 || [process.getegid?.(), ...(process.getgroups?.() ?? [])].includes(gid);
}

/** Why it may not, and the remedy. */
export function notMember(group: string): string {
  const user = userName(process.geteuid?.() ?? 0);
  return `procman's user ${user} is not in that group, so it can't open a socket for it: "usermod -aG ${group} ${user}" as root, then start procman from a new login`;
}

export function closedFolder(group: string, folder: string): string {
  return `its members may not enter ${folder}, in which the socket is: "setfacl -m g:${group}:x ${folder}" or "chmod o+x ${folder}" lets them`;
}

/** A folder on the way to the socket that the group may not enter; undefined: none is known. procman itself opens `.procman`. */
export function folderClosedTo(gid: number, stateDir: string): string | undefined {
  const folder = dirname(stateDir);
  const last = basename(folder) === BESIDE_CONFIGURATION ? dirname(folder) : folder;
  return existsSync(last) ? [...foldersTo(last)].find((each) => isClosedTo(gid, each)) : undefined;
}

function isClosedTo(gid: number, folder: string): boolean {
  const stat = statIfSeen(folder);
  if (stat === undefined || (stat.mode & (stat.gid === gid ? GROUP_ENTERS : OTHERS_ENTER)) !== 0) return false;
  // With an access control list these bits are what any entry of it may allow.
  return (stat.mode & GROUP_ENTERS) === 0 || !hasAccessList(folder);
}

/** `ls` shows it as "+" behind the mode; Node doesn't tell. */
function hasAccessList(folder: string): boolean {
  // Loaded here: every command loads this file.
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  return execFileSync("ls", ["-ld", "--", folder], { encoding: "utf8" })[10] === "+";
}

/** Runs programs as other users of this machine. Only root can. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Outcome } from "./cli.ts";
import { skip } from "./skip.ts";

export type OtherUser = { readonly name: string; readonly uid: number; readonly gid: number };

/** The user, without groups besides the first. undefined: not allowed here, and the test is skipped. */
export function otherUser(context: TestContext, name: "nobody" | "daemon" = "nobody"): OtherUser | undefined {
  const why = "a test as another user needs root";
  if (process.getuid?.() !== 0) {
    if (process.env.CI === "true") throw new Error(why);
    return skip(context, why);
  }
  const [, , uid, gid] = /^.*$/m.exec(accountOf(name))?.[0].split(":") ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`no user ${name} in /etc/passwd`);
  return { name, uid: Number(uid), gid: Number(gid) };
}

function accountOf(name: string): string {
  const accounts = readFileSync("/etc/passwd", "utf8");
  return accounts.slice(accounts.search(new RegExp(`^${name}:`, "m")));
}

/** A folder that everybody may enter, with one for each user in it. Removed after the test. */
export function sharedFolder(context: TestContext, ...users: readonly OtherUser[]): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-shared-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  for (const user of users) folderOf(user, join(folder, user.name));
  return folder;
}

/** Makes a folder that belongs to the user. */
export function folderOf({ uid, gid }: OtherUser, path: string, mode = 0o755): string {
  mkdirSync(path, { recursive: true });
  chownSync(path, uid, gid);
  chmodSync(path, mode);
  return path;
}

/** Runs a command to its end. */
export function runAs(
  { uid, gid, name }: OtherUser,
  [program = "", ...args]: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Outcome> {
  const env = { PATH: process.env.PATH, USER: name, LOGNAME: name, ...options.env };
  return new Promise((resolve) => {
    execFile(program, args, { cwd: options.cwd ?? "/", env, uid, gid }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

/** Starts a program that is killed after the test, with its process group. */
export function spawnAs(
  context: TestContext,
  { uid, gid, name }: OtherUser,
  [program = "", ...args]: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): ChildProcess {
  const env = { PATH: process.env.PATH, USER: name, LOGNAME: name, ...options.env };
  const child = spawn(program, args, {
    cwd: options.cwd ?? "/",
    env,
    uid,
    gid,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  context.after(async () => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid, "SIGKILL");
    await ended;
  });
  return child;
}

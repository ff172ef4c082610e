/** A pm2 that is running: its list, and stopping and starting its apps. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ProcmanError } from "../core/base/errors.ts";
import { isObject } from "../core/base/schema-check.ts";

/** Largest list. Bytes. */
const MAX_BYTES = 64 * 1024 ** 2;

/** The entries of `pm2 jlist`. @throws {ProcmanError} `no-daemon`: pm2 isn't running, or can't be asked */
export async function listOfPm2(): Promise<readonly unknown[]> {
  const home = process.env.PM2_HOME || join(homedir(), ".pm2");
  // The command would start a pm2 that isn't running.
  if (!isRunningIn(home))
    throw new ProcmanError("no-daemon", `Cannot ask pm2: none is running with ${home}; PM2_HOME names another folder`);
  const out = await pm2(["jlist"]);
  // Above the list there may be messages.
  const list = out
    .split("\n")
    .map((line) => listIn(line))
    .findLast((each) => each !== undefined);
  if (list === undefined) throw new ProcmanError("no-daemon", "Cannot ask pm2: `pm2 jlist` prints no list");
  return list;
}

function isRunningIn(home: string): boolean {
  try {
    return process.kill(Number(readFileSync(join(home, "pm2.pid"), "utf8")), 0);
  } catch {
    return false;
  }
}

function listIn(line: string): readonly unknown[] | undefined {
  if (!line.startsWith("[")) return undefined;
  try {
    const list: unknown = JSON.parse(line);
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

/** Ids of the instances that run, by the name of their app. */
export function runningIds(list: readonly unknown[]): ReadonlyMap<string, readonly string[]> {
  const ids = new Map<string, readonly string[]>();
  for (const entry of list) {
    if (!isObject(entry) || !isObject(entry.pm2_env)) continue;
    const { name = entry.pm2_env.name, pm_id: id, pm2_env: own } = entry;
    const runs = own.status === "online" || own.status === "launching" || own.status === "waiting restart";
    if (runs && typeof name === "string" && typeof id === "number")
      ids.set(name, [...(ids.get(name) ?? []), String(id)]);
  }
  return ids;
}

/** @throws {ProcmanError} `process-failed` */
export async function stopInPm2(ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await pm2(["stop", ...ids]);
}

/** @throws {ProcmanError} `process-failed` */
export async function startInPm2(ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await pm2(["start", ...ids]);
}

function pm2(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("pm2", args, { maxBuffer: MAX_BYTES }, (error, out, err) => {
      if (error === null) return resolve(out);
      const isAbsent = "code" in error && error.code === "ENOENT";
      const why = isAbsent ? "there is no command pm2 on PATH" : `${out}${err}`.trim() || error.message;
      reject(new ProcmanError(isAbsent ? "no-daemon" : "process-failed", `Cannot run "pm2 ${args.join(" ")}": ${why}`));
    });
  });
}

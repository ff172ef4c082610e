/** Where the procman of a state folder is reached. Waits for a service that is just being started, for the first time or again. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isNotThere, ProcmanError } from "../base/errors.ts";
import type { Endpoint } from "../contract/records.ts";
import { isFull } from "../os/free-room.ts";
import { type Holder, holderOf, isAbandoned } from "../os/lock.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { isAlive } from "../os/process-stat.ts";
import { namesIn } from "../store/shelf.ts";

/** A service that was killed answers again within half a second; one that takes longer than this is down. Milliseconds. */
export const PATIENCE_MS = 3_000;
/** How often it is looked. Milliseconds. */
export const LOOK_MS = 20;
/** A keeper that was killed is replaced within a second, by its service, by its logger, or by the guard that started it. Milliseconds. */
const COMEBACK_MS = 1_500;

/** The keeper of a state folder; in place of one that was killed comes another, which is waited for. @throws {ProcmanError} `no-daemon` */
export async function keeperOf(stateDir: string): Promise<Holder> {
  for (const late = monotonicMs() + COMEBACK_MS; ; await sleep(LOOK_MS)) {
    const holder = readable(stateDir, () => holderOf(stateDir));
    if (holder !== undefined) return holder;
    // What may not be looked into may well have one.
    readable(stateDir, () => namesIn(stateDir));
    if (monotonicMs() > late || !isAbandoned(stateDir)) throw noDaemon(stateDir);
  }
}

function noDaemon(stateDir: string): ProcmanError {
  const remedy = isAbandoned(stateDir)
    ? `It was killed, and what it ran may run on: "procman run" takes that up`
    : `Start it with "procman run"`;
  return new ProcmanError("no-daemon", `Cannot reach procman: none is running for ${stateDir}${beside(stateDir)}. ${remedy}`);
}

/** Of the same folder's configuration, whose name may be another now, or not to be read in a file that is not valid. */
function beside(stateDir: string): string {
  const folder = dirname(stateDir);
  if (basename(folder) !== ".procman" || !existsSync(folder)) return "";
  const folders = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory());
  const others = folders.map(({ name }) => name).filter((name) => holderOf(join(folder, name)) !== undefined);
  const names = others.map((name) => JSON.stringify(name)).join(" and ");
  return names === "" ? "" : ` (but ${names} ${others.length === 1 ? "runs" : "run"} beside it: look at "name" in the configuration file)`;
}

/**
 * The address of the service, which is alive.
 *
 * @param late end of patience, as `monotonicMs` counts (the global `performance` would load a part of Node)
 * @throws {ProcmanError} `no-daemon`: nobody runs; `service-down`: the keeper runs alone, without an API, or on a full disk.
 */
export async function reach(stateDir: string, late: number): Promise<Endpoint> {
  for (;;) {
    const endpoint = endpointIn(stateDir);
    if (endpoint?.problem !== undefined) throw withoutApi(endpoint, endpoint.problem);
    if (endpoint !== undefined) return endpoint;
    const keeper = await keeperOf(stateDir);
    const reason = textIn(join(stateDir, "service-down"))?.trim();
    if (reason !== undefined) throw serviceDown(keeper, reason);
    if (monotonicMs() > late) throw isFull(stateDir) ? withoutRoom(keeper, stateDir) : serviceDown(keeper, "it does not answer");
    await sleep(LOOK_MS);
  }
}

/** What `endpoint.json` says, unless its service is dead, or a power cut has left nothing in it. */
function endpointIn(stateDir: string): Endpoint | undefined {
  const endpoint = parsed(textIn(join(stateDir, "endpoint.json")));
  return endpoint !== undefined && isAlive(endpoint.pid, endpoint.startTime) ? endpoint : undefined;
}

function parsed(text: string | undefined): Endpoint | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Endpoint);
  } catch {
    return undefined;
  }
}

export function serviceDown({ pid }: Holder, reason: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: its keeper (pid ${pid}) runs and the processes run on, but its service is down: ${reason}; "procman upgrade" starts it again, "procman terminate" stops everything`,
  );
}

/** It may have been heard before that. */
export function interrupted(reason: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot tell what came of it: ${reason}. procman's service has ended and is started again; what it had begun goes on: look with "procman status" and "procman plan"`,
  );
}

function withoutApi({ keeper, hostname, port }: Endpoint, problem: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: it runs (pid ${keeper}), but has no API at ${hostname}:${port}: ${problem}; it is served as soon as that is over; or correct "api" in the configuration and run it again ("procman terminate" stops everything)`,
  );
}

function withoutRoom({ pid }: Holder, stateDir: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: it runs (pid ${pid}), but ${stateDir} has no room left for its address; make room: within a second it is written ("procman terminate" stops everything)`,
  );
}

/** undefined: there is no such file. */
function textIn(path: string): string | undefined {
  return readable(path, () => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      if (isNotThere(error)) return undefined;
      throw error;
    }
  });
}

function readable<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EACCES") throw cause;
    throw new ProcmanError("no-daemon", `Cannot reach procman: ${path} may not be read; ask as the user that runs it`, { cause });
  }
}

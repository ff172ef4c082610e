/** The address of a state folder's procman, in `endpoint.json`. Waits for a service that is being started or restarted. */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isNotFound, ProcmanError } from "../../core/base/errors.ts";
import type { Endpoint } from "../../core/contract/records.ts";
import { namesIn } from "../../core/log-store/segment-files.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { hasSymlink, isFull, statIfSeen } from "../../core/os/files.ts";
import { type Holder, hasLock, holderOf, isAbandoned, isOfOther, runningIn } from "../../core/os/lock.ts";
import { DYING_MS, isAlive, isDying, uidsOf } from "../../core/os/process-stat.ts";
import { neighbourOf } from "../../core/os/running-keepers.ts";
import { checkStateFolder } from "../../core/os/state-folder.ts";
import { askAs, userInText } from "../../core/os/user-names.ts";

/** Time to wait for the service: one that was killed answers again within half a second, on a busy machine within some seconds. Milliseconds. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** Interval of polling. Milliseconds. */
export const POLL_MS = 20;
/**
 * Time to wait for the replacement of a killed keeper, which its service, logger or supervisor starts within a second;
 * and for a keeper that recreates its state folder within a second, as a link above it leads elsewhere now.
 * Milliseconds.
 */
const COMEBACK_MS = 1_500;
/** The same while a part of it lives that starts one: the machine may be busy. Milliseconds. */
const REVIVAL_MS = 30_000;
const LOOK_MS = 100;

/**
 * The keeper of a state folder; waits for the replacement of a killed one, and behind a link for the keeper of its
 * former target.
 *
 * @throws {ProcmanError} `no-daemon`, `state-folder`
 */
export async function keeperOf(stateDir: string): Promise<Holder> {
  checkStateFolder(stateDir);
  const since = monotonicMs();
  for (let pause = POLL_MS; ; await sleep(pause)) {
    const holder = livingHolder(stateDir);
    if (holder !== undefined) return ofOwnUser(holder);
    // A folder that can't be read may have a keeper.
    withStateFolderErrors(stateDir, () => namesIn(stateDir));
    // A lock may have got its next holder since.
    const waited = monotonicMs() - since;
    if (!(hasLock(stateDir) || hasSymlink(stateDir)) || waited > REVIVAL_MS) throw noDaemon(stateDir);
    if (waited <= COMEBACK_MS) continue;
    if (!(await isBeingRevived(stateDir))) throw noDaemon(stateDir);
    pause = LOOK_MS;
  }
}

/** Its keeper was killed, and its service or logger lives, which starts another. */
export async function isBeingRevived(stateDir: string): Promise<boolean> {
  if (!isAbandoned(stateDir)) return false;
  if (endpointIn(stateDir) !== undefined) return true;
  // Loaded here, as most commands find a keeper.
  const { hasReviver } = await import("../../core/os/running-keepers.ts");
  return hasReviver(stateDir);
}

/** The living holder of the lock. @throws {ProcmanError} `no-daemon`: this user may not read the folder. */
export function livingHolder(stateDir: string): Holder | undefined {
  return withStateFolderErrors(stateDir, () => holderOf(stateDir));
}

/** The same for a start, which a keeper that was killed a moment ago is not in the way of. @throws {ProcmanError} `no-daemon` */
export async function lastingHolder(stateDir: string): Promise<Holder | undefined> {
  for (const late = monotonicMs() + DYING_MS; ; await sleep(POLL_MS)) {
    const holder = livingHolder(stateDir);
    if (holder === undefined || !isDying(holder.pid) || monotonicMs() > late) return holder;
  }
}

/** Nothing is signalled or asked for another user, whatever the lock says. */
function ofOwnUser(holder: Holder): Holder {
  const own = process.geteuid?.();
  const other = uidsOf(holder.pid)?.effective;
  if (own === undefined || other === undefined || other === own) return holder;
  throw new ProcmanError(
    "state-folder",
    `Cannot reach procman: its keeper (pid ${holder.pid}) belongs to ${userInText(other)}; ${askAs(other)}`,
  );
}

function noDaemon(stateDir: string): ProcmanError {
  const remedy = isAbandoned(stateDir)
    ? `It was killed, and its processes may still be running: "procman run" adopts them`
    : `Start it with "procman run"${neighbour(stateDir)}`;
  return new ProcmanError(
    "no-daemon",
    `Cannot reach procman: none is running for ${stateDir}${beside(stateDir)}. ${remedy}`,
  );
}

/** A configuration that is a part of each release: the procman of the release before is another one. */
function neighbour(stateDir: string): string {
  const file = neighbourOf(stateDir);
  const name = basename(stateDir);
  if (file === undefined) return "";
  return `. ${JSON.stringify(name)} runs with ${file}, in the folder beside this one: --name ${name} reaches it. Started by a link, "procman run --config LINK", it follows the link to the next release`;
}

/** Names of running procmans next to it: "name" in the configuration file may have changed, or be unreadable in an invalid file. */
function beside(stateDir: string): string {
  const folder = dirname(stateDir);
  if (basename(folder) !== ".procman") return "";
  const others = runningIn(folder);
  const names = others.map((name) => JSON.stringify(name)).join(" and ");
  return names === ""
    ? ""
    : ` (but ${names} ${others.length === 1 ? "runs" : "run"} beside it: look at "name" in the configuration file)`;
}

/**
 * The address of the running service.
 *
 * @param late deadline in monotonic milliseconds, see `monotonicMs` (the global `performance` would load a part of
 * Node)
 * @throws {ProcmanError} `no-daemon`: procman is not running; `service-down`: its service is down, has no API, or the
 * disk is full.
 */
export async function resolveEndpoint(stateDir: string, late: number): Promise<Endpoint> {
  checkStateFolder(stateDir);
  for (;;) {
    const endpoint = endpointIn(stateDir);
    if (endpoint !== undefined) return reachable(endpoint);
    const keeper = await keeperOf(stateDir);
    const reason = textIn(join(stateDir, "service-down"))?.trim();
    if (reason !== undefined) throw serviceDown(keeper, reason);
    if (monotonicMs() > late)
      throw isFull(stateDir) ? withoutRoom(keeper, stateDir) : serviceDown(keeper, "it does not answer");
    await sleep(POLL_MS);
  }
}

/** Its socket may have been removed, with the run folder. @throws {ProcmanError} `service-down` */
function reachable({ socket, ...endpoint }: Endpoint): Endpoint {
  if (socket !== undefined && existsSync(socket)) return { ...endpoint, socket };
  if (endpoint.problem !== undefined) throw withoutApi(endpoint, endpoint.problem);
  return endpoint;
}

/** Whether the API listens as configured. @throws {ProcmanError} `service-down` */
export function checkPort(endpoint: Endpoint): void {
  const { problem, isOff } = endpoint;
  if (problem !== undefined && isOff !== true) throw withoutPort(endpoint, problem);
}

/** The content of `endpoint.json`, unless its service has exited, a power failure left it empty, or it was copied from another folder. */
function endpointIn(stateDir: string): Endpoint | undefined {
  const endpoint = parsed(textIn(join(stateDir, "endpoint.json")));
  if (endpoint === undefined || !isAlive(endpoint.pid, endpoint.startTime)) return undefined;
  return withStateFolderErrors(stateDir, () => isOfOther(stateDir, endpoint.keeper)) ? undefined : endpoint;
}

function parsed(text: string | undefined): Endpoint | undefined {
  try {
    const found = text === undefined ? undefined : (JSON.parse(text) as Endpoint | null);
    return typeof found?.pid === "number" ? found : undefined;
  } catch {
    return undefined;
  }
}

export function serviceDown({ pid }: Holder, reason: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: its keeper (pid ${pid}) and the processes are running, but its service is down: ${reason}; "procman upgrade" starts it again, "procman terminate" stops everything`,
  );
}

/** The error of a request that the service may have received before it ended. */
export function interrupted(reason: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `The result is unknown: ${reason}. procman's service has ended and is being restarted; what it had begun continues: see "procman status" and "procman plan"`,
  );
}

function withoutApi({ keeper, hostname, port }: Endpoint, problem: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: it is running (pid ${keeper}), but has no API at ${hostname}:${port}: ${problem}; the API starts as soon as that is resolved; or correct "api" in the configuration and run it again ("procman terminate" stops everything)`,
  );
}

function withoutPort({ keeper, hostname, port }: Endpoint, problem: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot serve the API: procman is running (pid ${keeper}), but has no API at ${hostname}:${port}: ${problem}; commands still reach it, and the API starts as soon as that is resolved; or correct "api" in the configuration and run it again ("procman terminate" stops everything)`,
  );
}

function withoutRoom({ pid }: Holder, stateDir: string): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: it is running (pid ${pid}), but ${stateDir} has no room left for its address; free some space, and it is written within a second ("procman terminate" stops everything)`,
  );
}

/** undefined if the file doesn't exist. */
function textIn(path: string): string | undefined {
  return withStateFolderErrors(path, () => {
    try {
      return readFileSync(path, "utf8");
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  });
}

/** @throws {ProcmanError} `no-daemon`: this user may not read it. */
export function withStateFolderErrors<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EACCES") throw cause;
    throw new ProcmanError("no-daemon", `Cannot reach procman: ${path} may not be read; ${askAsOwner(path)}`, {
      cause,
    });
  }
}

/** The nearest folder that may be looked at, such as `.procman`, has the same owner. */
function askAsOwner(path: string): string {
  for (let at = path; dirname(at) !== at; at = dirname(at)) {
    const owner = statIfSeen(at)?.uid;
    if (owner !== undefined)
      return owner === process.geteuid?.() ? "run this as the user that runs procman" : askAs(owner);
  }
  return "run this as the user that runs procman";
}

/** Takes the servers of a host out of HAProxy before it changes, and puts them back, by HAProxy's runtime API. */
import { lookup } from "node:dns/promises";
import { connect, type NetConnectOpts } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { ProcmanError, reasonOf } from "../../core/base/errors.ts";

/** HAProxy tells of no change. Milliseconds. */
const POLL_MS = 100;
/** For one answer. Milliseconds. */
const ANSWER_MS = 5_000;
/** `show stat`: all proxies, servers alone. */
const SHOW_SERVERS = "show stat -1 4 -1";

/** A server of a backend, as `show stat` has it. */
type ServerStat = {
  readonly backend: string;
  readonly name: string;
  /** Without the port. */
  readonly address: string;
  /** Such as `UP`, `UP 1/3`, `no check`, `DRAIN`, `DOWN`. */
  readonly status: string;
  /** With those that wait for it. */
  readonly sessions: number;
};

export type HaproxyServer = Pick<ServerStat, "backend" | "name">;

export type HaproxyHost = {
  /** As `procman host list` shows it. */
  readonly name: string;
  /** The part of its URL. */
  readonly hostname: string;
};

export type DrainWait = {
  readonly seconds: number;
  readonly signal?: AbortSignal;
};

export type HaproxyStep = HaproxyHost & { readonly state: "drain" | "ready" };

/**
 * Drains a host in all these HAProxys, or puts it back in them. When draining fails in one, it is put back in the others.
 * Resolves with why it has failed, if it has.
 */
export async function haproxyStep(
  addresses: readonly string[],
  { state, ...host }: HaproxyStep,
  wait: DrainWait,
): Promise<string | undefined> {
  const drained: (() => Promise<void>)[] = [];
  try {
    const all: (readonly [HaproxyApi, readonly HaproxyServer[]])[] = [];
    for (const api of addresses.map((address) => new HaproxyApi(address)))
      all.push([api, await api.serversOf(host, state === "drain")]);
    for (const [api, servers] of all) {
      if (state === "drain") drained.push(() => api.ready(servers, wait));
      await (state === "drain" ? api.drain(servers, wait) : api.ready(servers, wait));
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    const left = (await Promise.allSettled(drained.map((undo) => undo()))).flatMap((end) =>
      end.status === "rejected" ? [reasonOf(end.reason)] : [],
    );
    return [error.message, ...left].join("; ");
  }
}

/** Before anything is done: each HAProxy has each of these hosts. @throws {ProcmanError} */
export async function checkHaproxys(addresses: readonly string[], hosts: readonly HaproxyHost[]): Promise<void> {
  for (const api of addresses.map((address) => new HaproxyApi(address)))
    for (const host of hosts) await api.serversOf(host, false);
}

/** One HAProxy. */
class HaproxyApi {
  readonly #address: string;
  readonly #target: NetConnectOpts;

  /** @param address path of its socket, or `HOST:PORT`. @throws {ProcmanError} `usage` */
  constructor(address: string) {
    this.#address = address;
    this.#target = targetOf(address);
  }

  /**
   * The servers with the name of the host, in all backends; if there is none, those with its address. Without those that
   * somebody has put in maintenance.
   *
   * @param isToDrain another server of each backend must be up: else requests would fail
   * @throws {ProcmanError} `service-down`, `rollout-refused`: there is none
   */
  async serversOf(host: HaproxyHost, isToDrain: boolean): Promise<readonly HaproxyServer[]> {
    const all = await this.#stats();
    const servers = (await this.#meant(all, host)).filter(({ status }) => !status.startsWith("MAINT"));
    if (isToDrain) this.#checkOthers(servers, all);
    return servers;
  }

  async #meant(all: readonly ServerStat[], { name, hostname }: HaproxyHost): Promise<readonly ServerStat[]> {
    const named = all.filter((server) => server.name === name || server.name === hostname);
    if (named.length > 0) return named;
    const addresses = await addressesOf(hostname);
    const found = all.filter(({ address }) => addresses.includes(address));
    if (found.length > 0) return found;
    const known = all.map(textOf).join(", ");
    throw this.#refused(
      `it has no server named ${name}, and none with the address of ${hostname}${addresses.length === 0 ? "" : ` (${addresses.join(", ")})`}; ${known === "" ? "it has no server at all" : `it has ${known}`}`,
    );
  }

  /**
   * Lets no new session come to the servers, and waits for the end of those that are there.
   *
   * @throws {ProcmanError} `service-down`, `rollout-refused`, `wait-timeout`
   */
  async drain(servers: readonly HaproxyServer[], wait: DrainWait): Promise<void> {
    for (const server of servers) await this.#set(server, "drain");
    await this.#until(
      servers,
      wait,
      ({ sessions }) => sessions === 0,
      (left) => ({
        what: `drain ${left.map(textOf).join(", ")}`,
        why: `${left.map((server) => `${textOf(server)} still has ${sessionsText(server.sessions)}`).join(", ")}; "show sess" of HAProxy shows them`,
      }),
    );
  }

  /**
   * Lets sessions come again, and waits until the servers are up for HAProxy's checks.
   *
   * @throws {ProcmanError} `service-down`, `rollout-refused`, `wait-timeout`
   */
  async ready(servers: readonly HaproxyServer[], wait: DrainWait): Promise<void> {
    for (const server of servers) await this.#set(server, "ready");
    await this.#until(servers, wait, isSound, (left) => ({
      what: `put ${left.map(textOf).join(", ")} back`,
      why: `${left.map((server) => `${textOf(server)} is ${server.status}`).join(", ")} for HAProxy; "show servers state" and its log show why`,
    }));
  }

  async #until(
    servers: readonly HaproxyServer[],
    { seconds, signal }: DrainWait,
    isDone: (server: ServerStat) => boolean,
    problem: (left: readonly ServerStat[]) => { readonly what: string; readonly why: string },
  ): Promise<void> {
    const deadline = performance.now() + seconds * 1_000;
    for (;;) {
      const stats = await this.#stats();
      const left = servers.map((server) => this.#found(stats, server)).filter((server) => !isDone(server));
      if (left.length === 0) return;
      if (signal?.aborted) throw new ProcmanError("interrupted", `Cannot ${problem(left).what}: it was stopped`);
      if (performance.now() >= deadline) {
        const { what, why } = problem(left);
        throw new ProcmanError("wait-timeout", `Cannot ${what}: timed out after ${seconds} s: ${why}`);
      }
      await pause(POLL_MS);
    }
  }

  #checkOthers(servers: readonly HaproxyServer[], stats: readonly ServerStat[]): void {
    const isMeant = (stat: ServerStat): boolean =>
      servers.some(({ backend, name }) => backend === stat.backend && name === stat.name);
    for (const backend of new Set(servers.map((server) => server.backend))) {
      const members = stats.filter((stat) => stat.backend === backend);
      if (members.some((stat) => !isMeant(stat) && isUp(stat))) continue;
      const states = members.map((stat) => `${textOf(stat)}: ${stat.status}`).join(", ");
      throw this.#refused(`no other server of ${backend} is up (${states}), so its requests would fail`);
    }
  }

  #found(stats: readonly ServerStat[], server: HaproxyServer): ServerStat {
    const found = stats.find(({ backend, name }) => backend === server.backend && name === server.name);
    if (found === undefined)
      throw this.#refused(`the server ${textOf(server)} is gone; was its configuration changed?`);
    return found;
  }

  async #set(server: HaproxyServer, state: "drain" | "ready"): Promise<void> {
    const answer = (await this.#ask(`set server ${textOf(server)} state ${state}`)).trim();
    if (/permission denied/i.test(answer))
      throw this.#refused(`${this.#address} may not change servers; add "level admin" to its line "stats socket"`);
    if (answer !== "") throw this.#refused(`"set server ${textOf(server)} state ${state}": ${answer}`);
  }

  async #stats(): Promise<readonly ServerStat[]> {
    const text = await this.#ask(SHOW_SERVERS);
    const [head = "", ...lines] = text.trim().split("\n");
    const titles = head.replace(/^# /, "").split(",");
    const needed = ["pxname", "svname", "status", "scur", "qcur"];
    if (needed.some((title) => !titles.includes(title)))
      throw this.#refused(`what answers at ${this.#address} is no HAProxy: it says "${head.slice(0, 80)}"`);
    return lines.map((line) => {
      const cells = line.split(",");
      const cell = (title: string): string => cells[titles.indexOf(title)] ?? "";
      return {
        backend: cell("pxname"),
        name: cell("svname"),
        address: cell("addr")
          .replace(/:\d+$/, "")
          .replace(/^\[|\]$/g, ""),
        status: cell("status"),
        sessions: Number(cell("scur")) + Number(cell("qcur")),
      };
    });
  }

  /** HAProxy answers one command a connection, and closes it. @throws {ProcmanError} `service-down` */
  #ask(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const down = (why: string): void => {
        socket.destroy();
        reject(new ProcmanError("service-down", `Cannot reach HAProxy at ${this.#address}: ${why}`));
      };
      const socket = connect(this.#target, () => socket.end(`${command}\n`));
      socket.setTimeout(ANSWER_MS, () => down(`no answer within ${ANSWER_MS / 1_000} s`));
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.once("error", (error) => down(remedyFor(error, this.#address)));
      socket.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    });
  }

  #refused(why: string): ProcmanError {
    return new ProcmanError("rollout-refused", `Cannot use HAProxy at ${this.#address}: ${why}`);
  }
}

/** @throws {ProcmanError} `usage` */
function targetOf(address: string): NetConnectOpts {
  if (address.startsWith("/")) return { path: address };
  const [, ipv6, name, port] = /^(?:\[([\da-f:.]+)\]|([^:/[\]]+)):(\d{1,5})$/i.exec(address) ?? [];
  const host = ipv6 ?? name;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw new ProcmanError(
      "usage",
      `Cannot use HAProxy at ${JSON.stringify(address)}: it needs the absolute path of its "stats socket", or HOST:PORT`,
    );
  return { host, port: Number(port) };
}

function remedyFor({ code, message }: NodeJS.ErrnoException, address: string): string {
  if (code === "ENOENT")
    return `there is no ${address}; "stats socket ${address} level admin" in its section "global" makes it`;
  if (code === "EACCES")
    return `this user may not use the socket; set "user", "group" or "mode" on its line "stats socket"`;
  return code === "ECONNREFUSED" ? "nothing listens there; is HAProxy running?" : message;
}

/** No check has failed since: `UP 1/2` may be down soon. */
function isSound({ status }: ServerStat): boolean {
  return status === "UP" || status === "no check";
}

function isUp({ status }: ServerStat): boolean {
  return /^(?:UP|no check)/.test(status);
}

async function addressesOf(hostname: string): Promise<readonly string[]> {
  try {
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  } catch {
    // A name of ssh's configuration file.
    return [];
  }
}

function textOf({ backend, name }: HaproxyServer): string {
  return `${backend}/${name}`;
}

function sessionsText(count: number): string {
  return `${count} session${count === 1 ? "" : "s"}`;
}

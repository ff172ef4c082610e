/** The machines that this tab can show, each below a path of its name (`procman dashboard --host`). */
import { Client } from "../../client/client.ts";
import { fetchSend } from "../../client/transport.ts";
import { allRun } from "../../contract/process-health.ts";
import type { SignInLink } from "./page-address.ts";
import { Session, storedSession } from "./session.ts";

const KEY = "procman-hosts";

export type HostList = {
  /** The one that the page shows. */
  readonly current: string;
  readonly names: readonly string[];
};

export type HostSummary = {
  readonly host: string;
  readonly name?: string;
  readonly version?: string;
  /** Processes and instances; `attention`: those that aren't up although they were asked for, not ready, or not healthy. */
  readonly total?: number;
  readonly attention?: number;
  /** Why nothing is known. */
  readonly problem?: string;
};

/** Signs in to the other machines of a link, and keeps their names. */
export function enterHosts(storage: Storage, { hosts }: SignInLink, path: string): void {
  if (hosts.size === 0) return storage.removeItem(KEY);
  storage.setItem(KEY, JSON.stringify([...hosts.keys()]));
  for (const [name, code] of hosts) {
    const place = pathOf(name);
    if (code !== undefined && place !== path) void new Session(storage, place).exchange(code, fetch, place);
  }
}

/** undefined: the page shows one procman alone. */
export function hostList(storage: Storage, path: string): HostList | undefined {
  const names = JSON.parse(storage.getItem(KEY) ?? "[]") as readonly string[];
  const current = names.find((name) => pathOf(name) === path);
  return current === undefined ? undefined : { current, names };
}

/** Where the page of a machine is. */
export function pathOf(name: string): string {
  return `/${encodeURIComponent(name)}/`;
}

/** Never rejects. */
export async function summaryOf(host: string, storage: Storage, origin: string): Promise<HostSummary> {
  const session = storedSession(storage, pathOf(host));
  if (session === undefined) return { host, problem: 'not signed in: it did not answer; run "procman dashboard" again' };
  const client = new Client(fetchSend({ url: `${origin}${pathOf(host)}`, token: session.token }));
  try {
    const [{ name, version }, records] = await Promise.all([client.state(), client.processes()]);
    const members = records.flatMap((record) => record.instances ?? [record]);
    const attention = members.filter((record) => !allRun([record], { named: false, checks: true })).length;
    return { host, name, version, total: members.length, attention };
  } catch (error) {
    return { host, problem: (error as Error).message };
  }
}

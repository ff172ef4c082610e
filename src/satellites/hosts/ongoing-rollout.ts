/** A rollout that is under way: how it is carried to its end, goes on by another client, is aborted and shown. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { untilLeft, withProgress } from "../../cli/output/progress.ts";
import { allHosts, hostsNamed, type NamedHost } from "../../client/connection/host-file.ts";
import { ProcmanError, reasonOf } from "../../core/base/errors.ts";
import { printable, printableJson } from "../../core/base/printable.ts";
import type { RolloutOrder, RolloutRecord } from "../../core/contract/rollout-record.ts";
import { actionText } from "../../core/contract/rollout-words.ts";
import { clientFolder } from "./client-folder.ts";
import { drainFor } from "./drain-command.ts";
import { RolledHost } from "./rolled-host.ts";
import { drive } from "./rollout-driver.ts";
import type { RolloutEnd } from "./rollout-plan.ts";
import { RolloutView, rolloutTable } from "./rollout-view.ts";
import { sshHost } from "./ssh.ts";
import { removeUploadOf } from "./upload.ts";

/** Until a host that doesn't answer counts as failed. Seconds. */
const HOST_TIMEOUT_SECONDS = 60;

export type RolloutOptions = {
  /** A number of hosts, or `25%`. */
  readonly batch?: string | undefined;
  readonly maxFailed?: number | undefined;
  readonly onFailure?: "stop" | "rollback" | undefined;
  readonly skipUnreachable?: boolean | undefined;
  readonly drainCommand?: string | undefined;
  /** Addresses, separated by commas. */
  readonly haproxy?: string | undefined;
  /** Seconds. */
  readonly drainTimeout?: number | undefined;
  readonly hostTimeout?: number | undefined;
  readonly dryRun?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** What is deployed is on the hosts already. */
  readonly isThere?: boolean | undefined;
};

/** `continue` of a rollout: after a failure, the failed hosts are tried again, unless it goes back. @throws {ProcmanError} */
export async function continueRollout(
  names: string | undefined,
  id: string | undefined,
  options: RolloutOptions,
): Promise<void> {
  await withHosts(namedOrAll(names), options, async (all) => {
    const { hosts, missing } = await partsOf(all, id);
    if (missing.length > 0) throw notAll(hosts, missing);
    const isAborted = hosts.some(({ record }) => record?.aborted === true);
    for (const host of hosts) {
      const { phase, onFailure, back, id: rollout } = host.record as RolloutRecord;
      const isStuck = phase === "back-failed" || (phase === "failed" && onFailure === "stop" && !isAborted && !back);
      if (isStuck) await host.step({ id: rollout, step: "retry" });
    }
    await goOn(hosts, options);
  });
}

/** What is under way is finished, then it stops, or goes back. @throws {ProcmanError} */
export async function abortRollout(
  names: string | undefined,
  id: string | undefined,
  options: RolloutOptions,
): Promise<void> {
  await withHosts(namedOrAll(names), options, async (all) => {
    const { hosts, missing } = await partsOf(all, id);
    for (const host of hosts)
      if (host.record?.ended === undefined) await host.step({ id: host.record?.id ?? "", step: "abort" });
    for (const part of missing) await leaveOut(part, hosts[0]?.record);
    await goOn(hosts, options, true);
  });
}

/** The records of it. @throws {ProcmanError} `rollout-unknown` */
export async function showRollout(names: string | undefined, id: string | undefined, json: boolean): Promise<void> {
  await withHosts(namedOrAll(names), {}, async (all) => {
    const { hosts, missing } = await partsOf(all, id, true);
    const records = hosts.flatMap(({ record }) => (record === undefined ? [] : [record]));
    if (json) return printJson(records);
    const [first] = records;
    if (first === undefined) return;
    const who = `${first.consumer}${first.by === undefined ? "" : `, ${first.by}`}`;
    const text = `Rollout ${first.id}: ${whatText(first)}, since ${first.time}, by ${who}.`;
    const lost = missing.map(({ name, why }) => ({ name, record: undefined, lost: why }));
    process.stdout.write(`${printable(text)}\n${rolloutTable([...hosts, ...lost])}\n`);
    if (records.some(({ ended }) => ended === undefined))
      process.stdout.write(
        `If its client has ended, "procman rollout continue ${first.id}" goes on, and "procman rollout abort ${first.id}" ends it.\n`,
      );
  });
}

function namedOrAll(names: string | undefined): readonly NamedHost[] {
  const hosts = names === undefined ? allHosts() : hostsNamed(names);
  if (hosts.length > 0) return hosts;
  throw new ProcmanError("usage", 'Cannot look for rollouts: there are no hosts yet; "procman host add" adds one');
}

export async function withHosts(
  named: readonly NamedHost[],
  { hostTimeout = HOST_TIMEOUT_SECONDS }: RolloutOptions,
  work: (hosts: readonly RolledHost[]) => Promise<void>,
): Promise<void> {
  const folder = clientFolder("rollout");
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const hosts = named.map((host, index) => new RolledHost(host, join(folder, `${index}.sock`), hostTimeout * 1_000));
  try {
    await work(hosts);
  } finally {
    for (const host of hosts) host.close();
  }
}

/** To the end. @throws {ProcmanError} `rollout-failed` */
export async function goOn(hosts: readonly RolledHost[], options: RolloutOptions, isAborted = false): Promise<void> {
  const [{ id, action, ...limits }] = hosts.map(({ record }) => record as RolloutRecord) as [RolloutRecord];
  const { json = false } = options;
  const drain = drainFor(options);
  if (limits.drains === true && drain === undefined)
    throw new ProcmanError(
      "usage",
      `Cannot go on: the rollout takes hosts out of their load balancer; name it again: procman rollout ${isAborted ? "abort" : "continue"} ${id}, with --haproxy ADDRESS or --drain-command COMMAND`,
    );
  const view = new RolloutView(hosts, json);
  const work = drive({
    id,
    limits,
    hosts,
    drain,
    isUpgrade: action.kind === "upgrade",
    onNews: () => view.update(),
  });
  const continues = (): string =>
    `hosts finish the step that they have begun; "procman rollout continue ${id}" goes on, "procman rollout abort ${id}" ends it`;
  const end = await untilLeft(continues, work).finally(() => view.end());
  const isOver = end !== "stopped" || hosts.some(({ record }) => record?.aborted === true);
  if (isOver) for (const host of hosts) if (host.lost === undefined) await release(host);
  if (json) printJson(hosts.map(({ name, record, lost }) => record ?? { host: name, problem: lost }));
  report(id, hosts, { end, isAborted, isOver, isSilent: json });
}

export async function release(host: RolledHost): Promise<void> {
  try {
    await host.step({ id: host.record?.id ?? "", step: "release" });
  } catch (error) {
    process.stderr.write(`procman: ${host.name} still takes part in the rollout: ${printable(reasonOf(error))}\n`);
  }
}

const END_TEXTS: Readonly<Record<RolloutEnd, string>> = {
  done: "is over",
  stopped: "has stopped",
  "taken-back": "was taken back",
};

type Reported = {
  readonly end: RolloutEnd;
  /** By this command. */
  readonly isAborted: boolean;
  readonly isOver: boolean;
  readonly isSilent: boolean;
};

/** @throws {ProcmanError} `rollout-failed` */
function report(id: string, hosts: readonly RolledHost[], { end, isAborted, isOver, isSilent }: Reported): void {
  const say = (text: string): void => void (isSilent || process.stdout.write(`${printable(text)}\n`));
  const done = hosts.filter(({ record, lost }) => record?.phase === "done" && lost === undefined);
  const failed = hosts.flatMap(({ name, record, lost }) => {
    const problem = lost ?? record?.problem;
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });
  if (end === "done" && done.length === hosts.length)
    return say(`Rollout ${id} is done: ${hosts.map(({ name }) => name).join(", ")}.`);
  const back = hosts.flatMap(({ name, record }) => (record?.phase === "taken-back" ? [name] : []));
  const waiting = hosts.flatMap(({ name, record }) => (record?.phase === "waiting" ? [name] : []));
  const facts = [
    ...failed,
    ...(back.length > 0 ? [`taken back: ${back.join(", ")}`] : []),
    ...(done.length > 0 ? [`done: ${done.map(({ name }) => name).join(", ")}`] : []),
    ...(waiting.length > 0 ? [`not begun: ${waiting.join(", ")}`] : []),
  ].join("\n");
  if (isAborted) return say(`Rollout ${id} is over.${facts === "" ? "" : `\n${facts}`}`);
  const next = isOver ? "" : `\n"procman rollout continue ${id}" tries again, "procman rollout abort ${id}" ends it`;
  throw new ProcmanError("rollout-failed", `Rollout ${id} ${END_TEXTS[end]}\n${facts}${next}`);
}

type MissingHost = {
  readonly name: string;
  readonly why: "doesn't answer" | "takes no part in it" | "isn't in the list of hosts";
  /** Absent: it isn't in the list. */
  readonly host?: RolledHost;
};

type RolloutParts = { readonly hosts: readonly RolledHost[]; readonly missing: readonly MissingHost[] };

/** A rollout that can only be ended without these. */
function notAll(hosts: readonly RolledHost[], missing: readonly MissingHost[]): ProcmanError {
  const facts = missing.map(({ name, why }) => `${name} ${why}`).join(", ");
  const abort = `"procman rollout abort ${hosts[0]?.record?.id}"`;
  const remedy = missing.every(({ why }) => why === "takes no part in it")
    ? `the rollout has not begun on all its hosts, so ${abort} lets the others go`
    : `try again, or ${abort} ends it on the others`;
  return new ProcmanError("service-down", `Cannot continue: ${facts}; ${remedy}`);
}

/** An abort that doesn't reach it; where it has never begun, there may be an upload. */
async function leaveOut({ name, why, host }: MissingHost, record: RolloutRecord | undefined): Promise<void> {
  if (why === "doesn't answer")
    process.stderr.write(`procman: ${name} doesn't answer: abort it there once more when it does\n`);
  if (why === "isn't in the list of hosts")
    process.stderr.write(`procman: ${name} isn't in the list of hosts: abort it there with a list that has it\n`);
  const there = host && sshHost(host.host);
  if (why !== "takes no part in it" || there === undefined || record?.action.order?.uploaded === undefined) return;
  await removeUploadOf(there, uploadIdOf(record.id, record.hosts, name)).catch((error: unknown) =>
    process.stderr.write(`procman: the upload is left on ${name}: ${printable(reasonOf(error))}\n`),
  );
}

/** Two hosts may be one machine, with two procmans of one user. `hosts`: all of the rollout. */
export function uploadIdOf(rollout: string, hosts: readonly string[], host: string): string {
  return `${rollout}-${hosts.indexOf(host) + 1}`;
}

/** The hosts of a rollout, in its order. @throws {ProcmanError} `rollout-unknown`, `usage` */
async function partsOf(all: readonly RolledHost[], id: string | undefined, mayBeOver = false): Promise<RolloutParts> {
  const silent = new Set<string>();
  const asked = all.map(async (host) => {
    host.record = await host.lastRollout().catch((error: unknown) => {
      if (!(error instanceof ProcmanError)) throw error;
      silent.add(host.name);
      return undefined;
    });
  });
  await withProgress(() => "asking the hosts", Promise.all(asked));
  const known = all.flatMap(({ record }) => record ?? []);
  const held = known.filter(({ ended }) => ended === undefined);
  const newest = [...known].sort((one, other) => (one.time < other.time ? 1 : -1))[0]?.id;
  const ids = [...new Set(held.map((record) => record.id))];
  if (id === undefined && ids.length > 1)
    throw new ProcmanError("usage", `Cannot choose a rollout: there are ${ids.join(" and ")}; name one`);
  const wanted = id ?? ids[0] ?? (mayBeOver ? newest : undefined);
  const first = known.find((record) => record.id === wanted);
  if (first === undefined || (!mayBeOver && !held.some((record) => record.id === wanted))) throw noRollout(id, all);
  const hosts = first.hosts.flatMap((name) => all.filter((host) => host.name === name && host.record?.id === wanted));
  for (const { record } of hosts) checkSame(first, record as RolloutRecord);
  const missing = first.hosts.flatMap((name): readonly MissingHost[] => {
    if (hosts.some((host) => host.name === name)) return [];
    const host = all.find((each) => each.name === name);
    if (host === undefined) return [{ name, why: "isn't in the list of hosts" }];
    return [{ name, host, why: silent.has(name) ? "doesn't answer" : "takes no part in it" }];
  });
  return { hosts, missing };
}

function noRollout(id: string | undefined, all: readonly RolledHost[]): ProcmanError {
  const names = all.map(({ name }) => name).join(", ");
  return new ProcmanError(
    "rollout-unknown",
    `Cannot find ${id === undefined ? "a rollout" : `the rollout ${id}`}: none is under way on ${names}, as far as they answer; --host names others`,
  );
}

/** No host may make the others do something else. @throws {ProcmanError} `rollout-refused` */
function checkSame(one: RolloutRecord, other: RolloutRecord): void {
  const key = ({ hosts, batch, maxFailed, onFailure, drains, action }: RolloutRecord): string =>
    JSON.stringify([hosts, batch, maxFailed, onFailure, drains, action.kind]);
  if (key(one) !== key(other))
    throw new ProcmanError(
      "rollout-refused",
      `Cannot go on: ${one.host} and ${other.host} have different rollouts with the id ${one.id}`,
    );
}

export function printJson(value: object): void {
  process.stdout.write(`${printableJson(value, 2)}\n`);
}

export function whatText({ action, hosts }: Pick<RolloutOrder, "action" | "hosts">): string {
  return `${actionText(action)} on ${hosts.join(", ")}`;
}

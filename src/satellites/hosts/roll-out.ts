/** `restart`, `reload`, `deploy` and others with several hosts: the plan first, then batches of hosts; and how a rollout goes on. */
import { mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { untilLeft, withProgress } from "../../cli/output/progress.ts";
import { addressIn } from "../../client/connection/host-address.ts";
import { allHosts, hostsNamed, type NamedHost } from "../../client/connection/host-file.ts";
import { EXIT, ProcmanError, reasonOf } from "../../core/base/errors.ts";
import { printable, printableJson } from "../../core/base/printable.ts";
import { isChange } from "../../core/contract/plan.ts";
import {
  NO_WAY_BACK,
  type RolloutAction,
  type RolloutOrder,
  type RolloutRecord,
} from "../../core/contract/rollout-record.ts";
import { drainFor, placeOf } from "./drain-command.ts";
import { checkHaproxys } from "./haproxy-drain.ts";
import { RolledHost } from "./rolled-host.ts";
import { drive } from "./rollout-driver.ts";
import type { RolloutEnd } from "./rollout-plan.ts";
import { RolloutView, rolloutTable } from "./rollout-view.ts";
import { type SshHost, sshHost } from "./ssh.ts";
import { uploadTo } from "./upload.ts";
import { withUploadSource } from "./upload-source.ts";

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

/** Exit code 1 if not all hosts are done, 69 if some were left out. @throws {ProcmanError} */
export async function rollOut(names: string, action: RolloutAction, options: RolloutOptions): Promise<void> {
  const named = hostsNamed(names);
  await withHosts(named, options, async (all) => {
    const away = await unreachable(all);
    const hosts = all.filter((host) => !away.has(host));
    refuseAway(away, hosts, options.skipUnreachable === true);
    const { haproxy } = options;
    if (haproxy !== undefined)
      await checkHaproxys(
        haproxy.split(","),
        hosts.map(({ host }) => placeOf(host)),
      );
    const id = newId();
    const actions = await actionsFor(hosts, action, { id, isThere: options.isThere === true });
    const orders = ordersFor(id, actions, options);
    const plans = await withProgress(
      () => "planning",
      Promise.all([...actions].map(([host, each]) => planOf(host, each))),
    );
    if (options.json !== true) process.stdout.write(`${printable(planText(orders, plans))}\n`);
    if (options.dryRun === true) return void (options.json === true && printJson(orders));
    await hold(hosts, orders);
    await goOn(hosts, options);
    if (away.size > 0) process.exitCode ||= EXIT.noDaemon;
  });
}

/** `continue` of a rollout: after a failure, the failed hosts are tried again, unless it goes back. @throws {ProcmanError} */
export async function continueRollout(
  names: string | undefined,
  id: string | undefined,
  options: RolloutOptions,
): Promise<void> {
  await withHosts(namedOrAll(names), options, async (all) => {
    const { hosts, missing } = await partsOf(all, id);
    if (missing.length > 0)
      throw new ProcmanError(
        "service-down",
        `Cannot continue: ${missing.join(", ")} ${missing.length === 1 ? "doesn't" : "don't"} answer, or isn't in the list of hosts; try again, or "procman rollout abort ${hosts[0]?.record?.id}" ends it on the others`,
      );
    for (const host of hosts) {
      const { phase, onFailure, aborted, back, id: rollout } = host.record as RolloutRecord;
      const isStuck = phase === "back-failed" || (phase === "failed" && onFailure === "stop" && !aborted && !back);
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
    for (const name of missing)
      process.stderr.write(`procman: ${name} doesn't answer: abort it there once more when it does\n`);
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
    const lost = missing.map((name) => ({ name, record: undefined, lost: "no answer" }));
    process.stdout.write(`${printable(text)}\n${rolloutTable([...hosts, ...lost])}\n`);
  });
}

function namedOrAll(names: string | undefined): readonly NamedHost[] {
  const hosts = names === undefined ? allHosts() : hostsNamed(names);
  if (hosts.length > 0) return hosts;
  throw new ProcmanError("usage", 'Cannot look for rollouts: there are no hosts yet; "procman host add" adds one');
}

async function withHosts(
  named: readonly NamedHost[],
  { hostTimeout = HOST_TIMEOUT_SECONDS }: RolloutOptions,
  work: (hosts: readonly RolledHost[]) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "procman-rollout-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const hosts = named.map((host, index) => new RolledHost(host, join(folder, `${index}.sock`), hostTimeout * 1_000));
  try {
    await work(hosts);
  } finally {
    for (const host of hosts) host.close();
  }
}

async function unreachable(hosts: readonly RolledHost[]): Promise<ReadonlyMap<RolledHost, string>> {
  const asked = hosts.map((host) => host.first((client) => client.state()));
  const answers = await withProgress(() => "asking the hosts", Promise.allSettled(asked));
  return new Map(
    hosts.flatMap((host, index) => {
      const answer = answers[index];
      if (answer?.status !== "rejected") return [];
      const { reason } = answer as { readonly reason: unknown };
      if (!(reason instanceof ProcmanError) || reason.exitCode !== EXIT.noDaemon) throw reason;
      return [[host, reason.message]];
    }),
  );
}

/** @throws {ProcmanError} `service-down` */
function refuseAway(away: ReadonlyMap<RolledHost, string>, hosts: readonly RolledHost[], mayskip: boolean): void {
  const lines = [...away].map(([{ name }, why]) => `${name} doesn't answer: ${why}`);
  if (away.size > 0 && (!mayskip || hosts.length === 0))
    throw new ProcmanError("service-down", `Cannot begin: ${lines.join("\n")}\n--skip-unreachable leaves it out`);
  for (const line of lines) process.stderr.write(`procman: left out: ${printable(line)}\n`);
}

/** @example newId() // "20261128-031500-8f3a" */
function newId(): string {
  const time = new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `${time}-${process.getBuiltinModule("node:crypto").randomBytes(2).toString("hex")}`;
}

/** What is deployed is brought to each host first. @throws {ProcmanError} `usage`, those of an upload */
async function actionsFor(
  hosts: readonly RolledHost[],
  action: RolloutAction,
  { id, isThere }: { readonly id: string; readonly isThere: boolean },
): Promise<ReadonlyMap<RolledHost, RolloutAction>> {
  const { order } = action;
  const away = hosts.filter(({ host }) => addressIn(host.url).kind !== "unix");
  if (order === undefined || isThere || away.length === 0) return new Map(hosts.map((host) => [host, action]));
  const https = away.find(({ host }) => sshHost(host) === undefined);
  if (https !== undefined)
    throw new ProcmanError(
      "usage",
      `Cannot deploy on ${https.name}: it is reached by https, which uploads nothing; bring the release to all hosts, and name it with --on-host, or add ${https.name} by ssh://USER@HOST`,
    );
  return withUploadSource(order, async ({ source, label }) => {
    const uploaded = away.map(async (host): Promise<readonly [RolledHost, RolloutAction]> => {
      const path = await uploadTo(sshHost(host.host) as SshHost, source, id);
      const there = "folder" in source ? { folder: path } : { tarball: path };
      return [host, { ...action, order: { ...there, uploaded: label } }];
    });
    const all = withProgress(() => "uploading", Promise.all(uploaded));
    return new Map([...hosts.map((host) => [host, action] as const), ...(await all)]);
  });
}

/** @throws {ProcmanError} `usage` */
function ordersFor(
  id: string,
  actions: ReadonlyMap<RolledHost, RolloutAction>,
  { batch = "1", maxFailed = 0, onFailure = "stop", drainCommand, haproxy }: RolloutOptions,
): readonly RolloutOrder[] {
  const hosts = [...actions.keys()].map(({ name }) => name);
  const [kind] = [...actions.values()].map((action) => action.kind);
  const why = kind && NO_WAY_BACK[kind];
  if (onFailure === "rollback" && why !== undefined)
    throw new ProcmanError("usage", `Cannot go back after a failure: ${why}; leave out "--on-failure rollback"`);
  for (const [{ host, name }, action] of actions)
    if (action.kind === "upgrade" && sshHost(host) === undefined)
      throw new ProcmanError(
        "usage",
        `Cannot upgrade ${name}: the command runs there, and ${name} is not reached by ssh`,
      );
  const size = batch.endsWith("%") ? Math.floor((hosts.length * Number.parseInt(batch, 10)) / 100) : Number(batch);
  const common = {
    id,
    hosts,
    batch: Math.max(1, size),
    maxFailed,
    onFailure,
    by: `${userInfo().username}@${hostname()}`,
  };
  return [...actions].map(([{ name: host }, action]) => ({
    ...common,
    host,
    action,
    ...((drainCommand ?? haproxy) !== undefined && { drains: true as const }),
  }));
}

/** What it would do there. @throws {ProcmanError} if it would be refused */
async function planOf(host: RolledHost, { kind, order, profile }: RolloutAction): Promise<readonly string[]> {
  try {
    if (kind === "deploy" && order !== undefined) return (await host.client.deploy({ ...order, dryRun: true })).lines;
    if (kind !== "reload") return [];
    const options = profile === undefined ? {} : { profile: profile === "" ? null : profile };
    const { processes, settings } = await host.client.plan(options);
    const lines = processes.filter(isChange).map(({ process, action, reason }) => `${process} ${action}: ${reason}`);
    const all = [...lines, ...settings.map(({ field }) => `${field} has changed`)];
    return all.length === 0 ? ["nothing has changed"] : all;
  } catch (error) {
    if (error instanceof ProcmanError)
      throw new ProcmanError(error.code, `${host.name}: ${error.message}`, { cause: error });
    throw error;
  }
}

function planText(orders: readonly RolloutOrder[], plans: readonly (readonly string[])[]): string {
  const [first] = orders;
  if (first === undefined) return "";
  const { batch, maxFailed, onFailure } = first;
  const end = onFailure === "stop" ? "stops" : "goes back on all";
  const head = `Rollout ${first.id}: ${whatText(first)}; ${batch} at a time, ${end} if ${maxFailed === 0 ? "one fails" : `more than ${maxFailed} fail`}.`;
  const lines = orders.flatMap(({ host }, index) => (plans[index] ?? []).map((line) => `  ${host}: ${line}`));
  return [head, ...lines].join("\n");
}

function whatText({ action, hosts }: Pick<RolloutOrder, "action" | "hosts">): string {
  const { kind, ids = [], scaling, signalling, order, entry, profile } = action;
  const to =
    scaling?.instances ?? (scaling?.by === undefined ? undefined : `${scaling.by > 0 ? "+" : ""}${scaling.by}`);
  const source = order?.uploaded ?? order?.folder ?? order?.tarball ?? order?.ref ?? order?.release;
  const words = [
    kind,
    signalling?.signal,
    ...ids,
    to,
    source,
    entry,
    profile === undefined ? undefined : `--profile ${profile}`,
  ];
  return `${words.filter((word) => word !== undefined).join(" ")} on ${hosts.join(", ")}`;
}

/** In the order of names, so that of two rollouts one gets all. @throws {ProcmanError} `rollout-running`, `rollout-refused` */
async function hold(hosts: readonly RolledHost[], orders: readonly RolloutOrder[]): Promise<void> {
  const byName = [...hosts].sort((one, other) => (one.name < other.name ? -1 : 1));
  const held: RolledHost[] = [];
  try {
    for (const host of byName) {
      const order = orders.find((each) => each.host === host.name) as RolloutOrder;
      host.record = await host.first((client) => client.joinRollout(order));
      held.push(host);
    }
  } catch (error) {
    for (const host of held) await release(host);
    throw error;
  }
}

/** To the end. @throws {ProcmanError} `rollout-failed` */
async function goOn(hosts: readonly RolledHost[], options: RolloutOptions, isAborted = false): Promise<void> {
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
  if (end !== "stopped" || isAborted) for (const host of hosts) if (host.lost === undefined) await release(host);
  if (json) printJson(hosts.map(({ name, record, lost }) => record ?? { host: name, problem: lost }));
  report(id, hosts, { end, isAborted, isSilent: json });
}

async function release(host: RolledHost): Promise<void> {
  try {
    await host.step({ id: host.record?.id ?? "", step: "release" });
  } catch (error) {
    process.stderr.write(`procman: ${host.name} still takes part in the rollout: ${printable(reasonOf(error))}\n`);
  }
}

/** @throws {ProcmanError} `rollout-failed` */
const END_TEXTS: Readonly<Record<RolloutEnd, string>> = {
  done: "is over",
  stopped: "has stopped",
  "taken-back": "was taken back",
};

function report(
  id: string,
  hosts: readonly RolledHost[],
  { end, isAborted, isSilent }: { readonly end: RolloutEnd; readonly isAborted: boolean; readonly isSilent: boolean },
): void {
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
  const next =
    end === "stopped" ? `\n"procman rollout continue ${id}" tries again, "procman rollout abort ${id}" ends it` : "";
  throw new ProcmanError("rollout-failed", `Rollout ${id} ${END_TEXTS[end]}\n${facts}${next}`);
}

type RolloutParts = { readonly hosts: readonly RolledHost[]; readonly missing: readonly string[] };

/** The hosts of a rollout, in its order; `missing`: names of those that don't answer. @throws {ProcmanError} `rollout-unknown`, `usage` */
async function partsOf(all: readonly RolledHost[], id: string | undefined, mayBeOver = false): Promise<RolloutParts> {
  const asked = all.map(async (host) => {
    host.record = await host.first((client) => client.rollout());
  });
  await withProgress(() => "asking the hosts", Promise.allSettled(asked));
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
  return { hosts, missing: first.hosts.filter((name) => !hosts.some((host) => host.name === name)) };
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

function printJson(value: object): void {
  process.stdout.write(`${printableJson(value, 2)}\n`);
}

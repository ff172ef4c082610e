/** `restart`, `reload`, `deploy` and others with several hosts begin here: the plan first, then all hosts are held. */
import { hostname, userInfo } from "node:os";
import { interruptible, withProgress } from "../../cli/output/progress.ts";
import { addressIn } from "../../client/connection/host-address.ts";
import { hostsNamed } from "../../client/connection/host-file.ts";
import { type ErrorCode, EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printable } from "../../core/base/printable.ts";
import { rolloutRunning, sameProcmanText } from "../../core/contract/held-rollout.ts";
import { isChange, type PlanRecord } from "../../core/contract/plan.ts";
import { DRAINABLE, NO_WAY_BACK, type RolloutAction, type RolloutOrder } from "../../core/contract/rollout-record.ts";
import type { StateRecord } from "../../core/contract/state-record.ts";
import { placeOf } from "./drain-command.ts";
import { checkHaproxys } from "./haproxy-drain.ts";
import { goOn, printJson, type RolloutOptions, release, uploadIdOf, whatText, withHosts } from "./ongoing-rollout.ts";
import type { RolledHost } from "./rolled-host.ts";
import { type SshHost, sshHost } from "./ssh.ts";
import { removeUpload, type UploadSource, uploadTo } from "./upload.ts";
import { withUploadSource } from "./upload-source.ts";

/** Their messages have the host. */
const SAY_HOST: readonly ErrorCode[] = ["rollout-running", "rollout-refused", "service-down"];

/** Where each upload is. */
type Uploads = Map<SshHost, string>;

/** Exit code 1 if not all hosts are done, 69 if some were left out. @throws {ProcmanError} */
export async function rollOut(names: string, action: RolloutAction, options: RolloutOptions): Promise<void> {
  checkDrain(action, options);
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
    if (await interruptible((signal) => begin(hosts, action, { ...options, signal }))) await goOn(hosts, options);
    if (away.size > 0) process.exitCode ||= EXIT.noDaemon;
  });
}

/** @throws {ProcmanError} `usage` */
function checkDrain({ kind }: RolloutAction, { drainCommand, haproxy }: RolloutOptions): void {
  if ((drainCommand ?? haproxy) === undefined || DRAINABLE.includes(kind)) return;
  throw new ProcmanError(
    "usage",
    `Cannot ${kind} with --${haproxy === undefined ? "drain-command" : "haproxy"}: each host is put back into its load balancer afterwards, and must serve then as before`,
  );
}

/** Resolves with whether all hosts take part now. What was uploaded is removed if they don't. @throws {ProcmanError} */
async function begin(
  hosts: readonly RolledHost[],
  action: RolloutAction,
  options: RolloutOptions & { readonly signal: AbortSignal },
): Promise<boolean> {
  const { isThere = false, json = false, dryRun = false, signal } = options;
  const id = newId();
  const uploads: Uploads = new Map();
  let isHeld = false;
  try {
    if (!dryRun) await refuseHeld(hosts);
    const actions = await actionsFor(hosts, action, { id, isThere, uploads, signal });
    const orders = ordersFor(id, actions, options);
    const planned = Promise.all([...actions].map(([host, each]) => planOf(host, each)));
    const plans = await withProgress(() => "planning", planned);
    if (!json) process.stdout.write(`${printable(planText(orders, plans))}\n`);
    if (dryRun && json) printJson(orders);
    if (!dryRun) await hold(hosts, orders, signal);
    isHeld = !dryRun;
  } finally {
    if (!isHeld) await Promise.all([...uploads].map(([host, path]) => removeUpload(host, path)));
  }
  return isHeld;
}

async function unreachable(hosts: readonly RolledHost[]): Promise<ReadonlyMap<RolledHost, string>> {
  const asked = hosts.map((host) => host.first((client) => client.state()));
  const answers = await withProgress(() => "asking the hosts", Promise.allSettled(asked));
  const names = new Map<string, string>();
  for (const [index, { name }] of hosts.entries()) {
    const answer = answers[index];
    if (answer?.status === "fulfilled") refuseTwin(name, answer.value, names);
  }
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

/** Before it is planned or uploaded there twice; `names`: by what tells procmans apart. @throws {ProcmanError} `rollout-refused` */
function refuseTwin(name: string, { pid, started, configFile, system }: StateRecord, names: Map<string, string>): void {
  const key = JSON.stringify([system.hostname, configFile, pid, started]);
  const twin = names.get(key);
  if (twin !== undefined) throw new ProcmanError("rollout-refused", `Cannot begin: ${sameProcmanText(twin, name)}`);
  names.set(key, name);
}

/** @throws {ProcmanError} `service-down` */
function refuseAway(away: ReadonlyMap<RolledHost, string>, hosts: readonly RolledHost[], mayskip: boolean): void {
  const lines = [...away].map(([{ name }, why]) => `${name} doesn't answer: ${why}`);
  if (away.size > 0 && (!mayskip || hosts.length === 0))
    throw new ProcmanError("service-down", `Cannot begin: ${lines.join("\n")}\n--skip-unreachable leaves it out`);
  for (const line of lines) process.stderr.write(`procman: left out: ${printable(line)}\n`);
}

/** Before an upload; `hold` is what decides. @throws {ProcmanError} `rollout-running` */
async function refuseHeld(hosts: readonly RolledHost[]): Promise<void> {
  await Promise.all(
    hosts.map(async (host) => {
      const last = await host.lastRollout();
      if (last !== undefined && last.ended === undefined) throw rolloutRunning(last, host.name);
    }),
  );
}

/** @example newId() // "20261128-031500-8f3a" */
function newId(): string {
  const time = new Date().toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `${time}-${process.getBuiltinModule("node:crypto").randomBytes(2).toString("hex")}`;
}

type UploadingOptions = { readonly id: string; readonly uploads: Uploads; readonly signal: AbortSignal };

/** What is deployed is brought to each host first. @throws {ProcmanError} `usage`, those of an upload */
async function actionsFor(
  hosts: readonly RolledHost[],
  action: RolloutAction,
  { isThere, ...options }: UploadingOptions & { readonly isThere: boolean },
): Promise<ReadonlyMap<RolledHost, RolloutAction>> {
  const { order } = action;
  const away = hosts.filter(({ host }) => addressIn(host.url).kind !== "unix");
  const same = new Map(hosts.map((host) => [host, action]));
  if (order === undefined || isThere || away.length === 0) return same;
  const machines = away.map((host) => [host, sshHost(host.host) ?? refuseHttps(host)] as const);
  await withUploadSource(order, async ({ source, label }) => {
    const names = hosts.map(({ name }) => name);
    const all = uploadToAll(
      new Map(machines.map(([{ name }, there]) => [there, uploadIdOf(options.id, names, name)])),
      source,
      options,
    );
    await withProgress(() => "uploading", all);
    for (const [host, there] of machines) {
      const path = options.uploads.get(there) as string;
      same.set(host, {
        ...action,
        order: { ...("folder" in source ? { folder: path } : { tarball: path }), uploaded: label },
      });
    }
  });
  return same;
}

/** @throws {ProcmanError} `usage` */
function refuseHttps({ name }: RolledHost): never {
  throw new ProcmanError(
    "usage",
    `Cannot deploy on ${name}: it is reached by https, which uploads nothing; bring the release to all hosts, and name it with --on-host, or add ${name} by ssh://USER@HOST`,
  );
}

/** To all at once, with these ids; if one fails, the others are stopped. @throws {ProcmanError} the first problem */
async function uploadToAll(
  hosts: ReadonlyMap<SshHost, string>,
  source: UploadSource,
  { uploads, signal }: Omit<UploadingOptions, "id">,
): Promise<void> {
  const abort = new AbortController();
  const uploading = [...hosts].map(async ([host, id]) => {
    try {
      uploads.set(host, await uploadTo(host, source, id, { signal: AbortSignal.any([signal, abort.signal]) }));
    } catch (error) {
      abort.abort(error);
    }
  });
  await Promise.all(uploading);
  abort.signal.throwIfAborted();
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
function planOf({ name, client }: RolledHost, action: RolloutAction): Promise<readonly string[]> {
  const { kind, order, profile, entry, force = false } = action;
  return naming(name, async () => {
    if (kind === "deploy" && order !== undefined) return (await client.deploy({ ...order, dryRun: true })).lines;
    if (kind === "rollback") {
      const record = await client.rollback(entry, { dryRun: true, force });
      const files = record.files.map(({ file, change }) => `${file} would be ${change}`);
      return [...(record.release === undefined ? planLines(record) : record.remarks), ...files];
    }
    if (kind !== "reload") return [];
    return planLines(await client.plan(profile === undefined ? {} : { profile: profile === "" ? null : profile }));
  });
}

function planLines({ processes, settings }: Pick<PlanRecord, "processes" | "settings">): readonly string[] {
  const lines = processes.filter(isChange).map(({ process, action, reason }) => `${process} ${action}: ${reason}`);
  const all = [...lines, ...settings.map(({ field }) => `${field} has changed`)];
  return all.length === 0 ? ["nothing has changed"] : all;
}

/** A refusal says which host it is of. @throws {ProcmanError} that of `ask` */
async function naming<Value>(name: string, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ProcmanError && !SAY_HOST.includes(error.code))
      throw new ProcmanError(error.code, `${name}: ${error.message}`, { cause: error });
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

/** In the order of names, so that of two rollouts one gets all. @throws {ProcmanError} `rollout-running`, `rollout-refused`, `interrupted` */
async function hold(hosts: readonly RolledHost[], orders: readonly RolloutOrder[], signal: AbortSignal): Promise<void> {
  const byName = [...hosts].sort((one, other) => (one.name < other.name ? -1 : 1));
  const held: RolledHost[] = [];
  let asked: RolledHost | undefined;
  try {
    for (const host of byName) {
      const order = orders.find((each) => each.host === host.name) as RolloutOrder;
      asked = host;
      host.record = await naming(host.name, () => host.first((client) => client.joinRollout(order)));
      held.push(host);
      if (signal.aborted)
        throw new ProcmanError("interrupted", "Cannot begin the rollout: it was stopped; no host has changed");
    }
  } catch (error) {
    for (const host of held) await release(host);
    if (error instanceof ProcmanError && error.code === "service-down")
      process.stderr.write(
        `procman: ${asked?.name} may take part in the rollout all the same: "procman rollout abort ${orders[0]?.id}" lets it go\n`,
      );
    throw error;
  }
}

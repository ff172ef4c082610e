/**
 * What a rollout over several hosts does on this one, forward and back: by the commands of `Control`, each with its wait.
 * A deed that a killed service had begun goes on, or its outcome is looked up; nothing is done twice.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { compact } from "../../base/compact.ts";
import { ProcmanError } from "../../base/errors.ts";
import type { Action, Control } from "../../contract/control.ts";
import { deploymentEnd } from "../../contract/deployment-end.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { NO_WAY_BACK, type RolledAction, type RolloutAction } from "../../contract/rollout-record.ts";
import { hasCurrentRun, isDownByFailure, isStopping } from "../../contract/status-sets.ts";
import { activeIn, type SoundEntry } from "../../history/shown-history.ts";
import type { RolloutBefore } from "../../releases/rollout-store.ts";
import type { OperationContext, StartContext } from "./operation-context.ts";
import { settleRestart } from "./start-verdict.ts";

/** No step of a host takes longer. Seconds. */
const LONGEST_SECONDS = 3_600;
/** Interval at which the history is looked at, until the result of a reload is in it. Milliseconds. */
const LOOK_MS = 100;

export type Deed = {
  readonly action: RolloutAction;
  readonly before: RolloutBefore;
  /** As it was when the step began. */
  readonly marks: RolloutBefore;
  /** When that was. Milliseconds since 1970. */
  readonly since: number;
  /** An earlier service has begun it, or was about to. */
  readonly isResumed: boolean;
};

export type DeedContext = StartContext &
  Pick<OperationContext, "history" | "link" | "operations" | "steadyMs"> & {
    readonly control: Control;
    /** Aborted: another service goes on. */
    readonly signal: AbortSignal;
    readonly say: (line: string) => void;
  };

/** What there is now. */
export async function present(
  { kind, ids: [id = ""] = [] }: RolloutAction,
  context: DeedContext,
): Promise<RolloutBefore> {
  const { control, history } = context;
  const cluster = kind === "scale" ? await control.process(id) : undefined;
  const release = kind === "deploy" || kind === "rollback" ? await currentRelease(control) : undefined;
  const deployment = await control.deployment("latest").catch(unless("release-unknown"));
  return compact({
    entry: activeIn(history.store)?.number,
    newest: history.store.numbers[0],
    release,
    deployment: deployment?.number,
    instances: cluster?.instances?.length,
    isAuto: cluster?.scale && cluster.scale.pinned !== true,
  });
}

/** Whether there is something to go back to. */
export async function hasChanged(action: RolloutAction, before: RolloutBefore, context: DeedContext): Promise<boolean> {
  if (NO_WAY_BACK[action.kind] !== undefined) return false;
  await context.link.commit();
  const now = await present(action, context);
  return now.entry !== before.entry || now.release !== before.release || now.instances !== before.instances;
}

/** Resolves when it is done. @throws Error with the problem */
export const FORWARD: Readonly<Record<RolledAction, (deed: Deed, context: DeedContext) => Promise<void>>> = {
  block: (deed, context) => acted("block", deed, context),
  disable: (deed, context) => acted("disable", deed, context),
  enable: (deed, context) => acted("enable", deed, context),
  deploy: (deed, context) => deployed(deed, context, () => context.control.deploy(deed.action.order ?? {})),
  reload: reloaded,
  restart: async (deed, context) => {
    const { ids = [], hard } = deed.action;
    if (deed.isResumed && (await wasRestarted(deed, context))) return;
    const options = { ...waiting(context), ...(hard && { hard }) };
    await all(ids.map((id) => context.control.act(id, "restart", options)));
  },
  rollback: (deed, context) => rolledBack(deed, context, deed.action.entry),
  scale: scaled,
  signal: async ({ action: { ids = [], signalling = { signal: "" } }, isResumed }, { control }) => {
    if (isResumed)
      throw new Error("procman was restarted while it sent the signal: whether the processes have got it isn't known");
    await all(ids.map((id) => control.signal(id, signalling)));
  },
  start: (deed, context) => acted("start", deed, context),
  stop: (deed, context) => acted("stop", deed, context),
  unblock: (deed, context) => acted("unblock", deed, context),
  // The client does it.
  upgrade: async () => undefined,
};

function waiting({ signal }: DeedContext): { readonly waitSeconds: number; readonly signal: AbortSignal } {
  return { waitSeconds: LONGEST_SECONDS, signal };
}

/** Twice is as once, so after a kill it is said again. */
async function acted(
  action: Exclude<Action, "restart">,
  { action: rolled }: Deed,
  context: DeedContext,
): Promise<void> {
  const { ids = [], withDependencies } = rolled;
  const options = { ...waiting(context), ...(withDependencies && { withDependencies }) };
  const act = async (id: string): Promise<void> => {
    const record = await context.control.act(id, action, options).catch(unless("process-running"));
    if (action !== "start" || record === undefined) return;
    // `all` starts no tasks: they have failed earlier.
    const failed = membersOf(record).filter((each) => isDownByFailure(each) && (id !== "all" || each.task !== true));
    if (failed.length > 0) throw new Error(failed.map((each) => `"${each.id}" ${each.reason}`).join("; "));
  };
  await all(ids.map(act));
}

async function reloaded(deed: Deed, context: DeedContext): Promise<void> {
  const { profile } = deed.action;
  if (await wasApplied(deed, context)) return;
  const options = profile === undefined ? {} : { profile: profile === "" ? null : profile };
  const { processes } = await context.control.reload({ ...waiting(context), ...options });
  const down = processes.flatMap(({ process, problem }) =>
    problem === undefined ? [] : [`"${process}" is not up: it ${problem}`],
  );
  if (down.length > 0) throw new Error(down.join("; "));
}

async function scaled({ action, before }: Deed, context: DeedContext): Promise<void> {
  const { ids: [id = ""] = [], scaling = {} } = action;
  // Said again after a kill, so it is no step but a number.
  const to = scaling.by === undefined ? scaling : { instances: (before.instances ?? 0) + scaling.by };
  const record = await context.control.scale(id, to, waiting(context));
  const failed = membersOf(record).filter(isDownByFailure);
  if (failed.length > 0) throw new Error(failed.map(({ id: one, reason }) => `"${one}" ${reason}`).join("; "));
}

/** To what there was before. @throws Error with the problem */
export async function goBack(deed: Deed, context: DeedContext): Promise<void> {
  const { action, before } = deed;
  if (action.kind === "scale") {
    const { instances = 1, isAuto = false } = before;
    const scaling = { instances: isAuto ? ("auto" as const) : instances };
    await context.control.scale(action.ids?.[0] ?? "", scaling, waiting(context));
    return;
  }
  const { release } = before;
  const isSwitched = release !== undefined && release !== (await currentRelease(context.control));
  const to = isSwitched ? release : before.entry;
  if (action.kind === "deploy" && release === undefined)
    throw new Error("there was no release before it; stop its processes, or deploy another one");
  return rolledBack(deed, context, to === undefined ? undefined : String(to));
}

async function rolledBack(deed: Deed, context: DeedContext, to: string | undefined): Promise<void> {
  const { control } = context;
  const latest = await control.deployment("latest").catch(unless("release-unknown"));
  if (latest !== undefined && latest.number > (deed.marks.deployment ?? 0) && deed.isResumed)
    return deployed(deed, context, async () => latest);
  if (await wasApplied(deed, context)) return;
  const { force } = deed.action;
  await control.rollback(to, { ...waiting(context), ...(force && { force }) });
}

/** Begins the deployment, unless an earlier service has, and follows it. */
async function deployed(
  { isResumed, marks }: Deed,
  { control, signal, say }: DeedContext,
  begin: () => ReturnType<Control["deploy"]>,
): Promise<void> {
  const latest = isResumed ? await control.deployment("latest").catch(unless("release-unknown")) : undefined;
  const begun = latest !== undefined && latest.number > (marks.deployment ?? 0) ? latest : await begin();
  // Output of its commands, which may be for fewer eyes, is indented; a colon announces it.
  const onLines = (lines: readonly string[]): void => {
    const step = lines.findLast((line) => !/^(?: |\+)|:$/.test(line));
    if (step !== undefined) say(step);
  };
  await deploymentEnd(control, begun, { waitSeconds: LONGEST_SECONDS, signal, onLines });
}

/** Whether an earlier service has applied a configuration in this step; throws if that was taken back. */
async function wasApplied({ isResumed, marks }: Deed, context: DeedContext): Promise<boolean> {
  if (!isResumed) return false;
  const found = await newestEntry(context);
  if (found === undefined || found.number <= (marks.newest ?? 0)) return false;
  const { result, problem = "procman was restarted meanwhile" } = found.entry;
  if (result === "applied") return true;
  throw new Error(`the change was taken back: ${problem}`);
}

/** The newest of the history, once its result is known. */
async function newestEntry({
  operations,
  history: { store },
  link,
  signal,
}: DeedContext): Promise<SoundEntry | undefined> {
  for (;;) {
    await operations.waitForAll("reload");
    await link.commit();
    const found = store.read(store.numbers[0] ?? 0);
    if (found === undefined || !("entry" in found)) return undefined;
    if (found.entry.result !== "running" || signal.aborted) return found;
    await sleep(LOOK_MS, undefined, { ref: false });
  }
}

/** Whether an earlier service has restarted all of them in this step; throws if it was some of them. */
async function wasRestarted({ action, since }: Deed, context: DeedContext): Promise<boolean> {
  const { control, operations, signal, steadyMs = 1_000 } = context;
  await operations.waitForAll("rolling-restart");
  const running = async (): Promise<readonly ProcessRecord[]> =>
    (await Promise.all((action.ids ?? []).map((id) => control.process(id)))).flatMap(membersOf).filter(hasCurrentRun);
  const isNew = ({ started = "" }: ProcessRecord): boolean => Date.parse(started) >= since;
  const found = await running();
  if (!found.some((each) => isNew(each) || isStopping(each))) return false;
  for (const { id } of found)
    if (!(await settleRestart(context, id, { steadyMs, signal })))
      throw new Error(`"${id}" did not come up after its restart`);
  const left = (await running()).filter((each) => !isNew(each));
  if (left.length === 0) return true;
  throw new Error(
    `procman was restarted meanwhile, and has not restarted ${left.map(({ id }) => `"${id}"`).join(", ")}`,
  );
}

function membersOf(record: ProcessRecord): readonly ProcessRecord[] {
  return record.instances ?? [record];
}

async function currentRelease(control: Control): Promise<string | undefined> {
  const releases = await control.releases().catch(unless("deploy-refused"));
  return releases?.find(({ current }) => current === true)?.id;
}

/** The first problem, once all are over. */
async function all(works: readonly Promise<unknown>[]): Promise<void> {
  const outcomes = await Promise.allSettled(works);
  const problems = outcomes.flatMap((each) => (each.status === "rejected" ? [(each.reason as Error).message] : []));
  if (problems.length > 0) throw new Error(problems.join("; "));
}

function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof ProcmanError) || error.code !== code) throw error;
  };
}

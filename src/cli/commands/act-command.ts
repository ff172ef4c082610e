/** `procman start`, `stop`, `restart`, `block`, `unblock`, `enable`, `disable`: carries out the action and prints the result. */
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { mayBeSeveral } from "../../client/connection/host-file.ts";
import { defaultTimeout } from "../../client/default-timeout.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import type { Action, ActOptions } from "../../core/contract/control.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { isDownByFailure, isStartingOrRunning } from "../../core/contract/status-sets.ts";
import type { RolloutOptions } from "../../satellites/hosts/ongoing-rollout.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { IDS_HELP, secondsTo, withTarget } from "../options.ts";
import { reportRefusal } from "../output/error-report.ts";
import { outcomeOf } from "../output/format.ts";
import { waitFor } from "../output/progress.ts";
import { rolledOut, withRollout } from "../rollout-options.ts";
import { lastLinesOf } from "../settled-start.ts";
import { type TargetOptions, targetPlace } from "../target.ts";
import { unaddedScript, unappliedId } from "../unapplied.ts";

/** The limit of the API. */
const LONGEST_SECONDS = 3_600;

type Verb = {
  readonly description: string;
  /** Shown while waiting. */
  readonly doing: string;
};

const VERBS: Readonly<Record<Action, Verb>> = {
  start: {
    description:
      "Starts processes and waits until they are up: ready or, without `ready`, running for minUptimeMs (1 s), or finished. For a task it shows the output and waits for its end. A process that is already running is left alone; a blocked one is refused.",
    doing: "starting",
  },
  stop: {
    description:
      "Stops processes and waits until they have exited: SIGTERM, then SIGKILL after their terminate timeout.",
    doing: "stopping",
  },
  restart: {
    description:
      "Restarts processes, starts those that aren't running, and waits until they are up. Instances of a cluster are restarted one after another, each when the previous one is available again; if one fails to start, the others keep running as before.",
    doing: "restarting",
  },
  block: {
    description:
      "Blocks processes: neither policy nor schedule nor `start` starts them. Running processes keep running.",
    doing: "blocking",
  },
  unblock: {
    description: "Lifts the block of processes: policy and schedule start them again.",
    doing: "unblocking",
  },
  disable: {
    description:
      "Disables processes: they no longer start with procman, by schedule, or when watched files change, until they are enabled, even after `procman terminate` and a reboot. `procman start` starts them. Running processes keep running.",
    doing: "disabling",
  },
  enable: {
    description:
      "Lets disabled processes start by themselves again: with procman, by schedule, and when watched files change.",
    doing: "enabling",
  },
};

type Options = TargetOptions & {
  readonly wait: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
  readonly hard?: boolean;
  /** Option of `enable` and `disable`. */
  readonly now?: boolean;
  /** Option of `stop`. */
  readonly keep?: boolean;
  readonly withDependencies?: boolean;
};

/** `ran`: it was running before, so nothing was done. */
type Result = { readonly record: ProcessRecord; readonly ran?: true } | { readonly problem: ProcmanError };

export function actionCommand(action: Action): { readonly define: (parent: Command) => void } {
  const { description } = VERBS[action];
  const define = (parent: Command): void => {
    const command = withTarget(parent.command(action).description(description))
      .argument("<id...>", `${IDS_HELP}; "all" for all`)
      .option("--no-wait", "return immediately instead of waiting")
      .option(
        "--timeout <seconds>",
        `wait no longer than this (default: ${defaultTimeout(action)}); the action continues`,
        secondsTo(LONGEST_SECONDS),
      )
      .option("--json", "print the API records")
      .action((ids: readonly string[], options: Options) => actAll(action, ids, options));
    if (action === "start")
      command.option("--with-dependencies", "first start what they depend on, unless it is running");
    if (action === "stop")
      command.option("--keep", "disable them, too: they stay stopped after a reboot, until `procman enable`");
    if (action === "enable") command.option("--now", "start them, too, unless they are running");
    if (action === "disable") command.option("--now", "stop them, too");
    if (action === "restart")
      command.option("--hard", "restart all instances of a cluster at once instead of one after another");
    withRollout(command);
  };
  return { define };
}

/** `disable --now` is `stop --keep`. */
async function actAll(
  action: Action,
  ids: readonly string[],
  { now = false, keep = false, ...options }: Options & RolloutOptions,
): Promise<void> {
  const { hard, withDependencies, host } = options;
  if (host !== undefined && mayBeSeveral(host)) refuseForOne({ ...options, now, keep });
  const more = { ...(hard && { hard }), ...(withDependencies && { withDependencies }) };
  if (await rolledOut(options, { kind: action, ids, ...more })) return;
  if (!now && !keep) return act(action, ids, options);
  return action === "enable"
    ? act("start", ids, { ...options, first: "enable" })
    : act("stop", ids, { ...options, first: "disable" });
}

/** @throws {ProcmanError} `usage` */
function refuseForOne({ wait, timeout, now = false, keep = false }: Options): void {
  const several = (option: string, remedy: string): ProcmanError =>
    new ProcmanError("usage", `Cannot use ${option} with several hosts: ${remedy}`);
  if (!wait) throw several("--no-wait", "the next host waits for the end on the one before");
  if (timeout !== undefined)
    throw several("--timeout", "each host carries it out to the end; --host-timeout is about hosts that don't answer");
  if (now) throw several("--now", 'run "procman enable" or "disable", then "start" or "stop"');
  if (keep) throw several("--keep", 'run "procman disable", then "procman stop"');
}

async function act(
  action: Action,
  ids: readonly string[],
  { wait, timeout, json, hard, withDependencies, first, ...target }: Options & Pick<ActionQuestion, "first">,
): Promise<void> {
  const targets = ids.includes("all") ? ["all"] : [...new Set(ids)];
  const client = await connect(target);
  const open = new Set(targets);
  const since = Date.now();
  const tasks = wait && json !== true && isStart(action) ? await tasksAmong(client, targets) : [];
  const waitSeconds = timeout ?? (tasks.length > 0 ? LONGEST_SECONDS : defaultTimeout(action));
  const one = async (id: string): Promise<Result> => {
    const acting = {
      ...(wait && { waitSeconds }),
      ...(hard && { hard }),
      ...(withDependencies && { withDependencies }),
    };
    const result = await ask(client, { id, action, target, first, options: acting });
    open.delete(id);
    return result;
  };
  const results = await waitFor(
    {
      doing: () => `${VERBS[action].doing} ${[...open].join(", ")}`,
      continues: () =>
        `procman continues ${VERBS[action].doing} ${[...open].join(", ")}, "${asTyped("status", target)}" shows the states`,
    },
    withTaskOutput(tasks, target, () => Promise.all(targets.map(one))),
  );
  const records = results.flatMap((result) => ("record" in result ? [result.record] : []));
  if (json === true) process.stdout.write(`${printableJson(records, 2)}\n`);
  for (const [index, result] of results.entries()) {
    if (print(result, action, json === true) || json === true) continue;
    const id = targets[index] ?? "";
    // The output of a task was shown.
    if ("problem" in result && isFailedStart(result.problem, action) && !tasks.includes(id))
      await printFailures(client, result.problem, { id, action, since }).catch(unlessRemoved);
  }
}

/** Tasks among the ids; unknown ids are reported later. */
async function tasksAmong(client: Client, ids: readonly string[]): Promise<readonly string[]> {
  return (await client.processes()).flatMap(({ id, task }) => (task === true && ids.includes(id) ? [id] : []));
}

async function withTaskOutput<T>(tasks: readonly string[], target: TargetOptions, start: () => Promise<T>): Promise<T> {
  if (tasks.length === 0) return start();
  const { withOutputOf } = await import("../task-output.ts");
  return withOutputOf(tasks, targetPlace(target), start);
}

function isStart(action: Action): boolean {
  return action === "start" || action === "restart";
}

function isFailedStart({ code }: ProcmanError, action: Action): boolean {
  return isStart(action) && (code === "process-failed" || code === "roll-failed");
}

/** A process that a reload has removed meanwhile has no record: only the problem is shown. */
function unlessRemoved(error: unknown): void {
  if (!(error instanceof ProcmanError) || error.code !== "process-unknown") throw error;
}

type FailedTarget = { readonly id: string; readonly action: Action; readonly since: number };

/** The process should run now, and its run has failed. */
function hasMissed(action: Action, record: ProcessRecord): boolean {
  return isStart(action) && isDownByFailure(record);
}

function failureOf({ id, reason }: ProcessRecord, action: Action): ProcmanError {
  return new ProcmanError("process-failed", `Cannot ${action} "${id}": it ${printableLine(reason)}`, {
    processes: [id],
  });
}

/** The last lines of each process that has failed; also why, if the error is about another one. */
async function printFailures(
  client: Client,
  { processes, message }: ProcmanError,
  { id, action, since }: FailedTarget,
): Promise<void> {
  const record = await client.process(id);
  const told = new Set([id, ...processes]);
  const hasFailed = (member: ProcessRecord): boolean =>
    hasMissed(action, member) || (member.restarts > 0 && Date.parse(member.started ?? "") >= since);
  const failed = record.instances?.filter((member) => hasFailed(member) || told.has(member.id)) ?? [record];
  const parts = failed.map(async (member) => [
    ...(told.has(member.id) ? [] : [`procman: ${failureOf(member, action).message}`]),
    ...(await lastLinesOf(client, { id: member.id, since, told: `${message}${failureOf(member, action).message}` })),
  ]);
  for (const line of (await Promise.all(parts)).flat()) process.stderr.write(`${line}\n`);
}

type ActionQuestion = {
  readonly id: string;
  readonly action: Action;
  /** Done before. */
  readonly first?: "enable" | "disable" | undefined;
  readonly target: TargetOptions;
  readonly options: ActOptions;
};

/** An error of one process must not hide the results of the others. */
async function ask(client: Client, { id, action, first, target, options }: ActionQuestion): Promise<Result> {
  try {
    if (first !== undefined) await client.act(id, first);
    return { record: await client.act(id, action, options) };
  } catch (error) {
    const running = action === "start" ? await runningRecord(client, id, error) : undefined;
    if (running !== undefined) return { record: running, ran: true };
    if (error instanceof ProcmanError && error.exitCode === EXIT.refused)
      return { problem: error.code === "process-unknown" ? knownRemedy(id, action, { target, error }) : error };
    throw error;
  }
}

/** Starting a process that already runs succeeds, as scripts expect, unless it still waits for others. */
async function runningRecord(client: Client, id: string, error: unknown): Promise<ProcessRecord | undefined> {
  if (!(error instanceof ProcmanError) || error.code !== "process-running") return undefined;
  const record = await client.process(id);
  return isStartingOrRunning(record) ? record : undefined;
}

function knownRemedy(
  id: string,
  action: Action,
  { target, error }: { readonly target: TargetOptions; readonly error: ProcmanError },
): ProcmanError {
  return unappliedId(id, target) ?? (action === "start" ? unaddedScript(id, error) : undefined) ?? error;
}

/** Prints a result; false if the action failed. */
function print(result: Result, action: Action, quiet: boolean): boolean {
  if ("problem" in result) {
    reportRefusal(result.problem);
    return false;
  }
  const { id, instances = [result.record] } = result.record;
  // `all` starts no tasks: they have failed earlier.
  const members = id === "all" ? instances.filter(({ task }) => task !== true) : instances;
  const failed = members.filter((member) => hasMissed(action, member));
  for (const member of members)
    if (failed.includes(member)) reportRefusal(failureOf(member, action));
    else if (!quiet)
      process.stdout.write(`${member.id}: ${result.ran === true ? "already " : ""}${outcomeOf(member)}\n`);
  return failed.length === 0;
}

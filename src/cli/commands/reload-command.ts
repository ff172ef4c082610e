/** `procman reload`: applies a changed configuration file, and shows its effect. */
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableLine } from "../../core/base/printable.ts";
import type { PlanRecord } from "../../core/contract/plan.ts";
import type { RolloutAction } from "../../core/contract/rollout-record.ts";
import type { RolloutOptions } from "../../satellites/hosts/ongoing-rollout.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { IDS_HELP, profileOption, secondsTo, withTarget } from "../options.ts";
import { isJson, reportRefusal } from "../output/error-report.ts";
import { waitFor } from "../output/progress.ts";
import { printPlan } from "../plan-table.ts";
import { rolledOut, withRollout } from "../rollout-options.ts";
import { lastLinesOf } from "../settled-start.ts";
import { placeOfFile, type TargetOptions } from "../target.ts";
import { signalEach } from "./signal-command.ts";

/** A rollout takes its time for each instance. Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 300;
/** The limit of the API. */
const LONGEST_SECONDS = 3_600;

type Options = TargetOptions & {
  readonly wait: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
  /** `false`: none. */
  readonly profile?: string | false;
};

export function define(parent: Command): void {
  const command = withTarget(
    parent
      .command("reload")
      .description(
        "Applies the changed configuration file and waits until this is done: new processes start, removed ones stop, changed ones restart (instances of a cluster one after another), and all others keep running untouched. The profile stays that of `procman run`, or of the last reload that named one. If the file is invalid (exit code 78), or an instance of a cluster fails to start (1), everything stays as it was.\nWith ids: sends each of these processes its reloadSignal, on which it re-reads its configuration.",
      ),
  )
    .argument("[id...]", `${IDS_HELP} with a reloadSignal`)
    .option("--profile <name>", "merge this profile over the rest of the file from now on, instead of the active one")
    .option("--no-profile", "use no profile from now on")
    .option("--no-wait", "return immediately instead of waiting")
    .option(
      "--timeout <seconds>",
      `wait no longer than this (default: ${DEFAULT_TIMEOUT_SECONDS}); the reload continues`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--json", "print the API record: all processes, settings, warnings")
    .action(async (ids: readonly string[], options: Options & RolloutOptions) => {
      if (await rolledOut(options, () => reloadAction(ids, options))) return;
      await (ids.length === 0 ? reload(options) : reloadProcesses(ids, options));
    });
  withRollout(command);
}

function reloadAction(ids: readonly string[], { profile }: Options): RolloutAction {
  if (ids.length > 0) return { kind: "signal", ids, signalling: { signal: "reload" } };
  return { kind: "reload", ...(profile !== undefined && { profile: profile === false ? "" : profile }) };
}

/** @throws {ProcmanError} `usage`; if procman can't be asked */
async function reloadProcesses(
  ids: readonly string[],
  { config, name, wait, timeout, json, profile }: Options,
): Promise<void> {
  if (profile !== undefined)
    throw new ProcmanError(
      "usage",
      "Cannot reload processes with a profile: it applies to the whole file; leave out the ids",
    );
  if (!wait || timeout !== undefined)
    throw new ProcmanError(
      "usage",
      "Cannot wait for the reload of a process: procman sends it a signal, and does not see when it is done",
    );
  await signalEach(ids, { signal: "reload" }, { config, name, json, done: "was asked to reload" });
}

/**
 * Prints the plan, and the processes that are not up, which set the exit code.
 *
 * @throws {ProcmanError} those of a reload
 */
export async function reload({
  wait,
  timeout = DEFAULT_TIMEOUT_SECONDS,
  json,
  profile,
  showsPlan = true,
  ...target
}: Options & { readonly showsPlan?: boolean }): Promise<PlanRecord> {
  const client = await connect(target, placeOfFile(target));
  const since = Date.now();
  const plan = await waitFor(
    {
      doing: () => "reloading",
      continues: () => `the reload continues, "${asTyped("status", target)}" shows the processes`,
    },
    client.reload({ ...(wait && { waitSeconds: timeout }), ...profileOption(profile) }),
  );
  if (showsPlan) printPlan(plan, json);
  await reportProblems(client, plan, since);
  return plan;
}

/** Says which processes are not up, and sets the exit code by them. */
export async function reportProblems(
  client: Client,
  { processes }: Pick<PlanRecord, "processes">,
  since: number,
): Promise<void> {
  for (const { process: id, problem } of processes) {
    if (problem === undefined) continue;
    const message = `"${id}" is not up: it ${printableLine(problem)}`;
    reportRefusal(new ProcmanError("process-failed", message, { processes: [id] }));
    if (!isJson())
      for (const line of await lastLinesOf(client, { id, since, told: message })) process.stderr.write(`${line}\n`);
  }
}

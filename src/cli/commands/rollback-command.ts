/** `procman rollback`: puts an earlier text back into the configuration file, and applies it. */
import type { Command } from "commander";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printable, printableJson } from "../../core/base/printable.ts";
import type { RollbackRecord } from "../../core/contract/history-record.ts";
import type { RolloutAction } from "../../core/contract/rollout-record.ts";
import type { RolloutOptions } from "../../satellites/hosts/ongoing-rollout.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { secondsTo, withTarget } from "../options.ts";
import { waitFor } from "../output/progress.ts";
import { printPlan } from "../plan-table.ts";
import { rolledOut, withRollout } from "../rollout-options.ts";
import { placeOfFile, type TargetOptions } from "../target.ts";
import { ENTRY_HELP } from "./history-command.ts";
import { reportProblems } from "./reload-command.ts";

/** As of a reload. Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 300;
const LONGEST_SECONDS = 3_600;

type Options = TargetOptions & {
  readonly dryRun?: boolean;
  readonly force?: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
};

export function define(parent: Command): void {
  const command = withTarget(
    parent
      .command("rollback")
      .description(
        "With the id of a release: switches to it, as `procman deploy` does, but without preparing it. With an entry of a deployment: to its release, with the configuration of that time. Else puts the text of an earlier configuration back into the file and those that it includes, and applies it as `procman reload` does. Without an entry: the configuration in force, if the file differs from it, else the release before the present one, if a deployment was the last change, else the configuration before it. The text that is replaced stays beside each file (procman.jsonc.before-rollback). If the reload is refused or rolled back, the files are as before, too. If procman isn't running, puts the text back, with exit code 69.",
      ),
  )
    .argument("[entry]", `${ENTRY_HELP}, or id of a release`)
    .option("--dry-run", "only show what it would do, or why it is refused")
    .option(
      "--force",
      "also replace included files with changes that Git has not committed; also take an entry of another machine",
    )
    .option(
      "--timeout <seconds>",
      `wait no longer than this (default: ${DEFAULT_TIMEOUT_SECONDS}); the rollback continues`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--json", "print the API record: files, and all processes, settings and warnings of the plan")
    .action(rollback);
  withRollout(command, true);
}

async function rollback(
  entry: string | undefined,
  {
    dryRun = false,
    force = false,
    timeout = DEFAULT_TIMEOUT_SECONDS,
    json = false,
    ...target
  }: Options & RolloutOptions,
): Promise<void> {
  if (await rolledOut({ ...target, json, dryRun }, () => rolledAction(entry, force), true)) return;
  const since = Date.now();
  try {
    const client = await connect(target, placeOfFile(target));
    const record = await waitFor(
      {
        doing: () => "rolling back",
        continues: () => `the rollback continues, "${asTyped("status", target)}" shows the processes`,
      },
      client.rollback(entry, { ...(dryRun ? { dryRun } : { waitSeconds: timeout }), force }),
    );
    if (json) process.stdout.write(`${printableJson(record, 2)}\n`);
    else printRecord(record, dryRun);
    await reportProblems(client, record, since);
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.exitCode !== EXIT.noDaemon || error.cause !== undefined) throw error;
    if (error.code !== "no-daemon" || target.host !== undefined || target.name !== undefined) throw error;
    const { restoreFiles } = await import("../restored-files.ts");
    const restored = await restoreFiles(entry, target, { force, dryRun });
    if (json) process.stdout.write(`${printableJson(restored, 2)}\n`);
    else printFiles(restored, dryRun);
    throw error;
  }
}

function rolledAction(entry: string | undefined, force: boolean): RolloutAction {
  return { kind: "rollback", ...(entry !== undefined && { entry }), ...(force && { force }) };
}

function printRecord(record: RollbackRecord, isDryRun: boolean): void {
  const { release, remarks } = record;
  if (release !== undefined) {
    const text = isDryRun ? remarks.join("\n") : `Release ${release} is in use.`;
    process.stdout.write(`${printable(text)}\n`);
    if (record.files.length > 0) printFiles({ ...record, remarks: isDryRun ? [] : remarks }, isDryRun);
    return;
  }
  printPlan(record);
  printFiles(record, isDryRun);
}

type RestoredFiles = Pick<RollbackRecord, "rollbackTo" | "files" | "remarks">;

function printFiles({ rollbackTo, files, remarks }: RestoredFiles, isDryRun: boolean): void {
  for (const remark of remarks) process.stderr.write(`procman: ${printable(remark)}\n`);
  const [has, gone, stays] = isDryRun ? ["would get", "would be gone", "would be"] : ["has", "is gone", "is"];
  const lines = files.map(({ file, change, copy }) => {
    const what = change === "removed" ? `${gone}, as` : `${has} its text`;
    return `${file} ${what} of entry ${rollbackTo}${copy === undefined ? "" : `; the text of before ${stays} in ${copy}`}.`;
  });
  process.stdout.write(`${printable(lines.join("\n") || `The files have the text of entry ${rollbackTo} already.`)}\n`);
}

/** `plan` and `reload`. */
import { boolean, list, object, openObject, optional, string } from "../../../core/base/schema.ts";
import { isChange, type PlanRecord } from "../../../core/contract/plan.ts";
import { isAway, lastLines, poll } from "../polling.ts";
import { READS, type Tool, type ToolAnswer, type ToolContext, tool } from "../tool.ts";
import { timeoutSeconds } from "../tool-fields.ts";
import { fenced, harmless, UNTRUSTED } from "../untrusted.ts";

/** Many clients give up after a minute; the reload continues. */
export const DEFAULT_SECONDS = 45;

export const CHANGES = {
  configFile: string({ description: "Absolute path." }),
  changes: list(
    openObject({
      process: string(),
      action: string({ description: "start, stop, restart, in-place (without a restart), none." }),
      fields: list(string(), { description: "The changed fields." }),
      reason: string(),
      problem: optional(string({ description: "After a reload: why it is not in the planned state." })),
    }),
    { description: "Empty: the file changes no process." },
  ),
  settings: list(string(), { description: "Changes outside of processes." }),
  warnings: list(string()),
};

const PROFILE = string({ minLength: 1, maxLength: 64, description: "Of the file; default: the active one." });

const planTool = tool({
  name: "plan",
  title: "What would a reload do?",
  description:
    "What a reload of the changed configuration file would do to each process, and why. Changes nothing. An invalid file is refused with all its problems.",
  input: object({ profile: optional(PROFILE) }),
  output: CHANGES,
  annotations: READS,
  needs: ["reload"],
  call: async ({ profile }, { connect }) => {
    const plan = await (await connect()).plan(profile === undefined ? {} : { profile });
    const { changes, settings } = changesIn(plan);
    return {
      data: { ...changesIn(plan) },
      text: linesOf(plan).join("\n"),
      next:
        changes.length + settings.length === 0
          ? "There is nothing to apply."
          : 'Show this plan to the user if it stops or restarts something that serves. Then call "reload".',
    };
  },
});

const reloadTool = tool({
  name: "reload",
  title: "Apply the configuration file",
  description: `Applies the changed configuration file, as "plan" shows it, and waits until it is done. All or nothing: an invalid file changes nothing, and a cluster whose instances don't come up is rolled back. ${UNTRUSTED}`,
  input: object({ profile: optional(PROFILE), timeoutSeconds: optional(timeoutSeconds(DEFAULT_SECONDS)) }),
  output: {
    ...CHANGES,
    reached: boolean({ description: "All is in the planned state." }),
    lastLines: list(string(), { description: "Untrusted output of the programs that have failed." }),
  },
  annotations: { ...READS, readOnlyHint: false, destructiveHint: true },
  needs: ["reload"],
  call: async ({ profile, timeoutSeconds: seconds = DEFAULT_SECONDS }, context) => {
    const since = Date.now();
    const plan = await reloaded(profile, seconds, context);
    return reloadAnswer(plan, since, context);
  },
});

export const reloadTools: readonly Tool[] = [planTool, reloadTool];

/** A reload that procman was killed amid continues with the next service; one that it had not read is asked for again. */
async function reloaded(profile: string | undefined, seconds: number, context: ToolContext): Promise<PlanRecord> {
  const options = { waitSeconds: seconds, signal: context.signal, ...(profile !== undefined && { profile }) };
  const client = await context.connect();
  try {
    return await client.reload(options);
  } catch (error) {
    if (!isAway(error)) throw error;
    const idle = await poll(
      async (again) => ((await again.state()).lastReload?.result === "running" ? undefined : true),
      { ...context, seconds },
    );
    if (idle === undefined) throw error;
    return (await context.connect()).reload(options);
  }
}

/** What has become of a reload. */
export async function reloadAnswer(
  plan: PlanRecord,
  since: number,
  { connect }: Pick<ToolContext, "connect">,
): Promise<ToolAnswer> {
  const client = await connect();
  const ids = plan.processes.flatMap(({ process, problem }) => (problem === undefined ? [] : [process]));
  const failed = (await Promise.all(ids.map(async (id) => lastLines(client, await client.process(id), since)))).flat();
  const reached = ids.length === 0;
  return {
    data: { ...changesIn(plan), reached, lastLines: failed.flatMap(({ lines }) => lines.map(harmless)) },
    text: [...linesOf(plan), ...failed.map(({ process, lines }) => fenced(`last lines of ${process}`, lines))].join(
      "\n",
    ),
    next: reached
      ? 'Call "wait" until "ready" for what was started, or "status".'
      : `Call "why" for ${ids.join(", ")}.`,
    ...(!reached && { hasFailed: true }),
  };
}

export function changesIn({ configFile, processes, settings, warnings }: PlanRecord): {
  readonly configFile: string;
  readonly changes: readonly object[];
  readonly settings: readonly string[];
  readonly warnings: readonly string[];
} {
  return {
    configFile,
    changes: processes.filter(isChange).map(({ process, action, fields, reason, problem }) => ({
      process,
      action,
      fields,
      reason: harmless(reason),
      ...(problem !== undefined && { problem: harmless(problem) }),
    })),
    settings: settings.map(({ field, takesEffect }) => `${field} (${takesEffect})`),
    warnings: warnings.map(harmless),
  };
}

export function linesOf(plan: PlanRecord): readonly string[] {
  const changes = plan.processes.filter(isChange);
  return [
    ...(changes.length === 0 ? ["No process changes."] : []),
    ...changes.map(({ process, action, reason, problem }) =>
      harmless(`${process}: ${action}: ${reason}${problem === undefined ? "" : `; it ${problem}`}`),
    ),
    ...plan.settings.map(({ field, takesEffect }) => `setting ${field}: takes effect ${takesEffect}`),
    ...plan.warnings.map((warning) => `warning: ${harmless(warning)}`),
  ];
}

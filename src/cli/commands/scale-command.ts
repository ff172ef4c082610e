/** `procman scale`: changes the number of instances of a running cluster. */
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import type { Scaling } from "../../core/contract/control.ts";
import { MAX_INSTANCES } from "../../core/contract/input-schemas.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { isDownByFailure } from "../../core/contract/status-sets.ts";
import type { RolloutOptions } from "../../satellites/hosts/ongoing-rollout.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { secondsTo, withTarget } from "../options.ts";
import { reportRefusal } from "../output/error-report.ts";
import { outcomeOf } from "../output/format.ts";
import { waitFor } from "../output/progress.ts";
import { rolledOut, withRollout } from "../rollout-options.ts";
import type { TargetOptions } from "../target.ts";

/** A stop may take 30 s until SIGKILL. Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 60;
/** The limit of the API. */
const LONGEST_SECONDS = 3_600;

type Options = TargetOptions & {
  readonly wait: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
};

export function define(parent: Command): void {
  const command = withTarget(
    parent
      .command("scale")
      .description(
        "Changes the number of instances of a cluster, and waits until new ones are running and removed ones have exited; the others keep running untouched. The number applies until `procman reload` or the next `procman run`, which use the file. A cluster with `scale` keeps it, whatever its load is, until auto.",
      ),
  )
    .argument("<id>", "id of the cluster")
    .argument("<count>", "number of instances; max: one per processor; +1, -1: more or fewer; auto: by its load again")
    .option("--no-wait", "return immediately instead of waiting")
    .option(
      "--timeout <seconds>",
      `wait no longer than this (default: ${DEFAULT_TIMEOUT_SECONDS}); scaling continues`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--json", "print the API record")
    .action(scale);
  withRollout(command);
}

async function scale(
  id: string,
  count: string,
  { wait, timeout = DEFAULT_TIMEOUT_SECONDS, json, ...target }: Options & RolloutOptions,
): Promise<void> {
  const scaling = scalingOf(id, count);
  if (await rolledOut({ ...target, ...(json && { json }) }, { kind: "scale", ids: [id], scaling })) return;
  const client = await connect(target);
  const { instances: before = [] } = await client.process(id);
  const record = await waitFor(
    {
      doing: () => `scaling ${id}`,
      continues: () => `scaling continues, "${asTyped(`status ${id}`, target)}" shows the instances`,
    },
    client.scale(id, scaling, wait ? { waitSeconds: timeout } : {}),
  );
  if (json === true) process.stdout.write(`${printableJson(record, 2)}\n`);
  else print(record, before);
  const previousIds = new Set(before.map((each) => each.id));
  const hasFailed = (instance: ProcessRecord): boolean => !previousIds.has(instance.id) && isDownByFailure(instance);
  for (const { id: failed, reason } of (record.instances ?? []).filter(hasFailed))
    reportRefusal(
      new ProcmanError("process-failed", `Cannot start "${failed}": it ${printableLine(reason)}`, {
        processes: [failed],
      }),
    );
}

function scalingOf(id: string, count: string): Scaling {
  const cannot = (why: string): ProcmanError => new ProcmanError("usage", `Cannot scale ${JSON.stringify(id)} ${why}`);
  if (count === "max" || count === "auto") return { instances: count };
  if (!/^[+-]?\d+$/.test(count))
    throw cannot(`to ${JSON.stringify(count)}: use a whole number such as 4, or +1, -1, max or auto`);
  const isStep = !/^\d/.test(count);
  const number = Number(count);
  if (isStep && Math.abs(number) > MAX_INSTANCES) throw cannot(`by ${count}: use 1 to ${MAX_INSTANCES} instances`);
  if (!isStep && (number < 1 || number > MAX_INSTANCES))
    throw cannot(
      `to ${count} instances: use 1 to ${MAX_INSTANCES}${number < 1 ? `; "procman stop ${id}" stops all of them` : ""}`,
    );
  return isStep ? { by: number } : { instances: number };
}

function print({ instances = [] }: ProcessRecord, before: readonly ProcessRecord[]): void {
  const present = new Set(instances.map(({ id }) => id));
  for (const instance of instances) process.stdout.write(`${instance.id}: ${outcomeOf(instance)}\n`);
  for (const { id } of before) if (!present.has(id)) process.stdout.write(`${id}: gone\n`);
}

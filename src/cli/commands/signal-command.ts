/** `procman signal`: sends a signal to processes. */
import { type Command, Option } from "commander";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import { type AnySignal, KILL_MODES, type KillMode } from "../../core/base/signals.ts";
import type { Signalling } from "../../core/contract/control.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { signalNamed, signalOf } from "../../core/os/signal-name.ts";
import type { RolloutOptions } from "../../satellites/hosts/ongoing-rollout.ts";
import { connect } from "../connected.ts";
import { IDS_HELP, withTarget } from "../options.ts";
import { reportRefusal } from "../output/error-report.ts";
import { rolledOut, withRollout } from "../rollout-options.ts";
import type { TargetOptions } from "../target.ts";

type Options = TargetOptions & { readonly to?: KillMode; readonly json?: boolean | undefined };

export function define(parent: Command): void {
  const command = withTarget(
    parent
      .command("signal")
      .description(
        "Sends a signal to running processes, such as HUP to re-read a configuration: to the process group of each, or with killMode leader to its main process alone. A restart policy applies if they end.",
      ),
  )
    .argument("<signal>", "name or number: HUP, SIGHUP, 1; it may also come last")
    .argument("<id...>", `${IDS_HELP}; "all" for all`)
    .addOption(
      new Option("--to <whom>", "the process group, or the main process alone (default: by killMode)").choices(
        KILL_MODES,
      ),
    )
    .option("--json", "print the API records")
    .action(send);
  withRollout(command);
}

async function send(
  written: string,
  named: readonly string[],
  { to, json, ...target }: Options & RolloutOptions,
): Promise<void> {
  const { signal, ids } = ordered(written, named);
  const signalling = { signal, ...(to && { to }) };
  if (await rolledOut({ ...target, json }, { kind: "signal", ids, signalling })) return;
  await signalEach(ids, signalling, { ...target, json, done: `got ${signal}` });
}

type SignalOutput = Pick<Options, "config" | "name" | "json"> & {
  /** What has happened to a process, to follow its id. */ readonly done: string;
};

/** @throws {ProcmanError} if procman can't be asked */
export async function signalEach(
  ids: readonly string[],
  signalling: Signalling,
  { json, done, ...target }: SignalOutput,
): Promise<void> {
  const client = await connect(target);
  const targets = ids.includes("all") ? ["all"] : [...new Set(ids)];
  const records: ProcessRecord[] = [];
  for (const id of targets) {
    try {
      records.push(await client.signal(id, signalling));
    } catch (error) {
      // A refusal of one process must not hide the others.
      if (!(error instanceof ProcmanError) || error.exitCode !== EXIT.refused) throw error;
      reportRefusal(error);
    }
  }
  if (json === true) process.stdout.write(`${printableJson(records, 2)}\n`);
  else for (const member of records.flatMap((record) => record.instances ?? [record])) print(member, done);
}

function print({ id, pid, reason }: ProcessRecord, done: string): void {
  process.stdout.write(
    pid === undefined ? `${id}: not signalled; it ${printableLine(reason)}\n` : `${id}: ${done} (pid ${pid})\n`,
  );
}

/** The signal may also come last, as in `procman signal web HUP`. @throws {ProcmanError} `usage` */
function ordered(
  written: string,
  ids: readonly string[],
): { readonly signal: AnySignal; readonly ids: readonly string[] } {
  const last = signalNamed(ids.at(-1) ?? "");
  if (signalNamed(written) === undefined && last !== undefined)
    return { signal: last, ids: [written, ...ids.slice(0, -1)] };
  return { signal: signalOf(written), ids };
}

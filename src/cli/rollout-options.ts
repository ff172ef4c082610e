/** Options of commands that act on several hosts, one after another. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { mayBeSeveral } from "../client/connection/host-file.ts";
import { ProcmanError } from "../core/base/errors.ts";
import type { RolloutAction } from "../core/contract/rollout-record.ts";
import type { RolloutOptions } from "../satellites/hosts/ongoing-rollout.ts";
import { integerTo, secondsTo } from "./options.ts";
import type { TargetOptions } from "./target.ts";

const LONGEST_SECONDS = 86_400;
const MOST_HOSTS = 10_000;

const DRAIN_HELP =
  "run this here before and after each host, with PROCMAN_HOST, PROCMAN_HOST_STATE (drain or ready) and PROCMAN_ROLLOUT: it takes the host out of its load balancer, and puts it back";
const HAPROXY_HELP =
  "drain each host in this HAProxy before it changes, and put it back: its stats socket, or HOST:PORT; several separated by commas";
const DRAIN_TIMEOUT_HELP = "with --haproxy: wait so long for the sessions of a host, and for its checks (default: 60)";
const TIMEOUT_HELP = "a host that doesn't answer for so long counts as failed (default: 60)";

/** Options without a meaning for one host. */
const ROLLED = [
  "batch",
  "maxFailed",
  "onFailure",
  "skipUnreachable",
  "drainCommand",
  "haproxy",
  "drainTimeout",
  "hostTimeout",
] as const;

/** With several hosts, `--host @web`. `hasDryRun`: the command has it also for one. */
export function withRollout(command: Command, hasDryRun = false): Command {
  const group = (option: Option): Option => option.helpGroup("With several hosts (--host web1,web2, @GROUP or all):");
  const options = [
    new Option("--batch <hosts>", "how many hosts at the same time: a number, or 25% of them (default: 1)").argParser(
      batchIn,
    ),
    new Option("--max-failed <hosts>", "how many may fail before the others are left alone (default: 0)").argParser(
      integerTo(MOST_HOSTS, 0),
    ),
    new Option(
      "--on-failure <what>",
      "what follows when more have failed: stop, or rollback of all that have changed (default: stop)",
    ).choices(["stop", "rollback"]),
    new Option("--skip-unreachable", "leave out hosts that don't answer, instead of doing nothing"),
    ...drainOptions(),
    new Option("--host-timeout <seconds>", TIMEOUT_HELP).argParser(secondsTo(LONGEST_SECONDS)),
    ...(hasDryRun ? [] : [new Option("--dry-run", "only print the plan")]),
  ];
  for (const option of options) command.addOption(group(option));
  return command;
}

function drainOptions(): readonly Option[] {
  return [
    new Option("--haproxy <address>", HAPROXY_HELP).conflicts("drainCommand"),
    new Option("--drain-timeout <seconds>", DRAIN_TIMEOUT_HELP).argParser(secondsTo(LONGEST_SECONDS)),
    new Option("--drain-command <command>", DRAIN_HELP),
  ];
}

/** For `rollout continue` and `abort`. */
export function withDriver(command: Command): Command {
  for (const option of drainOptions()) command.addOption(option);
  return command.option("--host-timeout <seconds>", TIMEOUT_HELP, secondsTo(LONGEST_SECONDS));
}

type RolledOptions = TargetOptions & RolloutOptions;

/** Acts on several hosts, if `--host` names them; false: on one. @throws {ProcmanError} `usage`, those of a rollout */
export async function rolledOut(
  { host, config, name, ...options }: RolledOptions,
  action: RolloutAction | (() => RolloutAction),
  hasDryRun = false,
): Promise<boolean> {
  if (host !== undefined && mayBeSeveral(host)) {
    if (config !== undefined || name !== undefined)
      throw new ProcmanError(
        "usage",
        "Cannot use --config or --name with several hosts: each address is that of one procman",
      );
    const { rollOut } = await import("../satellites/hosts/roll-out.ts");
    await rollOut(host, typeof action === "function" ? action() : action, options);
    return true;
  }
  const given = [...ROLLED, ...(hasDryRun ? [] : (["dryRun"] as const))].find((each) => options[each] !== undefined);
  if (given === undefined) return false;
  const option = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new ProcmanError(
    "usage",
    `Cannot use --${option} with one host: it is for several, as --host web1,web2 or @GROUP`,
  );
}

function batchIn(text: string): string {
  if (/^[1-9]\d{0,3}$|^(?:100|[1-9]\d?)%$/.test(text)) return text;
  throw new InvalidArgumentError("Allowed: a whole number from 1, or a percentage such as 25%.");
}

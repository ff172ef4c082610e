/** `procman status`: shows processes with their states, as a table or as JSON. */
import { basename } from "node:path";
import type { Command } from "commander";
import { mayBeSeveral } from "../../client/connection/host-file.ts";
import { processesOfAll } from "../../client/connection/procman-list.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import { hostTime } from "../../core/base/time-stamp.ts";
import { isCollective, selectorsIn } from "../../core/contract/groups.ts";
import type { PluginRecord } from "../../core/contract/plugin-record.ts";
import { allRun } from "../../core/contract/process-health.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import type { StateRecord } from "../../core/contract/state-record.ts";
import { bootProblems } from "../../satellites/boot/boot-record.ts";
import type { HostStatus } from "../../satellites/hosts/host-status.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { IDS_HELP, selected, withTarget } from "../options.ts";
import { statusTable } from "../output/status-table.ts";
import { otherFileText, type TargetLocation, type TargetOptions, targetPlace } from "../target.ts";

type Options = TargetOptions & { readonly all?: boolean; readonly json?: boolean; readonly check?: boolean };

const NO_STATE: Partial<StateRecord> = {};

export function define(parent: Command): void {
  const command = parent
    .command("status")
    .description(
      "Shows processes with their states. CPU and memory are those of the process with all its descendants; 100 % is one core.\nExit code 3 if a named process isn't running; without an id, if a process that was asked for isn't running and has neither finished nor been stopped.",
    )
    .argument("[id...]", `${IDS_HELP} (default: all)`);
  withTarget(command)
    .option("--all", "the processes of all running procmans of this user, whatever the folder")
    .option("--check", "exit code 3, too, if one of them is not ready, or not healthy")
    .option("--json", "print the API records")
    .action((ids: readonly string[], { host, all = false, ...options }: Options) => {
      if (all) return statusOfAll(ids, { host, ...options });
      return host !== undefined && mayBeSeveral(host)
        ? statusOfHosts(host, ids, options)
        : status(ids, { ...options, host });
    });
}

async function status(ids: readonly string[], { json, check = false, ...target }: Options): Promise<void> {
  const place = targetPlace(target);
  if ("stateDir" in place) reportPlace(place, target);
  const control = await connect(target, place);
  const [all, { plugins = [], profile, unapplied, rollout, configFile = "" }] = await Promise.all([
    control.processes(),
    json || ids.length > 0 ? NO_STATE : control.state(),
  ]);
  const records = selected(all, ids, target);
  process.stdout.write(json ? `${printableJson(records, 2)}\n` : `${statusTable(records, process.stdout)}\n`);
  if (profile !== undefined) process.stdout.write(`With the profile "${printableLine(profile)}".\n`);
  if (!doAllRun(all, ids, check)) process.exitCode = EXIT.notRunning;
  for (const line of pluginLines(plugins)) process.stdout.write(`${printableLine(line)}\n`);
  if (unapplied !== undefined) process.stdout.write(`${unappliedLine(unapplied, configFile, target)}\n`);
  if (rollout !== undefined) process.stdout.write(`${printableLine(heldText(rollout))}\n`);
}

/** @throws {ProcmanError} those of `showSeveral`; `usage`: an unknown machine */
async function statusOfHosts(names: string, ids: readonly string[], options: Options): Promise<void> {
  const hosts = await import("../../satellites/hosts/host-status.ts");
  const answers = (await hosts.statusOfHosts(names)).map((answer) => ({ ...answer, place: { host: answer.host } }));
  await showSeveral({ answers, title: "HOST" }, ids, options);
}

/** @throws {ProcmanError} those of `showSeveral`; `usage`: one procman is named, too; `no-daemon`: none is running */
async function statusOfAll(ids: readonly string[], { host, config, name, ...options }: Options): Promise<void> {
  if ((host ?? config ?? name) !== undefined)
    throw new ProcmanError(
      "usage",
      "Cannot show all procmans and one of them: remove --all, or --config, --name and --host",
    );
  const found = await processesOfAll();
  if (found.length === 0) throw new ProcmanError("no-daemon", "Cannot reach procman: none of this user is running");
  const answers = found.map(({ name: own, configFile, stateDir, ...answer }) => {
    const isUnique = found.filter((each) => each.name === own).length === 1;
    const place = { name: own, ...(configFile !== undefined && { configFile }), stateDir };
    return { ...answer, place, host: isUnique ? own : (configFile ?? stateDir) };
  });
  await showSeveral({ answers, title: "NAME" }, ids, options);
}

/** `place`: its members in JSON. */
type Several = { readonly answers: readonly (HostStatus & { readonly place: object })[]; readonly title: string };

/** An id counts on the machines that know it. @throws {ProcmanError} `process-unknown`: no machine knows it */
async function showSeveral(
  { answers, title }: Several,
  ids: readonly string[],
  { json, check = false }: Options,
): Promise<void> {
  const { hostStatusTable } = await import("../../satellites/hosts/host-status.ts");
  const known = answers.flatMap((answer) => ("problem" in answer ? [] : answer.processes));
  if (answers.every((answer) => !("problem" in answer))) selected(known, ids);
  const shown = answers.map((answer) =>
    "problem" in answer ? answer : { ...answer, ...ownPart(answer.processes, ids) },
  );
  const printed = shown.map(({ place, ...answer }) =>
    "problem" in answer ? { ...place, problem: answer.problem } : { ...place, processes: answer.processes },
  );
  process.stdout.write(json ? `${printableJson(printed, 2)}\n` : `${hostStatusTable(shown, process.stdout, title)}\n`);
  const areUp = shown.every((answer) => "problem" in answer || doAllRun(answer.processes, answer.own, check));
  if (!areUp) process.exitCode = EXIT.notRunning;
  if (shown.some((answer) => "problem" in answer)) process.exitCode = EXIT.noDaemon;
}

type OwnPart = { readonly own: readonly string[]; readonly processes: readonly ProcessRecord[] };

/** The ids that a machine knows, and their records; none without such an id. */
function ownPart(records: readonly ProcessRecord[], ids: readonly string[]): OwnPart {
  const flat = records.flatMap((record) => [record, ...(record.instances ?? [])]);
  const known = new Set<string>(["all", ...selectorsIn(flat), ...flat.map(({ id }) => id)]);
  const own = ids.filter((id) => known.has(id));
  return { own, processes: ids.length > 0 && own.length === 0 ? [] : selected(records, own) };
}

/** What is gone would be missed only at the next boot. Also when procman isn't running: then this may be why. */
function reportPlace(place: TargetLocation, target: TargetOptions): void {
  for (const problem of [...bootProblems(place.name, place.file), otherFileText(place, target) ?? []].flat())
    process.stderr.write(`procman: ${problem}\n`);
}

/** Named processes must all run; of `all` and of groups, idle ones don't count. */
function doAllRun(records: readonly ProcessRecord[], ids: readonly string[], checks: boolean): boolean {
  const collective = ids.filter(isCollective);
  const named = ids.filter((id) => !isCollective(id));
  const areNamedUp = named.length === 0 || allRun(selected(records, named), { named: true, checks });
  return (
    areNamedUp &&
    ((ids.length > 0 && collective.length === 0) || allRun(selected(records, collective), { named: false, checks }))
  );
}

function heldText({ id, by, time }: NonNullable<StateRecord["rollout"]>): string {
  const who = by === undefined ? "" : ` of ${by}`;
  return `It takes part in rollout ${id}${who} since ${hostTime(Date.parse(time))}; where it is in the list of hosts, "procman rollout status ${id}" shows it, and "procman rollout abort ${id}" ends it.`;
}

/** The file isn't what runs, as systemctl says of its units. */
function unappliedLine(
  unapplied: NonNullable<StateRecord["unapplied"]>,
  configFile: string,
  target: TargetOptions,
): string {
  const [what, remedy] =
    unapplied === "invalid"
      ? ["is not valid", `"${asTyped("plan", target)}" shows why; what runs stays as it is`]
      : [
          "has changes that are not applied",
          `"${asTyped("plan", target)}" shows them, "${asTyped("reload", target)}" applies them`,
        ];
  return printableLine(`${basename(configFile)} ${what}: ${remedy}`);
}

/** Only plugins with problems are listed. */
function pluginLines(plugins: readonly PluginRecord[]): readonly string[] {
  return plugins.flatMap(({ id, status, problem, lostEvents }) => [
    ...(problem === undefined
      ? []
      : [`plugin ${id} ${status === "running" ? "has failed" : "is not running"}: ${problem}`]),
    ...(lostEvents === 0 ? [] : [`plugin ${id} has missed ${lostEvents} events: it was too slow, or restarting`]),
  ]);
}

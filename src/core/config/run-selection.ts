/** What the arguments of `procman run` (ids, `--once`, `--exit-with`) and of `procman dev` change in the configuration. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import { groupNamed, selectorsIn } from "../contract/groups.ts";
import type { Config, ProcessSpec } from "./spec.ts";

export type RunSelection = {
  /** Processes, instances, clusters or groups that start, with what they depend on; empty or absent: all that start with procman. */
  readonly ids?: readonly string[] | undefined;
  /** Each runs once: nothing restarts, schedules and watchers are off. */
  readonly once?: boolean | undefined;
  /** Id of the process whose end ends procman. */
  readonly exitWith?: string | undefined;
  /** Processes that don't start, even if others depend on them: those start without them. */
  readonly except?: readonly string[] | undefined;
  /** Processes that restart when a file in their folder changes, if they don't say themselves what they watch. */
  readonly watch?: readonly string[] | undefined;
};

/** Not watched by `watch`: what package managers and build tools write. */
const SKIPPED = ["**/node_modules/**", "**/.*/**"] as const;

/** Ids in a message. */
const MAX_NAMES = 8;

type Processes = Pick<Config, "processes">;

/** Whether the id is that of the process, of the cluster of the instance, or stands for a group that it is in. */
export function isNamed(
  id: string,
  { id: own, cluster, groups = [] }: Pick<ProcessSpec, "id" | "cluster" | "groups">,
): boolean {
  const group = groupNamed(id);
  return group === undefined ? id === own || id === cluster?.id : groups.includes(group);
}

/** @throws {ProcmanError} `usage` */
export function checkSelection(selection: RunSelection, { processes }: Processes): void {
  const known = processes.flatMap((spec) => [spec.id, ...(spec.cluster === undefined ? [] : [spec.cluster.id])]);
  const { once = false, exitWith, except = [] } = selection;
  checkNames(selection, known, selectorsIn(processes));
  const problem = (why: string): ProcmanError =>
    new ProcmanError("usage", `Cannot exit with process "${exitWith}": ${why}`);
  if (exitWith !== undefined && !known.includes(exitWith))
    throw problem(`the configuration has no process with this id.${meant(exitWith, known)} Correct "--exit-with"`);
  const isStarting = startingBy(selection, processes);
  const isLimited = once || namesProcesses(selection) || except.length > 0;
  if (exitWith !== undefined && isLimited && !processes.some((spec) => isNamed(exitWith, spec) && isStarting(spec))) {
    const isLeftOut = processes.some((spec) => isNamed(exitWith, spec) && isOneOf(except, spec));
    throw problem(
      isLeftOut
        ? "it is left out; name a process that runs"
        : `it is not started; name it, too: "${[...namedIn(selection), exitWith].join(" ")}"`,
    );
  }
  if (except.length > 0 && !processes.some((spec) => isStarting(spec) || isLater(spec, selection)))
    throw new ProcmanError("usage", `Cannot run all but ${except.join(", ")}: nothing else starts`);
  if (once && !processes.some(isStarting))
    throw new ProcmanError(
      "usage",
      'Cannot run once: no process starts with procman; name those that are to run: "procman run --once ID"',
    );
}

function checkNames(selection: RunSelection, known: readonly string[], selectors: readonly string[]): void {
  const { except = [], watch = [] } = selection;
  const run = [...namedIn(selection), ...watch];
  for (const id of [...run, ...except]) {
    if (selectors.includes(id) || known.includes(id)) continue;
    const verb = run.includes(id) ? "run" : "leave out";
    const isGroup = groupNamed(id) !== undefined;
    const why = isGroup
      ? "no process of the configuration is in this group"
      : "the configuration has no process with this id";
    const hint = /[/]|\.jsonc?$/.test(id) ? ' A file is given by "--config".' : "";
    throw new ProcmanError("usage", `Cannot ${verb} "${id}": ${why}.${hint || meant(id, [...known, ...selectors])}`);
  }
}

/** The end of a message about an unknown id: what it may be. */
function meant(id: string, known: readonly string[]): string {
  const more = known.length > MAX_NAMES ? ` and ${known.length - MAX_NAMES} more` : "";
  return didYouMean(id, known) || ` It has ${known.slice(0, MAX_NAMES).join(", ")}${more}.`;
}

/** The configuration for this run. */
export function withSelection(config: Config, selection: RunSelection): Config {
  const { once = false, exitWith, except = [], watch = [] } = selection;
  const isLimited = once || namesProcesses(selection);
  if (!isLimited && exitWith === undefined && except.length + watch.length === 0) return config;
  const isStarting = startingBy(selection, config.processes);
  const processes = config.processes.map((given) => {
    const spec = isOneOf(except, given) ? withoutTriggers(given) : withChanges(given, selection, config);
    const selected = !isLimited
      ? spec
      : isStarting(given)
        ? { ...(once ? withoutTriggers(spec) : spec), autostart: true }
        : withoutTriggers(spec);
    return noRestartBy(selection, spec) !== undefined
      ? { ...selected, policy: { ...selected.policy, restart: "never" as const } }
      : selected;
  });
  const { watcher } = config;
  return { ...config, processes, watcher: watch.length === 0 ? watcher : withSkipped(watcher) };
}

function isOneOf(ids: readonly string[], spec: ProcessSpec): boolean {
  return ids.some((id) => isNamed(id, spec));
}

/** What it depends on is there without procman, if that is left out; its folder is watched. */
function withChanges(
  { dependsOn, ...spec }: ProcessSpec,
  { except = [], watch = [] }: RunSelection,
  { processes }: Processes,
): ProcessSpec {
  const left = new Set(processes.flatMap((each) => (isOneOf(except, each) ? [each.id] : [])));
  const others = dependsOn?.filter(({ members }) => !members.every((member) => left.has(member))) ?? [];
  return {
    ...spec,
    ...(others.length > 0 && { dependsOn: others }),
    ...(spec.watch.length === 0 && isOneOf(watch, spec) && { watch: [spec.cwd] }),
  };
}

function withSkipped(watcher: Config["watcher"]): Config["watcher"] {
  return { ...watcher, skip: [...watcher.skip, ...SKIPPED] };
}

/** The option because of which a process isn't restarted, whatever its policy says. */
export function noRestartBy(
  { once = false, exitWith }: Pick<RunSelection, "once" | "exitWith">,
  spec: ProcessSpec,
): string | undefined {
  if (once) return "--once";
  const isLast =
    exitWith !== undefined && isNamed(exitWith, spec) && spec.policy.restartLimit === Number.POSITIVE_INFINITY;
  return isLast ? "--exit-with" : undefined;
}

/** Whether it names the processes that start. */
export function namesProcesses(selection: RunSelection): boolean {
  return namedIn(selection).length > 0;
}

/** `all` names none in particular. */
function namedIn({ ids = [] }: RunSelection): readonly string[] {
  return ids.includes("all") ? [] : ids;
}

/** Whether a process starts at once, or one that does so depends on it. */
function startingBy(selection: RunSelection, processes: readonly ProcessSpec[]): (spec: ProcessSpec) => boolean {
  const ids = namedIn(selection);
  const { except = [] } = selection;
  const byId = new Map(processes.map((spec) => [spec.id, spec]));
  const starting = new Set<ProcessSpec>();
  const add = (spec: ProcessSpec | undefined): void => {
    if (spec === undefined || starting.has(spec) || isOneOf(except, spec)) return;
    starting.add(spec);
    for (const { members } of spec.dependsOn ?? []) for (const member of members) add(byId.get(member));
  };
  for (const spec of processes)
    if (ids.length === 0 ? spec.autostart || spec.watch.length > 0 : ids.some((id) => isNamed(id, spec))) add(spec);
  return (spec) => starting.has(spec);
}

/** Whether its schedule starts it. */
function isLater(spec: ProcessSpec, selection: RunSelection): boolean {
  const { once = false, except = [] } = selection;
  return spec.cron !== undefined && !once && !namesProcesses(selection) && !isOneOf(except, spec);
}

/** The same process, but it starts by hand only. */
function withoutTriggers({ cron: _, ...spec }: ProcessSpec): ProcessSpec {
  return { ...spec, autostart: false, watch: [] };
}

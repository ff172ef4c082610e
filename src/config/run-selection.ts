/** What the arguments of `procman run` (ids, `--once`, `--exit-with`) change in the configuration. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { Config, ProcessSpec } from "./spec.ts";

export type RunSelection = {
  /** Processes, instances or clusters that start, with what they depend on; empty or absent: all that start with procman. */
  readonly ids?: readonly string[] | undefined;
  /** Each runs once: nothing restarts, schedules and watchers are off. */
  readonly once?: boolean | undefined;
  /** Id of the process whose end ends procman. */
  readonly exitWith?: string | undefined;
};

type Processes = Pick<Config, "processes">;

/** Whether the id is that of the process, or of the cluster of the instance. */
export function isNamed(id: string, { id: own, cluster }: Pick<ProcessSpec, "id" | "cluster">): boolean {
  return id === own || id === cluster?.id;
}

/** @throws {ProcmanError} `usage` */
export function checkSelection(selection: RunSelection, { processes }: Processes): void {
  const known = processes.flatMap((spec) => [spec.id, ...(spec.cluster === undefined ? [] : [spec.cluster.id])]);
  const { once = false, exitWith } = selection;
  for (const id of namedIn(selection))
    if (!known.includes(id)) {
      const hint = /[/]|\.jsonc?$/.test(id) ? ' A file is given by "--config".' : "";
      throw new ProcmanError("usage", `Cannot run "${id}": the configuration has no process with this id.${didYouMean(id, known)}${hint}`);
    }
  const problem = (why: string): ProcmanError => new ProcmanError("usage", `Cannot exit with process "${exitWith}": ${why}`);
  if (exitWith !== undefined && !known.includes(exitWith))
    throw problem(`the configuration has no process with this id.${didYouMean(exitWith, known)} Correct "--exit-with"`);
  const isStarting = startingBy(selection, processes);
  const isLimited = once || namedIn(selection).length > 0;
  if (exitWith !== undefined && isLimited && !processes.some((spec) => isNamed(exitWith, spec) && isStarting(spec)))
    throw problem(`it is not started; name it, too: "procman run ${[...namedIn(selection), exitWith].join(" ")}"`);
  if (once && !processes.some(isStarting))
    throw new ProcmanError("usage", 'Cannot run once: no process starts with procman; name those that are to run: "procman run --once ID"');
}

/** The configuration for this run. */
export function withSelection(config: Config, selection: RunSelection): Config {
  const { once = false, exitWith } = selection;
  const isLimited = once || namedIn(selection).length > 0;
  if (!isLimited && exitWith === undefined) return config;
  const isStarting = startingBy(selection, config.processes);
  const processes = config.processes.map((spec) => {
    const selected = !isLimited
      ? spec
      : isStarting(spec)
        ? { ...(once ? withoutTriggers(spec) : spec), autostart: true }
        : withoutTriggers(spec);
    const endsAtOnce = once || (exitWith !== undefined && isNamed(exitWith, spec) && spec.policy.restartLimit === Number.POSITIVE_INFINITY);
    return endsAtOnce ? { ...selected, policy: { ...selected.policy, restart: "never" as const } } : selected;
  });
  return { ...config, processes };
}

/** `all` names none in particular. */
function namedIn({ ids = [] }: RunSelection): readonly string[] {
  return ids.includes("all") ? [] : ids;
}

/** Those that start at once, and all that they depend on. */
function startingBy(selection: RunSelection, processes: readonly ProcessSpec[]): (spec: ProcessSpec) => boolean {
  const ids = namedIn(selection);
  const byId = new Map(processes.map((spec) => [spec.id, spec]));
  const starting = new Set<ProcessSpec>();
  const add = (spec: ProcessSpec | undefined): void => {
    if (spec === undefined || starting.has(spec)) return;
    starting.add(spec);
    for (const { members } of spec.dependsOn ?? []) for (const member of members) add(byId.get(member));
  };
  for (const spec of processes)
    if (ids.length === 0 ? spec.autostart || spec.watch.length > 0 : ids.some((id) => isNamed(id, spec))) add(spec);
  return (spec) => starting.has(spec);
}

/** It starts by hand only. */
function withoutTriggers({ cron: _, ...spec }: ProcessSpec): ProcessSpec {
  return { ...spec, autostart: false, watch: [] };
}

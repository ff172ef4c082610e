/** `dependsOn`: its checks, and the specification made from it. */
import { didYouMean } from "../../base/suggest.ts";
import { type Dependency, isAboutEnd } from "../../supervisor/definition.ts";
import type { RawConfig, RawProcess } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import { DEFAULT_NAME } from "../find-config.ts";
import { instances } from "../instances.ts";
import type { DeepPartial, PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

type Raw = NonNullable<RawProcess["dependsOn"]>[number];
type DependencyEntry = DeepPartial<Omit<Exclude<Raw, string>, "id">> & {
  readonly id: string;
  readonly index: number;
  readonly path: JsonPath;
};

/** The members of a cluster are all its instances. */
export function dependencyOf(raw: Raw, { processes, name = DEFAULT_NAME }: RawConfig, parallelism: number): Dependency {
  const { id, condition = "ready", restart = false } = typeof raw === "string" ? { id: raw } : raw;
  const process = processes.find((each) => each.id === id);
  const members = process === undefined ? [id] : instances(process, name, parallelism).map((instance) => instance.id);
  return { id, condition, restart, members };
}

/** Unknown and duplicate ids, invalid combinations, and cycles: each is reported once, at the entry that closes it. */
export function dependencyErrors({ processes = [] }: PartialConfig): readonly Finding[] {
  const ids = processes.flatMap((process) => process?.id ?? []);
  const entries = processes.flatMap((process, index) => entriesOf(process ?? {}, index));
  return [...entries.flatMap((entry) => entryErrors(entry, ids, entries)), ...cycles(processes, entries)];
}

/** Warnings about dependencies that are only started manually. */
export function dependencyWarnings({ processes = [] }: PartialConfig): readonly Finding[] {
  const manual = new Set(
    processes.flatMap((process) => (process?.id !== undefined && !startsByItself(process) ? [process.id] : [])),
  );
  return processes.flatMap((process, index) =>
    entriesOf(process ?? {}, index)
      .filter(({ id }) => manual.has(id) && process !== undefined && startsByItself(process))
      .map(({ id, path }) => ({
        path,
        message: `${show(id)} is only started manually: until then ${show(process?.id)} waits for it.`,
      })),
  );
}

function startsByItself({ autostart, cron, watch }: PartialProcess): boolean {
  return autostart === true || cron !== undefined || (watch?.length ?? 0) > 0;
}

function entriesOf({ dependsOn = [] }: PartialProcess, index: number): readonly DependencyEntry[] {
  return dependsOn.flatMap((raw, position) => {
    const path = ["processes", index, "dependsOn", position];
    if (typeof raw === "string") return [{ id: raw, index, path }];
    return raw?.id === undefined ? [] : [{ ...raw, id: raw.id, index, path }];
  });
}

function entryErrors(
  entry: DependencyEntry,
  ids: readonly string[],
  entries: readonly DependencyEntry[],
): readonly Finding[] {
  const { id, index, path, condition, restart } = entry;
  if (!ids.includes(id))
    return [
      { path, message: `Found ${show(id)}; allowed: the id of another process of this file.${didYouMean(id, ids)}` },
    ];
  const isTwice = entries.find((other) => other.index === index && other.id === id) !== entry;
  const isRefused = restart === true && condition !== undefined && isAboutEnd(condition);
  const message = `Found true with the condition ${show(condition)}; allowed: with "started" or "ready".`;
  return [
    ...(isTwice ? [{ path, message: `Found ${show(id)} twice; allowed: each process once.` }] : []),
    ...(isRefused ? [{ path: [...path, "restart"], message }] : []),
  ];
}

function cycles(
  processes: readonly (PartialProcess | undefined)[],
  entries: readonly DependencyEntry[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const done = new Set<number>();
  const indexes = new Map(processes.map((process, index) => [process?.id, index] as const).toReversed());
  const lists = processes.map((): DependencyEntry[] => []);
  for (const entry of entries) lists[entry.index]?.push(entry);
  // A list instead of recursion: a chain may have thousands of processes.
  const chain: number[] = [];
  const follow = (entry: DependencyEntry): void => {
    const next = indexes.get(entry.id);
    if (next === undefined || done.has(next)) return;
    if (!chain.includes(next)) return void chain.push(next);
    const cycle = [...chain.slice(chain.indexOf(next)), next].map((each) => processes[each]?.id);
    findings.push({
      path: entry.path,
      message: `Found a cycle: ${cycle.join(" → ")}; allowed: an order in which they can start.`,
    });
  };
  for (const start of processes.keys()) {
    if (!done.has(start)) chain.push(start);
    for (let index = chain.at(-1); index !== undefined; index = chain.at(-1)) {
      const entry = lists[index]?.shift();
      if (entry === undefined) done.add(chain.pop() ?? index);
      else follow(entry);
    }
  }
  return findings;
}

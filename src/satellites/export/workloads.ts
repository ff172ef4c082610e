/** From the specifications of a configuration to workloads: instances of a cluster become replicas where they are alike. */
import { expand, referencesIn } from "../../core/base/interpolate.ts";
import { ownPort, portVariables } from "../../core/config/cluster-variables.ts";
import { mayBeSecret, withoutSecretArguments, withoutSecretWords } from "../../core/config/hidden-values.ts";
import type { Config, EnvValue, ProcessSpec } from "../../core/config/spec.ts";
import type { ReadyProbe } from "../../core/contract/probe-spec.ts";
import { isAboutEnd } from "../../core/supervisor/definition.ts";
import type { Alike, Project, Variable, Workload, WorkloadKind } from "./workload.ts";

export function workloadsOf(
  { processes }: Config,
  alike: Alike,
  { namesIn }: Pick<Project, "namesIn">,
): readonly Workload[] {
  const awaited = new Set(
    processes.flatMap(({ dependsOn = [] }) =>
      dependsOn.flatMap(({ id, condition }) => (isAboutEnd(condition) ? id : [])),
    ),
  );
  const byProcess = new Map<string, ProcessSpec[]>();
  for (const spec of processes) byProcess.set(processOf(spec), [...(byProcess.get(processOf(spec)) ?? []), spec]);
  return [...byProcess].flatMap(([process, instances]): readonly Workload[] => {
    const kind = kindOf(instances[0] as ProcessSpec, awaited.has(process));
    const groups = areAlike(instances, alike) ? [instances] : instances.map((instance) => [instance]);
    return groups.map((group) => {
      const [written] = group as [ProcessSpec];
      const spec = withoutSecretCommands(awake(written));
      const hidesSecret = JSON.stringify(spec) !== JSON.stringify(awake(written));
      const id = groups.length === 1 && alike !== "split" ? process : spec.id;
      const files = (spec.envFile ?? []).map((entry) => namesIn(typeof entry === "string" ? entry : entry.path));
      const variables = variablesOf(spec, files.flat());
      const mayHavePort =
        files.includes(undefined) && ownPort(spec) !== undefined && spec.cluster?.portVariable === undefined;
      return {
        id,
        process,
        kind,
        replicas: group.length,
        spec,
        hidesSecret,
        variables,
        ports: portsOf(spec),
        mayHavePort,
      };
    });
  });
}

/** A process without a cluster that sleeps has its clients' port itself, where nothing holds them for it. */
function awake(spec: ProcessSpec): ProcessSpec {
  const { front, cluster, port, ...rest } = spec;
  if (front === undefined || cluster !== undefined || port === undefined) return spec;
  const own = new RegExp(`(?<!\\d)${port}(?!\\d)`, "g");
  const { command, cwd, env, policy, ready, health } = rest;
  const moved = (key: string, value: unknown): unknown => {
    if (typeof value === "string") return value.replace(own, String(front.port));
    return key === "port" && value === port ? front.port : value;
  };
  const parts = JSON.stringify({ command, cwd, env, policy, ready, health });
  return { ...rest, ...(JSON.parse(parts, moved) as typeof rest), port: front.port };
}

/** Nobody expects a secret of a command line in a file that is published. */
function withoutSecretCommands(spec: ProcessSpec): ProcessSpec {
  const { command, policy, ready, health } = spec;
  const { beforeStart, afterStop } = policy;
  const hidden = <T extends { readonly line: string }>(of: T): T => ({ ...of, line: withoutSecretWords(of.line) });
  const probed = <T extends ReadyProbe>(probe: T): T =>
    probe.kind === "exec" ? { ...probe, line: withoutSecretWords(probe.line) } : probe;
  return {
    ...spec,
    command: command.kind === "shell" ? hidden(command) : { ...command, args: withoutSecretArguments(command.args) },
    policy: {
      ...policy,
      ...(beforeStart && { beforeStart: hidden(beforeStart) }),
      ...(afterStop && { afterStop: hidden(afterStop) }),
    },
    ...(ready && { ready: probed(ready) }),
    ...(health && { health: { ...health, probe: probed(health.probe) } }),
  };
}

function processOf({ id, cluster }: ProcessSpec): string {
  return cluster?.id ?? id;
}

/** A process that others wait for until it has finished is a task, whatever its policy. */
function kindOf({ autostart, watch, cron, policy }: ProcessSpec, isAwaited: boolean): WorkloadKind {
  if (cron !== undefined && !autostart) return "scheduled";
  if (!autostart && watch.length === 0) return "manual";
  return policy.restart === "never" || isAwaited ? "task" : "service";
}

function areAlike(instances: readonly ProcessSpec[], alike: Alike): boolean {
  if (alike === "split") return instances.length === 1;
  const texts = instances.map((spec) => textOf(spec, alike === "port" ? spec.cluster?.port : undefined));
  return texts.every((text) => text === texts[0]);
}

/** What an instance is told, in which placeholders may stand for its number or its port. */
function textOf(
  { command, cwd, env, envFile, policy: { beforeStart, afterStop } }: ProcessSpec,
  port: number | undefined,
): string {
  const text = JSON.stringify([command, cwd, env, envFile, beforeStart, afterStop]);
  return port === undefined ? text : text.replace(new RegExp(`(?<!\\d)${port}(?!\\d)`, "g"), "{port}");
}

/** `inFiles`: names that its env files set. */
function variablesOf(spec: ProcessSpec, inFiles: readonly (string | undefined)[]): readonly Variable[] {
  const { env } = spec;
  const own = portVariables(spec, (name) => name in env || inFiles.includes(name));
  return [
    ...Object.entries(env).map(([name, value]) => variableOf(name, value)),
    ...Object.entries(own).map(([name, value]): Variable => ({ name, kind: "text", value })),
  ];
}

function variableOf(name: string, value: EnvValue): Variable {
  if (typeof value === "object")
    return "file" in value ? { name, kind: "file", path: value.file } : { name, kind: "given", from: value.env };
  if (referencesIn(value).length > 0) return { name, kind: "composed", text: value };
  return mayBeSecret(name, value)
    ? { name, kind: "given", from: name }
    : { name, kind: "text", value: expand(value, () => undefined).text };
}

/** Names of variables that the target has to be given, each with whether it may be missing. */
export function givenNames({ variables }: Workload): ReadonlyMap<string, { readonly isOptional: boolean }> {
  const names = new Map<string, { readonly isOptional: boolean }>();
  const add = (name: string, isOptional: boolean): void => {
    names.set(name, { isOptional: isOptional && (names.get(name)?.isOptional ?? true) });
  };
  for (const variable of variables) {
    if (variable.kind === "given") add(variable.from, false);
    if (variable.kind === "composed")
      for (const { name, hasDefault } of referencesIn(variable.text))
        if (!name.startsWith("PROCMAN_")) add(name, hasDefault);
  }
  return names;
}

function portsOf(spec: ProcessSpec): readonly number[] {
  const { ready, health } = spec;
  return [...new Set([ownPort(spec), portOf(ready), portOf(health?.probe)].filter((port) => port !== undefined))];
}

function portOf(probe: ReadyProbe | undefined): number | undefined {
  return probe?.kind === "port" || probe?.kind === "http" ? probe.port : undefined;
}

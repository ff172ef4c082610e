/** Makes the records of `procman show`: how processes are run, without secrets. */
import { compact } from "../base/compact.ts";
import { ProcmanError } from "../base/errors.ts";
import type { DefinitionRecord, VariableRecord, WrittenPart } from "../contract/definition-record.ts";
import type { PlanRecord } from "../contract/plan.ts";
import { userName } from "../os/user-names.ts";
import { minUptimeOf, type Policy, stopSignalOf } from "../supervisor/restart-policy.ts";
import { HOOK_NAMES } from "../supervisor/states.ts";
import { ownPort, portVariables } from "./cluster-variables.ts";
import { argvOf } from "./executed-command.ts";
import { isSecretName, withoutSecretArguments, withoutSecretWords } from "./hidden-values.ts";
import type { EnvFileSpec, EnvValue, ProcessSpec } from "./spec.ts";

/** `unapplied`: what a reload would do to each process, by id. `written`: what the file has, by the ids in it. */
export function definitionRecordOf(
  spec: ProcessSpec,
  unapplied: ReadonlyMap<string, string>,
  written: ReadonlyMap<string, WrittenPart>,
): DefinitionRecord {
  const { id, cluster, groups, cwd, command, dependsOn = [], envFile = [] } = spec;
  const argv = argvOf(spec);
  const change = unapplied.get(id);
  const part = written.get(cluster?.id ?? id);
  return compact({
    process: id,
    ...(cluster === undefined ? {} : { cluster: cluster.id }),
    groups,
    argv: withoutSecretArguments(argv),
    shell: command.kind === "shell" && argv[0] === "/bin/sh" && argv[1] === "-c",
    cwd,
    ...placesOf(spec),
    env: variablesOf(spec),
    envFiles: envFile.map(fileText),
    dependsOn: dependsOn.map(({ id: other, condition }) => `${other} (${condition})`),
    start: startText(spec),
    restart: restartText(spec.policy),
    stop: stopText(spec.policy),
    ...hooksOf(spec.policy),
    unapplied: change,
    written: part,
  });
}

type Places = Pick<
  DefinitionRecord,
  "user" | "group" | "stdin" | "stdout" | "stderr" | "pidFile" | "port" | "commonPort"
>;

function placesOf(spec: ProcessSpec): Places {
  const { user, group, stdin, tty, log, pidFile, front, share } = spec;
  const stderr = log.stderr ?? log.stdout;
  const commonPort = front?.port ?? share?.port;
  return compact({
    user: user?.name ?? userName(process.getuid?.() ?? 0),
    ...(group === undefined ? {} : { group: String(group) }),
    stdin: tty ? "terminal" : stdin === true ? "open" : stdin?.file,
    stdout: log.stdout,
    stderr,
    pidFile,
    port: ownPort(spec),
    commonPort,
  });
}

/** By id: what a reload would do. `plan` throws if the file is not valid; then this is the answer for all. */
export function unappliedBy(plan: () => PlanRecord, ids: readonly string[]): ReadonlyMap<string, string> {
  try {
    const changes = plan().processes.filter(({ action, fields }) => action !== "none" || fields.length > 0);
    return new Map(
      changes.map(({ process, action, reason, rolling }) => [
        process,
        `${action}${rolling ? ", rolling" : ""}: ${reason}`,
      ]),
    );
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    const why =
      error.code === "configuration-invalid" ? 'the file is not valid; "procman validate" shows why' : error.message;
    return new Map(ids.map((id) => [id, why]));
  }
}

function variablesOf(spec: ProcessSpec): readonly VariableRecord[] {
  const { env, envFile = [], path, pathFirst = [] } = spec;
  const folders = [...pathFirst, "$PATH", ...path];
  const own = Object.entries(portVariables(spec, (name) => name in env || envFile.length > 0)).map(
    ([name, value]): VariableRecord => ({ name, source: "procman", value }),
  );
  return [
    ...Object.entries(env).map(([name, value]) => variableOf(name, value)),
    ...(folders.length > 1 ? [{ name: "PATH", source: "env", value: folders.join(":") } as const] : []),
    ...own,
  ];
}

function variableOf(name: string, value: EnvValue): VariableRecord {
  if (typeof value === "object") {
    return "file" in value ? { name, source: "file", from: value.file } : { name, source: "variable", from: value.env };
  }
  return isSecretName(name) ? { name, source: "env" } : { name, source: "env", value: withoutSecretWords(value) };
}

function fileText(entry: EnvFileSpec): string {
  return typeof entry === "string" ? entry : `${entry.path}${entry.optional === true ? " (optional)" : ""}`;
}

function startText({ autostart, cron, watch, idle, policy }: ProcessSpec): string {
  const sleeps = idle !== undefined && policy.idleMs !== undefined;
  const ways = [
    ...(autostart ? [`with procman${sleeps ? ", asleep" : ""}`] : []),
    ...(sleeps ? [`with its next client, when it was stopped after ${seconds(policy.idleMs)} without one`] : []),
    ...(cron === undefined ? [] : [`by its schedule, ${cron}`]),
    ...(watch.length === 0
      ? []
      : [`${autostart ? "again " : "with procman, and again "}when one of these changes: ${watch.join(", ")}`]),
  ];
  return ways.length === 0 ? "by hand" : ways.join("; ");
}

function hooksOf(policy: Policy): Pick<DefinitionRecord, "hooks"> {
  const hooks = HOOK_NAMES.flatMap((name) => {
    const { [name]: hook } = policy;
    if (hook === undefined) return [];
    return [
      `${name}: ${withoutSecretWords(hook.line)} (${hook.timeoutMs === 0 ? "no time limit" : `at most ${seconds(hook.timeoutMs)}`})`,
    ];
  });
  return hooks.length === 0 ? {} : { hooks };
}

function restartText(policy: Policy): string {
  const { restart, restartDelayMs, restartLimit, restartResetMs } = policy;
  if (restart === "never") return "never";
  const when = restart === "always" ? "after every end" : "after an error";
  const delay =
    restartDelayMs === undefined ? "at once, then with growing delays up to 30 s" : `${seconds(restartDelayMs)} later`;
  const limit = restartLimit === Number.POSITIVE_INFINITY ? "without a limit" : `at most ${restartLimit} in a row`;
  return `${when}, ${delay}, ${limit}; a run of ${seconds(restartResetMs)} resets the count, one of ${seconds(minUptimeOf(policy))} counts as up`;
}

function stopText(policy: Policy): string {
  const { graceMs, terminateMs, timeoutMs, killMode } = policy;
  const grace = graceMs === 0 ? "" : `after ${seconds(graceMs)} `;
  const whom = killMode === "leader" ? "the main process" : "the process group";
  const longest = timeoutMs === 0 ? "" : `; a run lasts at most ${seconds(timeoutMs)}`;
  return `${grace}${stopSignalOf(policy)} to ${whom}, SIGKILL ${seconds(terminateMs)} later${longest}`;
}

function seconds(ms: number): string {
  return `${ms / 1_000} s`;
}

/** Checks of the meaning: everything that the schema can't express. */
import { type JsonPath, showPath } from "../document.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, type NameOf, show } from "../problems.ts";
import { accountErrors, apiGroupErrors } from "./accounts.ts";
import { idCollisions, pidFileCollisions, portCollisions, refusedPortWarnings } from "./collisions.ts";
import {
  placeholderWarnings,
  shellWarnings,
  unknownPlaceholder,
  variableErrors,
  variableWarnings,
  workerProblem,
} from "./command-checks.ts";
import { cronProblem, timeZoneProblem } from "./cron.ts";
import { dependencyErrors, dependencyWarnings } from "./dependency-checks.ts";
import { exposureWarnings } from "./exposure.ts";
import { idleErrors } from "./idle-checks.ts";
import { levelErrors } from "./level-checks.ts";
import { memoryErrors, openFileWarnings, rightErrors } from "./limit-checks.ts";
import { pluginErrors, pluginWarnings } from "./plugin-checks.ts";
import { portErrors } from "./port-checks.ts";
import { probeFieldErrors } from "./probe-checks.ts";
import { fileWarnings } from "./referenced-files.ts";
import { releaseErrors, releaseWarnings } from "./release-checks.ts";
import { scaleErrors, scaleWarnings } from "./scale-checks.ts";
import { sharedFolderWarnings } from "./shared-folders.ts";
import { writtenFileErrors } from "./written-files.ts";

export type CheckContext = {
  /** Relative paths resolve from here. Absolute. */
  readonly folder: string;
  /** The number of instances that "max" means. */
  readonly parallelism: number;
  readonly now: Date;
  /** Whether Node runs TypeScript without a flag. */
  readonly stripsTypes: boolean;
  /** Whether Node runs TypeScript with a flag, as workers get it. Default: `stripsTypes`. */
  readonly isStrippable?: () => boolean;
  /** Whether to read the files that the configuration names. */
  readonly looksAtFiles?: boolean;
  /** Default: true. */
  readonly checksAccounts?: boolean;
  /** The processes that start are named in the command: none needs a start policy. */
  readonly startsNamed?: boolean;
  /** Numbers of instances may be others than in the file. */
  readonly hasOverrides?: boolean;
  /** Bytes that one instance uses, by cluster, as far as procman runs it. */
  readonly instanceMemory?: ReadonlyMap<string, number> | undefined;
  /** Absolute paths of the main file, and of those that it includes. */
  readonly files?: readonly string[];
  /** Default: paths in the data. */
  readonly nameOf?: NameOf;
  /** Paths of the processes that have a misspelt `cmd` or `worker`. */
  readonly misspelt?: ReadonlySet<string>;
  /** The ports that were chosen for "auto", by id. */
  readonly chosenPorts?: ReadonlyMap<string, number>;
};

/** `obstacles`: what would fail at a start, though another machine or moment may have it. */
export type CheckResult = {
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly obstacles: readonly Finding[];
};

/** Runs all checks: of each process, and of all together. */
export function checkMeaning(config: PartialConfig, context: CheckContext): CheckResult {
  const processes = (config.processes ?? []).map((process, index) => ({
    process: process ?? {},
    path: ["processes", index],
  }));
  const plugins = (config.plugins ?? []).map((plugin, index) => ({ plugin: plugin ?? {}, path: ["plugins", index] }));
  const common = { env: config.env, envFile: config.envFile };
  const errors = [
    ...processes.flatMap(({ process, path }) => [
      ...processErrors(process, path, { ...context, env: config.env }),
      ...probeFieldErrors(process, path, config),
      ...(context.checksAccounts === false ? [] : accountErrors(process, path)),
      ...memoryErrors(process, path),
      ...rightErrors(process, path),
    ]),
    ...(context.checksAccounts === false ? [] : apiGroupErrors(config)),
    ...variableErrors(common, []),
    ...timeZoneErrors(config.timeZone, ["timeZone"]),
    ...plugins.flatMap(({ plugin, path }) => pluginErrors(plugin, path, context.stripsTypes)),
    ...loggerErrors(config.logger),
    ...idCollisions(config, context),
    ...portCollisions(config, context),
    ...portErrors(config, context),
    ...idleErrors(config),
    ...pidFileCollisions(config, context),
    ...writtenFileErrors(config, context),
    ...dependencyErrors(config),
    ...releaseErrors(config, context),
  ];
  const warnings: Finding[] = [
    ...environmentWarnings(common, []),
    ...processes.flatMap(({ process, path }) => processWarnings(process, path, context)),
    ...(context.startsNamed === true ? [] : dependencyWarnings(config)),
    ...plugins.flatMap(({ plugin, path }) => pluginWarnings(plugin, path)),
    ...wholeWarnings(config, context),
  ];
  const obstacles = [...openFileWarnings(config, context.parallelism)];
  if (context.looksAtFiles === true && errors.length === 0) {
    warnings.push(...sharedFolderWarnings(config, context.folder));
    obstacles.push(...fileWarnings(config, context));
  }
  return { errors, warnings, obstacles };
}

function wholeWarnings(config: PartialConfig, context: CheckContext): readonly Finding[] {
  return [
    ...emptyWarnings(config),
    ...refusedPortWarnings(config),
    ...exposureWarnings(config),
    ...releaseWarnings(config, context),
  ];
}

function emptyWarnings({ processes }: PartialConfig): readonly Finding[] {
  const message = "There are no processes yet. `procman append` adds one.";
  return processes?.length === 0 ? [{ path: ["processes"], message }] : [];
}

function processErrors(
  process: PartialProcess,
  path: JsonPath,
  context: CheckContext & Pick<PartialConfig, "env">,
): readonly Finding[] {
  const { now, stripsTypes, isStrippable = () => stripsTypes, misspelt, env } = context;
  const script = workerProblem({ ...process, env: { ...env, ...process.env } }, isStrippable);
  const place = [...path, "worker", ...(Array.isArray(process.worker) ? [0] : [])];
  return [
    ...(misspelt?.has(showPath(path)) === true ? [] : commandErrors(process, path)),
    ...taskErrors(process, path),
    ...terminalErrors(process, path),
    ...(script === undefined ? [] : [{ ...script, path: place }]),
    ...(["cron", "terminate"] as const).flatMap((key) => cronErrors(process[key], [...path, key], now)),
    ...timeZoneErrors(process.timeZone, [...path, "timeZone"]),
    ...variableErrors(process, path),
    ...scaleErrors(process, path, context),
    ...filePatterns(process.logger, [...path, "logger"]),
    ...patternError(process.pidFile, [...path, "pidFile"]),
  ];
}

function taskErrors(process: PartialProcess, path: JsonPath): readonly Finding[] {
  if (process.task !== true) return [];
  const starts = { autostart: process.autostart === true, cron: "cron" in process, watch: "watch" in process };
  const set = Object.entries(starts).flatMap(([key, isSet]) => (isSet ? [key] : []));
  return set.map((key) => ({
    path: [...path, key],
    at: "key",
    message: `Found ${show(key)} with "task", which is started by hand; remove one of them.`,
  }));
}

function terminalErrors({ tty, stdin }: PartialProcess, path: JsonPath): readonly Finding[] {
  if (tty !== true || typeof stdin !== "object" || stdin === null) return [];
  const message = 'Found a file as "stdin" with "tty", which takes its input from the terminal; remove one of them.';
  return [{ path: [...path, "stdin"], at: "key", message }];
}

function commandErrors(process: PartialProcess, path: JsonPath): readonly Finding[] {
  if ("cmd" in process && "worker" in process)
    return [{ path: [...path, "worker"], at: "key", message: 'Found both "cmd" and "worker"; allowed: one of them.' }];
  // A process that isn't an object has been reported already.
  if (["cmd", "worker", "extends"].some((key) => key in process) || Object.keys(process).length === 0) return [];
  const message = 'Missing key "cmd" or "worker": a command line, or a script that runs in a separate Node process.';
  return [{ path, message }];
}

function cronErrors(pattern: string | undefined, path: JsonPath, now: Date): readonly Finding[] {
  const reason = pattern === undefined ? undefined : cronProblem(pattern, now);
  return reason === undefined ? [] : [{ path, message: `Found ${show(pattern)}; allowed: a cron pattern. ${reason}` }];
}

function timeZoneErrors(name: string | undefined, path: JsonPath): readonly Finding[] {
  const reason = name === undefined ? undefined : timeZoneProblem(name);
  const allowed = 'the name of a time zone, such as "Europe/Berlin" or "UTC"';
  return reason === undefined ? [] : [{ path, message: `Found ${show(name)}; allowed: ${allowed}. ${reason}` }];
}

function loggerErrors(logger: PartialConfig["logger"]): readonly Finding[] {
  return [...filePatterns(logger, ["logger"]), ...levelErrors(logger?.levels)];
}

function filePatterns(logger: PartialProcess["logger"], path: JsonPath): readonly Finding[] {
  return (["stdout", "stderr"] as const).flatMap((key) => patternError(logger?.[key], [...path, key]));
}

function patternError(pattern: string | undefined, path: JsonPath): readonly Finding[] {
  const message = pattern === undefined ? undefined : unknownPlaceholder(pattern);
  return message === undefined ? [] : [{ path, message }];
}

function processWarnings(process: PartialProcess, path: JsonPath, context: CheckContext): Finding[] {
  const { startsNamed = false } = context;
  const warnings: Finding[] = [];
  const starts =
    startsNamed ||
    process.task === true ||
    process.autostart === true ||
    "cron" in process ||
    (process.watch?.length ?? 0) > 0;
  if (!starts && "id" in process)
    warnings.push({
      path,
      message: `No start policy: ${show(process.id)} is only started manually. Set "autostart", "cron" or "watch", or "task" if that is intended.`,
    });
  warnings.push(...scheduleWarnings(process, path));
  for (const key of ["strategy", "hostname", "proxyProtocol", "idleTimeout", "maxConnections"] as const)
    if (process.cluster !== undefined && key in process.cluster && !("commonPort" in process.cluster))
      warnings.push({
        path: [...path, "cluster", key],
        at: "key",
        message: `Found ${show(key)} without "commonPort": there is no load balancer that it could apply to.`,
      });
  return [
    ...warnings,
    ...scaleWarnings(process, path, context),
    ...placeholderWarnings(process, path),
    ...shellWarnings(process, path),
    ...environmentWarnings(process, path),
  ];
}

function scheduleWarnings(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const needs = { timeZone: ["cron", "terminate"], catchUp: ["cron"], jitter: ["cron"] } as const;
  return (["timeZone", "catchUp", "jitter"] as const)
    .filter((key) => Boolean(process[key]) && needs[key].every((other) => !(other in process)))
    .filter((key) => key !== "timeZone" || process.scale?.schedules === undefined)
    .map((key) => ({
      path: [...path, key],
      at: "key",
      message: `Found ${show(key)} without ${needs[key].map(show).join(" or ")}: there is no schedule that it could apply to.`,
    }));
}

function environmentWarnings(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const reserved = Object.keys(process.env ?? {}).filter((key) => key.startsWith("PROCMAN_"));
  // Those of a text have been read as they are written.
  const inexact = Object.entries(process.env ?? {}).filter(
    ([, value]) => typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER,
  );
  return [
    ...reserved.map((key) => ({
      path: [...path, "env", key],
      at: "key" as const,
      message: `Found ${show(key)}: names that begin with PROCMAN_ are reserved, and procman may overwrite the value.`,
    })),
    ...inexact.map(([key, value]) => ({
      path: [...path, "env", key],
      message: `Found ${show(value)}, a number that JavaScript can't hold digit by digit, so it may have been another; write it as a string.`,
    })),
    ...variableWarnings(process, path),
  ];
}

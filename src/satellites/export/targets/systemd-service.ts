/** The section `[Service]` of a unit. */
import { isProbe, probeWords } from "../probe-command.ts";
import { commandOf, exportsOf, hookOf } from "../start-script.ts";
import { type Project, seconds, type Variable, type Workload } from "../workload.ts";
import { givenNames } from "../workloads.ts";
import { commandLine, plainValue, unitName, word } from "./systemd-text.ts";

/** Folders in which systemd looks for programs. */
const STANDARD_PATH = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const LIMITS = {
  as: "AS",
  core: "CORE",
  cpu: "CPU",
  data: "DATA",
  fsize: "FSIZE",
  memlock: "MEMLOCK",
  nofile: "NOFILE",
  nproc: "NPROC",
  stack: "STACK",
};
/** Ends by these signals count as success for systemd, but not for procman. */
const CLEAN_SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE"];
const SECONDS_TO_RESTART = 1;

export function serviceLines(workload: Workload, project: Project): readonly string[] {
  const { spec } = workload;
  return [
    ...typeLines(workload),
    ...(spec.share === undefined ? [] : [`Sockets=${unitName(project.name)}-${unitName(workload.process)}.socket`]),
    `WorkingDirectory=${plainValue(spec.cwd)}`,
    ...identityLines(spec),
    ...environmentLines(workload, project),
    ...commandLines(workload, project),
    ...restartLines(workload),
    ...timeLines(workload),
    ...limitLines(spec),
    ...outputLines(spec),
  ];
}

/** A unit that ends by itself. */
function isOneshot({ kind }: Workload): boolean {
  return kind === "task" || kind === "scheduled";
}

/** A restart after every end is not possible for such a unit. */
export function isAlwaysOneshot(workload: Workload): boolean {
  return isOneshot(workload) && workload.spec.policy.restart === "always";
}

function typeLines(workload: Workload): readonly string[] {
  if (!isOneshot(workload)) return ["Type=exec"];
  // What waits for a task waits until it has finished.
  return ["Type=oneshot", ...(workload.kind === "task" ? ["RemainAfterExit=yes"] : [])];
}

function identityLines({ user, group }: Workload["spec"]): readonly string[] {
  return [
    ...(user === undefined ? [] : [`User=${plainValue(user.name)}`]),
    ...(group === undefined ? [] : [`Group=${group}`]),
  ];
}

/** With an env file, which would override `Environment=`, the shell sets the variables. */
function isSetByShell({ kind }: Variable, hasFiles: boolean): boolean {
  return kind === "file" || kind === "composed" || hasFiles;
}

function splitVariables({ variables, spec }: Workload): {
  readonly plain: readonly Variable[];
  readonly byShell: readonly Variable[];
} {
  const hasFiles = spec.envFile !== undefined;
  // A given variable with its own name comes from the file for it.
  const own = variables.filter((variable) => !(variable.kind === "given" && variable.from === variable.name));
  return {
    plain: own.filter((variable) => variable.kind === "text" && !isSetByShell(variable, hasFiles)),
    byShell: own.filter((variable) => variable.kind !== "text" || isSetByShell(variable, hasFiles)),
  };
}

/** Where the variables are expected that are not in the configuration. */
export function givenFile({ name }: Project, id: string): string {
  return `/etc/${unitName(name)}/${unitName(id)}.env`;
}

function environmentLines(workload: Workload, project: Project): readonly string[] {
  const { spec, variables } = workload;
  const files = (spec.envFile ?? []).map((entry) => (typeof entry === "string" ? entry : `-${entry.path}`));
  const given = givenNames(workload);
  const isNeeded = [...given.values()].some(({ isOptional }) => !isOptional);
  const path = pathOf(spec, project);
  return [
    ...(path === undefined ? [] : [`Environment=${word(`PATH=${path}`)}`]),
    ...splitVariables(workload).plain.map(
      (variable) => `Environment=${word(`${variable.name}=${variable.kind === "text" ? variable.value : ""}`)}`,
    ),
    ...files.map((file) => `EnvironmentFile=${plainValue(file)}`),
    ...(given.size === 0
      ? []
      : [
          `EnvironmentFile=${isNeeded && spec.envFile === undefined ? "" : "-"}${givenFile(project, workload.process)}`,
        ]),
    ...variables.flatMap((variable) =>
      variable.kind === "file" ? [`LoadCredential=${variable.name}:${plainValue(variable.path)}`] : [],
    ),
  ];
}

/** Programs in the folder of Node are found, too, as under procman. */
function pathOf({ path, pathFirst = [] }: Workload["spec"], { nodeFolder }: Project): string | undefined {
  const node = STANDARD_PATH.includes(nodeFolder) ? [] : [nodeFolder];
  return path.length + pathFirst.length + node.length === 0
    ? undefined
    : [...pathFirst, ...node, ...STANDARD_PATH, ...path].join(":");
}

function commandLines(workload: Workload, project: Project): readonly string[] {
  const { spec } = workload;
  const { beforeStart, afterStop, reloadSignal, graceMs } = spec.policy;
  const { byShell } = splitVariables(workload);
  const secretPath = ({ name }: { readonly name: string }): string => `$CREDENTIALS_DIRECTORY/${name}`;
  const exported = exportsOf(byShell, secretPath);
  const hook = (line: string): string => commandLine(["/bin/sh", "-c", [...exported, line].join("\n")]);
  const waiting = isProbe(spec.ready) ? commandLine(untilReady(probeWords(spec.ready))) : undefined;
  return [
    ...(beforeStart === undefined ? [] : [`ExecStartPre=${hook(hookOf(beforeStart))}`]),
    `ExecStart=${commandLine(commandOf(workload, { variables: byShell, secretPath, resolve: resolverOf(spec, project) }))}`,
    ...(waiting === undefined ? [] : [`ExecStartPost=${waiting}`]),
    ...(reloadSignal === undefined ? [] : [`ExecReload=/bin/kill -${reloadSignal.slice(3)} $MAINPID`]),
    ...(graceMs === 0 ? [] : [`ExecStop=-/bin/sh -c "timeout ${seconds(graceMs)} tail --pid=$MAINPID -f /dev/null"`]),
    ...(afterStop === undefined ? [] : [`ExecStopPost=${hook(`${EXIT_VARIABLES}\n${hookOf(afterStop)}`)}`]),
  ];
}

/** The end of the run as procman's hooks get it. */
const EXIT_VARIABLES =
  'if [ "$EXIT_CODE" = exited ]; then export PROCMAN_EXIT_CODE="$EXIT_STATUS"; else export PROCMAN_EXIT_SIGNAL="SIG$EXIT_STATUS"; fi';

function untilReady(words: readonly string[]): readonly string[] {
  return ["/bin/bash", "-c", `until ( ${lineOfWords(words)} ) 2>/dev/null; do sleep 0.1; done`];
}

function lineOfWords(words: readonly string[]): string {
  return words.map((each) => `'${each.replaceAll("'", "'\\''")}'`).join(" ");
}

/** systemd starts programs by their absolute path, or finds them in its own folders. */
function resolverOf(
  { cwd, path, pathFirst = [] }: Workload["spec"],
  { programPath }: Project,
): (program: string) => string {
  return (program) => programPath(program, cwd, [...pathFirst, ...path]) ?? program;
}

function restartLines(workload: Workload): readonly string[] {
  const { restart, successExitCodes = [], restartDelayMs } = workload.spec.policy;
  const codes = successExitCodes.length === 0 ? [] : [`SuccessExitStatus=${successExitCodes.join(" ")}`];
  if (restart === "never" || workload.kind === "scheduled") return codes;
  const failures = CLEAN_SIGNALS.filter((signal) => !successExitCodes.includes(signal));
  return [
    ...codes,
    `Restart=${restart === "always" && !isOneshot(workload) ? "always" : "on-failure"}`,
    ...(restart === "error" && !isOneshot(workload) ? [`RestartForceExitStatus=${failures.join(" ")}`] : []),
    `RestartSec=${restartDelayMs === undefined ? SECONDS_TO_RESTART : seconds(restartDelayMs)}`,
  ];
}

function timeLines(workload: Workload): readonly string[] {
  const { stopSignal, killMode, terminateMs, graceMs, timeoutMs, readyMs } = workload.spec.policy;
  const startMs = isOneshot(workload) ? timeoutMs : readyMs;
  return [
    ...(stopSignal === undefined ? [] : [`KillSignal=${stopSignal}`]),
    ...(killMode === "leader" ? ["KillMode=mixed"] : []),
    // Of ExecStop= and of the time after the signal. 0 would be no limit.
    `TimeoutStopSec=${seconds(Math.max(terminateMs, graceMs === 0 ? 1 : graceMs + 1_000))}`,
    ...(startMs === undefined || startMs === 0 ? [] : [`TimeoutStartSec=${seconds(startMs)}`]),
    ...(timeoutMs === 0 || isOneshot(workload) ? [] : [`RuntimeMaxSec=${seconds(timeoutMs)}`]),
  ];
}

function limitLines(spec: Workload["spec"]): readonly string[] {
  const { memoryLimit, memoryMax = memoryLimit, cpuQuota, ulimits = {}, nice, ioNice, oomScoreAdjust, umask } = spec;
  return [
    ...(memoryMax === undefined ? [] : [`MemoryMax=${memoryMax}`]),
    ...(cpuQuota === undefined ? [] : [`CPUQuota=${cpuQuota}%`]),
    ...Object.entries(ulimits).map(
      ([name, value]) => `Limit${LIMITS[name as keyof typeof LIMITS]}=${value < 0 ? "infinity" : value}`,
    ),
    ...(nice === undefined ? [] : [`Nice=${nice}`]),
    ...(ioNice === undefined ? [] : [`IOSchedulingClass=${ioNice.class}`]),
    ...(ioNice?.level === undefined ? [] : [`IOSchedulingPriority=${ioNice.level}`]),
    ...(oomScoreAdjust === undefined ? [] : [`OOMScoreAdjust=${oomScoreAdjust}`]),
    ...(umask === undefined ? [] : [`UMask=${umask}`]),
  ];
}

function outputLines({ stdin, log, id }: Workload["spec"]): readonly string[] {
  const { stdout, stderr = stdout } = log;
  return [
    ...(typeof stdin === "object" ? [`StandardInput=file:${plainValue(stdin.file)}`] : []),
    ...(stdout === undefined ? [] : [`StandardOutput=append:${plainValue(stdout)}`]),
    ...(stderr === undefined ? [] : [`StandardError=append:${plainValue(stderr)}`]),
    `SyslogIdentifier=${id}`,
  ];
}

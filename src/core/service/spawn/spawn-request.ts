/** Makes the keeper's spawn request from a specification, and the message if the start fails. */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { compact } from "../../base/compact.ts";
import type { EnvFault } from "../../base/env-file.ts";
import { EXIT } from "../../base/errors.ts";
import { readyDescriptor } from "../../config/checks/probe-checks.ts";
import { argvOf } from "../../config/executed-command.ts";
import { inheritanceOf } from "../../config/inheritance.ts";
import { missingRelease } from "../../config/missing-release.ts";
import { isCaptured } from "../../config/normalise.ts";
import { variablesOf } from "../../config/run-variables.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { FailedReport, RunKey, SpawnRequest } from "../../ipc/keeper-protocol.ts";
import type { CaptureSpec } from "../../ipc/logger-protocol.ts";
import { statIfSeen } from "../../os/files.ts";
import { presentPath } from "../../os/package-place.ts";
import { currentRights } from "../../os/process-rights.ts";
import { onTerminal, TERMINAL_VARIABLES, whyNoTerminals } from "../../os/pseudo-terminal.ts";
import { stopSignalOf } from "../../supervisor/restart-policy.ts";
import { hasColors } from "../service-log.ts";
import { clientsFile } from "./clients-file.ts";
import { type AccessOfProcess, type ApiAccess, environmentOf } from "./environment.ts";
import { wrapWithLimits } from "./exec-wrapper.ts";
import { notifyFile } from "./probing.ts";
import { inputFile, takesInput } from "./process-input.ts";
import { credentialsOf, userVariables } from "./run-identity.ts";
import { screenFile } from "./screens.ts";

const ANY_EXECUTE = 0o111;

/** In a build. */
const NODE_PRELOAD = join(import.meta.dirname, "node-preload.cjs");

export type SpawnRequestContext = {
  readonly config: Config;
  readonly marker: string;
  /** Token of the balancer's headers for this process. */
  readonly proxyToken: () => string;
  readonly slot: string;
  readonly run: number;
  readonly accessOf: AccessOfProcess;
  /** Called for each env file with its malformed lines. */
  readonly onFaults?: (file: string, faults: readonly EnvFault[]) => void;
};

/** Its standard input can't be had, so the run can't start. */
export class InputFileError extends Error {
  override readonly name = "InputFileError";
}

/** @throws {MissingVariableError | InputFileError} */
export function spawnRequestOf(
  spec: ProcessSpec,
  { config, marker, proxyToken, slot, run, accessOf, onFaults }: SpawnRequestContext,
): Omit<SpawnRequest, keyof RunKey> {
  const { stateDir } = config;
  const { id, path, pathFirst, cwd, cluster, port, share, memoryMax, cpuQuota, tty } = spec;
  const env = { ...userVariables(spec), ...variablesOf(spec, onFaults === undefined ? {} : { onFaults }) };
  const as = credentialsOf(spec);
  const access = accessAs(as, accessOf(id));
  const inherit = inheritanceOf(spec, config);
  const capture = captureOf(spec, run);
  const notifyFd = spec.ready === undefined ? undefined : readyDescriptor(spec.ready);
  const node = nodePartsOf(spec, notifyFd, proxyToken);
  return compact({
    argv: commandOf(spec, node.preload, notifyFd),
    as,
    cwd,
    env: {
      ...(tty ? TERMINAL_VARIABLES : hasColoredConsole(config) && colorVariables(spec, process.env)),
      ...environmentOf({
        env,
        cwd,
        path,
        ...(pathFirst && { pathFirst }),
        id,
        marker,
        stateDir,
        ...(cluster && { cluster }),
        ...(port !== undefined && { port }),
        ...(access && { api: access }),
      }),
      ...(share && { LISTEN_FDS: "1", LISTEN_FDNAMES: cluster?.id ?? id }),
      ...node.env,
    },
    ...(inherit && { inherit }),
    ...(share && { listen: share }),
    memoryMax,
    cpuQuota,
    capture,
    ...node.request,
    ...filesOf(spec, notifyFd, (of) => of(stateDir, slot)),
  });
}

/** `placed`: calls what names a file of the slot. */
function filesOf(
  spec: ProcessSpec,
  notifyFd: number | undefined,
  placed: (of: (stateDir: string, slot: string) => string) => string,
): Pick<SpawnRequest, "stdin" | "notify" | "clients" | "screen"> {
  return {
    ...(takesInput(spec) && { stdin: placed(inputFile) }),
    ...(countsClients(spec) && { clients: { fd: clientsFdBeside(notifyFd), file: placed(clientsFile) } }),
    ...(spec.tty && { screen: { fd: screenFdBeside(notifyFd), file: placed(screenFile) } }),
    ...(notifyFd === undefined ? {} : { notify: { fd: notifyFd, file: placed(notifyFile) } }),
  };
}

/** Another one than that of a shared socket, which is 3. */
function screenFdBeside(notifyFd: number | undefined): number {
  return notifyFd === 4 ? 5 : 4;
}

/** Another one than those of a shared socket, of the terminal and of readiness. */
function clientsFdBeside(notifyFd: number | undefined): number {
  return notifyFd === 6 ? 7 : 6;
}

/** Whether its runs tell how many clients they have: they accept them themselves, and sleep without any. */
function countsClients({ node, share, idle }: ProcessSpec): boolean {
  return node === true && share !== undefined && idle !== undefined;
}

/** The file that is its standard input. @throws {InputFileError} */
function inputFileOf({ stdin }: ProcessSpec): string | undefined {
  if (typeof stdin !== "object") return undefined;
  const { file } = stdin;
  const stat = statIfSeen(file);
  if (stat === undefined)
    throw new InputFileError(
      `its input file ${file} does not exist, or procman's user can't reach it; create it or correct "stdin"`,
    );
  if (stat.isDirectory()) throw new InputFileError(`its input file ${file} is a folder; correct "stdin"`);
  return file;
}

/** Limits are set on the terminal: they don't apply to what holds it. */
function commandOf(spec: ProcessSpec, preload: string | undefined, notifyFd: number | undefined): readonly string[] {
  const argv = wrapWithLimits(argvOf(spec), { ...spec, input: inputFileOf(spec), preload });
  return spec.tty === true ? onTerminal(argv, screenFdBeside(notifyFd)) : argv;
}

function hasColoredConsole({ console }: Config): boolean {
  return console.file === undefined && hasColors(console);
}

/** For a program whose output goes to the console alone, which has colors: it sees no terminal. */
export function colorVariables(
  { log, ready }: Pick<ProcessSpec, "log" | "ready">,
  own: NodeJS.ProcessEnv,
): Readonly<Record<string, string>> {
  const isRead = log.stdout !== undefined || log.stderr !== undefined || ready?.kind === "log";
  return !log.console || isRead || own.FORCE_COLOR !== undefined ? {} : { FORCE_COLOR: "1", CLICOLOR_FORCE: "1" };
}

/** Only procman's own user can open the Unix socket. */
export function accessAs(
  { uid = process.getuid?.() }: { readonly uid?: number },
  access: ApiAccess | undefined,
): ApiAccess | undefined {
  if (access === undefined || uid === process.getuid?.()) return access;
  const { socket: _, ...rest } = access;
  return rest;
}

/** Whether its runs read the load balancer's headers. */
export function readsHeaders({ node, front }: ProcessSpec): boolean {
  return node === true && front !== undefined;
}

/** Whether its runs get messages. */
export function hasChannel({ command, node }: ProcessSpec): boolean {
  return command.kind === "worker" || node === true;
}

type NodeParts = {
  /** Module that is loaded first. */
  readonly preload?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly request: Pick<SpawnRequest, "channel" | "farewell">;
};

/** A connection that is kept idle for so long ends when its server closes; a stop signal and a kill must be further away. Milliseconds. */
const IDLE_MS = 5_000;

/** Additions to the request for a Node program: preload, environment, channel. */
function nodePartsOf(spec: ProcessSpec, notifyFd: number | undefined, proxyToken: () => string): NodeParts {
  const { node = false, ready, policy, front } = spec;
  const request = {
    ...(hasChannel(spec) && { channel: true as const }),
    ...(node && { farewell: "shutdown" as const }),
  };
  const isAnnounced = ready?.kind === "message";
  if (!node && !isAnnounced) return { env: {}, request };
  const idle = Math.min(IDLE_MS, policy.terminateMs / 2, ...(policy.graceMs > 0 ? [policy.graceMs / 2] : []));
  const proxy = readsHeaders(spec) ? [`proxy=${proxyToken()}`, ...(front?.proxyProtocol ? ["raw=net"] : [])] : [];
  const task = [
    `stop=${stopSignalOf(policy)}`,
    `idle=${idle}`,
    ...(isAnnounced ? [`ready=${notifyFd}`] : []),
    ...(countsClients(spec) ? [`clients=${clientsFdBeside(notifyFd)}`] : []),
    ...proxy,
  ].join(" ");
  return { preload: presentPath(NODE_PRELOAD), env: { PROCMAN_NODE: task }, request };
}

/** undefined: its output is not captured. */
export function captureOf({ id, log, cluster }: ProcessSpec, run: number): CaptureSpec | undefined {
  if (!isCaptured(log)) return undefined;
  const { stored, ...places } = log;
  const store = { run, ...(cluster === undefined ? {} : { instance: cluster.index + 1 }) };
  return { id, ...places, ...(stored === true ? { store } : {}) };
}

/** Why the process could not be started, and what to do. */
export function whyUnstartable(spec: ProcessSpec, { step, errno, message }: FailedReport, config: Config): string {
  const program = argvOf(spec)[0] ?? "";
  if (step === "cwd") return unreachableFolder(spec.cwd, config);
  if (step === "fork") return whyShort(errno);
  if (step === "socket") return message;
  if (step === "run-folder") return `its output can't be captured: ${message}`;
  if (errno === "EACCES") return whyNotExecutable(program, spec.cwd);
  if (errno === "EPERM" && spec.user !== undefined)
    return `only root may start it as ${spec.user.name}; run procman as root, or remove "user"`;
  if (errno !== "ENOENT") return `${program}: ${message}`;
  return (spec.tty === true ? whyNoTerminals() : undefined) ?? whyMissing(program, spec);
}

function whyMissing(program: string, spec: ProcessSpec): string {
  if (program.includes("/") && existsSync(resolve(spec.cwd, program)))
    return `${program} exists, but the interpreter named in its first line does not`;
  return program.includes("/")
    ? `there is no file ${program}; correct "${spec.command.kind === "worker" ? "worker" : "cmd"}"`
    : `there is no program "${program}" in its PATH; correct "cmd" or add its folder to "path"`;
}

function whyNotExecutable(program: string, cwd: string): string {
  const stat = program.includes("/") ? statIfSeen(resolve(cwd, program)) : undefined;
  const remedy =
    stat?.isFile() === true && (stat.mode & ANY_EXECUTE) === 0
      ? `"chmod +x ${program}" makes it executable`
      : "check that it is executable, and that procman's user can reach it";
  return `${program} can't be executed (EACCES); ${remedy}`;
}

/** Why a process whose working directory can't be entered doesn't start. */
export function unreachableFolder(cwd: string, config: Config): string {
  const problem = missingRelease(cwd, config);
  if (problem !== undefined) return `its working directory is ${cwd}, but ${problem}`;
  return `its working directory ${cwd} does not exist, or procman's user can't reach it; create it or correct "cwd"`;
}

/** What has run out, and how to get more of it. */
function whyShort(errno: string): string {
  const { hardLimits } = currentRights();
  const now = (name: string): string => (Number.isFinite(hardLimits[name]) ? `, now ${hardLimits[name]}` : "");
  if (errno === "EMFILE")
    return `procman may open no more files (${errno}), and a process takes two; start procman with a higher "ulimit -n"${now("Max open files")} (LimitNOFILE= in a systemd unit)`;
  if (errno === "ENFILE") return `the machine may open no more files (${errno}); raise fs.file-max`;
  if (errno === "EAGAIN")
    return `no more processes may be started (${errno}); raise "ulimit -u"${now("Max processes")}, pids.max of its cgroup (TasksMax= in a systemd unit), or kernel.pid_max`;
  return `the machine has no memory for another process (${errno})`;
}

/** The exit code of a shell that can't start a program. */
export function exitCodeOf({ step, errno }: FailedReport): number {
  if (step !== "program") return EXIT.refused;
  return errno === "ENOENT" ? 127 : ["EACCES", "ENOEXEC"].includes(errno) ? 126 : EXIT.refused;
}

/** Makes the keeper's spawn request from a specification, and the message if the start fails. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { EnvFault } from "../../base/env-file.ts";
import { EXIT } from "../../base/errors.ts";
import { isTypeScript, typeScriptFlags } from "../../config/checks/command-checks.ts";
import { isCaptured } from "../../config/normalise.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { FailedReport, RunKey, SpawnRequest } from "../../ipc/keeper-protocol.ts";
import type { CaptureSpec } from "../../ipc/logger-protocol.ts";
import { type ApiAccess, environmentOf, variablesOf } from "./environment.ts";
import { shellArgv, wrapWithLimits } from "./exec-wrapper.ts";
import { notifyFile } from "./probing.ts";
import { credentialsOf, userVariables } from "./run-identity.ts";

export type SpawnRequestContext = {
  readonly stateDir: string;
  readonly marker: string;
  readonly slot: string;
  readonly run: number;
  readonly api: (id: string) => ApiAccess | undefined;
  /** Called for each env file with its malformed lines. */
  readonly onFaults?: (file: string, faults: readonly EnvFault[]) => void;
};

/** @throws {MissingVariableError} */
export function spawnRequestOf(
  spec: ProcessSpec,
  { stateDir, marker, slot, run, api, onFaults }: SpawnRequestContext,
): Omit<SpawnRequest, keyof RunKey> {
  const { id, path, cwd, cluster, share, memoryMax } = spec;
  const env = { ...userVariables(spec), ...variablesOf(spec, onFaults === undefined ? {} : { onFaults }) };
  const access = api(id);
  const capture = captureOf(spec, run);
  return {
    argv: wrapWithLimits(argvOf(spec), spec),
    as: credentialsOf(spec),
    cwd,
    env: {
      ...environmentOf({ env, path, id, marker, stateDir, ...(cluster && { cluster }), ...(access && { api: access }) }),
      ...(share && { LISTEN_FDS: "1", LISTEN_FDNAMES: cluster?.id ?? id }),
    },
    ...(share && { listen: share }),
    ...(memoryMax === undefined ? {} : { memoryMax }),
    ...(capture === undefined ? {} : { capture }),
    ...(spec.command.kind === "worker" ? { channel: true } : {}),
    ...(spec.ready?.kind === "fd" ? { notify: { fd: spec.ready.fd, file: notifyFile(stateDir, slot) } } : {}),
  };
}

/** undefined: its output is not captured. */
export function captureOf({ id, log, cluster }: ProcessSpec, run: number): CaptureSpec | undefined {
  if (!isCaptured(log)) return undefined;
  const { stored, ...places } = log;
  const store = { run, ...(cluster === undefined ? {} : { instance: cluster.index + 1 }) };
  return { id, ...places, ...(stored === true ? { store } : {}) };
}

/** Why the process could not be started, and what to do. */
export function whyUnstartable(spec: ProcessSpec, { step, errno, message }: FailedReport): string {
  const program = argvOf(spec)[0] ?? "";
  if (step === "cwd") return `its working directory ${spec.cwd} does not exist; create it or correct "cwd"`;
  if (step === "fork") return `the machine can't start another process at the moment (${errno})`;
  if (step === "socket") return message;
  if (step === "run-folder") return `its output can't be captured: ${message}`;
  if (errno === "EACCES")
    return `${program} can't be executed (${errno}); check that it is executable, and that procman's user can reach it`;
  if (errno === "EPERM" && spec.user !== undefined)
    return `only root may start it as ${spec.user.name}; run procman as root, or remove "user"`;
  if (errno !== "ENOENT") return `${program}: ${message}`;
  if (program.includes("/") && existsSync(resolve(spec.cwd, program)))
    return `${program} exists, but the interpreter named in its first line does not`;
  return program.includes("/")
    ? `there is no file ${program}; correct "${spec.command.kind === "worker" ? "worker" : "cmd"}"`
    : `there is no program "${program}" in its PATH; correct "cmd" or add its folder to "path"`;
}

/** The exit code of a shell that can't start a program. */
export function exitCodeOf({ step, errno }: FailedReport): number {
  if (step !== "program") return EXIT.refused;
  return errno === "ENOENT" ? 127 : ["EACCES", "ENOEXEC"].includes(errno) ? 126 : EXIT.refused;
}

function argvOf({ command }: ProcessSpec): readonly string[] {
  if (command.kind === "shell") return shellArgv(command.line);
  // A missing script: starting it fails with a clear error, while Node would start and exit again and again.
  if (!existsSync(command.script)) return [command.script];
  return [process.execPath, ...(isTypeScript(command.script) ? (typeScriptFlags() ?? []) : []), command.script, ...command.args];
}

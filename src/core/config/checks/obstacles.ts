/** What would fail if the processes were started here and now: folders, programs, variables, ports. Another moment, machine or user may have them. */
import { existsSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { inheritedVariables } from "../../base/inherited-variables.ts";
import { statIfSeen } from "../../os/files.ts";
import { closedFolder, folderClosedTo, mayGiveTo, notMember } from "../../os/group-access.ts";
import { hasLock } from "../../os/lock.ts";
import { holdersOf, named } from "../../os/port-owner.ts";
import { isForwarder } from "../../os/port-ownership.ts";
import { isExecutable } from "../../os/process-rights.ts";
import { whyNoTerminals } from "../../os/pseudo-terminal.ts";
import { isOfProcman } from "../../os/running-keepers.ts";
import { HOOK_NAMES } from "../../supervisor/states.ts";
import type { RawProcess } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import { argvOf, shellArgv } from "../executed-command.ts";
import { inheritanceOf } from "../inheritance.ts";
import { missingRelease } from "../missing-release.ts";
import { type Finding, show } from "../problems.ts";
import { MissingVariableError, variablesIfThere, variablesOf } from "../run-variables.ts";
import type { Config, ProcessSpec } from "../spec.ts";

/** `processes`: those of the file, in its order. */
export function obstacles(config: Config, processes: readonly RawProcess[]): readonly Finding[] {
  const places = new Map(processes.map((process, index) => [process.id, { process, path: ["processes", index] }]));
  const programs: ProgramCache = new Map();
  const entries = config.processes.flatMap((spec) => {
    const place = places.get(spec.cluster?.id ?? spec.id);
    return place === undefined ? [] : [{ spec, place: { ...place, config, programs } }];
  });
  const { port, isOff } = config.api;
  const ports = entries.flatMap(({ spec, place: { process, path } }) => portsOf(spec, process, path));
  if (port !== undefined && isOff !== true) ports.push([port, ["api", "port"]]);
  const found = [
    ...entries.flatMap(({ spec, place }) => obstaclesOf(spec, place)),
    ...portObstacles(ports, config.stateDir),
    ...groupObstacles(config),
  ];
  // Instances share most of them.
  return [...new Map(found.map((finding) => [JSON.stringify(finding), finding])).values()];
}

/** What was found of a program, by folder, search path and name. */
type ProgramCache = Map<string, string | undefined>;

type SpecPlace = {
  readonly process: RawProcess;
  readonly path: JsonPath;
  readonly config: Config;
  readonly programs: ProgramCache;
};

function obstaclesOf(spec: ProcessSpec, place: SpecPlace): readonly Finding[] {
  const folder = folderObstacles(spec, place);
  return [
    ...folder,
    ...variableObstacles(spec, place),
    ...terminalObstacles(spec, place),
    // A relative program is looked for in that folder.
    ...(folder.length > 0 ? [] : programObstacles(spec, place)),
  ];
}

function folderObstacles({ cwd }: ProcessSpec, { process, path, config }: SpecPlace): readonly Finding[] {
  if (process.cwd === undefined || statIfSeen(cwd)?.isDirectory() === true) return [];
  return [{ path: [...path, "cwd"], message: `Found ${show(process.cwd)}, but ${whyNoFolder(cwd, config)}.` }];
}

function whyNoFolder(cwd: string, config: Config): string {
  if (existsSync(cwd)) return `${cwd} is not a folder; correct "cwd"`;
  return missingRelease(cwd, config) ?? `there is no folder ${cwd}; create it, or correct "cwd"`;
}

function variableObstacles(spec: ProcessSpec, { process, path }: SpecPlace): readonly Finding[] {
  try {
    variablesOf(spec);
    return [];
  } catch (error) {
    if (!(error instanceof MissingVariableError)) throw error;
    const { variable, message } = error;
    // An env file is reported at its place.
    if (variable === undefined) return [];
    const own = process.env !== undefined && Object.hasOwn(process.env, variable) ? ["env", variable] : [];
    return [{ path: [...path, ...own], message: `It can't start here: ${message}.` }];
  }
}

function terminalObstacles({ tty }: ProcessSpec, { path }: SpecPlace): readonly Finding[] {
  if (tty !== true) return [];
  const problem = whyNoTerminals() ?? (process.platform === "darwin" ? "it was never tried on macOS" : undefined);
  return problem === undefined ? [] : [{ path: [...path, "tty"], message: `Found true, but ${problem}.` }];
}

function programObstacles(spec: ProcessSpec, { path, config, programs }: SpecPlace): readonly Finding[] {
  const { command, policy, cwd } = spec;
  const folders = searchPath(spec, config);
  const problemOf = (program: string): string | undefined => {
    const key = [cwd, program, ...folders].join("\0");
    if (!programs.has(key)) programs.set(key, programProblem(program, cwd, folders));
    return programs.get(key);
  };
  const commands: readonly (readonly [line: string, program: string, path: JsonPath])[] = [
    ...(command.kind === "shell" ? [[command.line, argvOf(spec)[0] ?? "", [...path, "cmd"]] as const] : []),
    ...HOOK_NAMES.flatMap((name) => {
      const line = policy[name]?.line;
      return line === undefined ? [] : [[line, shellArgv(line)[0] ?? "", [...path, "hooks", name]] as const];
    }),
  ];
  return commands.flatMap(([line, program, place]) => {
    const problem = problemOf(program);
    return problem === undefined ? [] : [{ path: place, message: `Found ${show(line)}, but ${problem}.` }];
  });
}

/** The folders in which its program is looked for. */
function searchPath(spec: ProcessSpec, config: Config): readonly string[] {
  const { PATH = "" } = inheritedVariables(process.env, inheritanceOf(spec, config));
  return [...(spec.pathFirst ?? []), ...PATH.split(delimiter), ...spec.path].filter((folder) => folder !== "");
}

function programProblem(program: string, cwd: string, folders: readonly string[]): string | undefined {
  if (!program.includes("/")) {
    const isThere = folders.some((folder) => isProgram(resolve(cwd, folder, program)));
    return isThere
      ? undefined
      : `there is no program ${show(program)} in its PATH; correct it, or add its folder to "path"`;
  }
  const file = resolve(cwd, program);
  if (isProgram(file)) return undefined;
  if (!existsSync(file)) return `there is no file ${file}; create it, or correct the command`;
  return statIfSeen(file)?.isDirectory() === true
    ? `${file} is a folder`
    : `${file} is not executable; "chmod +x ${program}" makes it so`;
}

/** By procman's user, who may have other rights than that of the process. */
function isProgram(file: string): boolean {
  return isExecutable(file) && statIfSeen(file)?.isFile() === true;
}

/** The socket of `api.group`: procman must be allowed to give it away, and its members to reach it. */
function groupObstacles({ stateDir, api: { group } }: Config): readonly Finding[] {
  if (group === undefined) return [];
  const closed = folderClosedTo(group.gid, stateDir);
  const problems = [
    ...(mayGiveTo(group.gid) ? [] : [`but ${notMember(group.name)}`]),
    ...(closed === undefined ? [] : [`but ${closedFolder(group.name, closed)}`]),
  ];
  return problems.map((problem) => ({ path: ["api", "group"], message: `Found ${show(group.name)}, ${problem}.` }));
}

type PortPlace = readonly [port: number, path: JsonPath];

/** Ports that the file has by number: "auto" becomes another one where that is taken. */
function portsOf(spec: ProcessSpec, raw: RawProcess, path: JsonPath): PortPlace[] {
  const { cluster, ready, health } = spec;
  const { startPort, commonPort } = raw.cluster ?? {};
  return [
    ...(typeof raw.port === "number" ? [[raw.port, [...path, "port"]] as const] : []),
    ...(typeof raw.idle?.port === "number" ? [[raw.idle.port, [...path, "idle", "port"]] as const] : []),
    ...(typeof commonPort === "number" ? [[commonPort, [...path, "cluster", "commonPort"]] as const] : []),
    ...(typeof startPort === "number" && cluster?.port !== undefined
      ? [[cluster.port, [...path, "cluster", "startPort"]] as const]
      : []),
    ...(ready?.kind === "port" && typeof raw.ready?.port === "number"
      ? [[ready.port, [...path, "ready", "port"]] as const]
      : []),
    ...(health?.probe.kind === "port" && typeof raw.health?.port === "number"
      ? [[health.probe.port, [...path, "health", "port"]] as const]
      : []),
    ...(cluster === undefined ? variablePort(spec, raw, path) : []),
  ];
}

/** `PORT`, where the process has its own: the variable by which most programs learn where to listen. */
function variablePort(spec: ProcessSpec, { env }: RawProcess, path: JsonPath): PortPlace[] {
  const port = env?.PORT === undefined ? Number.NaN : Number(variablesIfThere(spec).PORT);
  return Number.isInteger(port) && port > 0 ? [[port, [...path, "env", "PORT"]]] : [];
}

/** Ports that a program has that is neither part of this procman nor run by it; what listens for a container may be. */
function portObstacles(ports: readonly PortPlace[], stateDir: string): readonly Finding[] {
  const hasContainers = hasLock(stateDir);
  const isOwn = (pid: number): boolean => isOfProcman(pid, stateDir) || (hasContainers && isForwarder(pid));
  const holders = holdersOf(new Set(ports.map(([port]) => port)));
  return ports.flatMap(([port, path]) => {
    const pids = holders.get(port);
    if (pids === undefined || pids.some(isOwn)) return [];
    const by = pids[0] === undefined ? "another program" : named(pids[0]);
    return [{ path, message: `Found ${port}, which is in use by ${by}; stop it, or choose another port.` }];
  });
}

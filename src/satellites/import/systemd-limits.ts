/** Environment, identity, limits and output of a service of systemd. */
import { readFileSync } from "node:fs";
import { readEnvFile } from "../../core/base/env-file.ts";
import { ownMember } from "../../core/base/interpolate.ts";
import { statIfSeen } from "../../core/os/files.ts";
import { envValue, pathFields } from "./foreign-text.ts";
import type { SystemdUnit } from "./service-unit.ts";
import { systemdVariables, unitWords } from "./unit-file.ts";

/** What a service gets without `Environment=PATH=`. */
const SYSTEMD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export function serviceEnvironment({ draft, configuration, all, one, folder }: SystemdUnit): void {
  const pairs = all("Environment")
    .flatMap(unitWords)
    .flatMap((word) => {
      const at = word.indexOf("=");
      if (at < 1) draft.note("Environment", `${JSON.stringify(word)} is not NAME=value`);
      return at < 1 ? [] : [[word.slice(0, at), envValue([word.slice(at + 1)])] as const];
    });
  // The services of a user inherit the environment of its manager.
  const isOfUser = /\/systemd\/user$/.test(folder);
  const { PATH: path = isOfUser ? "" : SYSTEMD_PATH, ...env } = Object.fromEntries(pairs);
  draft.setAll(pathFields(path));
  const files = all("EnvironmentFile").map((file) => {
    const path = configuration.path("/", file.replace(/^-/, ""));
    replaced({ draft, file: file.replace(/^-/, "") }, env);
    return file.startsWith("-") ? { path, optional: true } : path;
  });
  if (Object.keys(env).length > 0) draft.set("env", env);
  if (files.length > 0) draft.set("envFile", files.length === 1 ? files[0] : files);
  const passed = (one("PassEnvironment") ?? "").split(/\s+/).filter(Boolean);
  if (!isOfUser) draft.set("inheritEnv", passed.length > 0 ? passed : false);
  if (all("UnsetEnvironment").length > 0)
    draft.note("UnsetEnvironment", '"inheritEnv" names what is inherited: docs/guide/environment.md');
  if (all("LoadCredential").length > 0)
    draft.note(
      "LoadCredential",
      '"env": { "NAME": { "file": path } } gives the program the content of a file: docs/guide/environment.md',
    );
}

type EnvironmentFile = Pick<SystemdUnit, "draft"> & { readonly file: string };

/** What a file says replaces what the unit says: it is taken out of `env`, which in procman has the last word. */
function replaced({ draft, file }: EnvironmentFile, env: Record<string, string>): void {
  if (statIfSeen(file)?.isFile() === true) {
    const text = readFileSync(file, "utf8");
    const variables = systemdVariables(text);
    for (const name of Object.keys(variables)) delete env[name];
    differences({ draft, file }, text, variables);
  } else if (Object.keys(env).length > 0)
    draft.note(
      "EnvironmentFile",
      `${file} isn't here: what it has of ${Object.keys(env).join(", ")} replaces Environment= there, and not "env" here`,
    );
}

/** Variables of an env file that systemd reads in another way: its comments are whole lines, and a backslash continues a line. */
function differences({ draft, file }: EnvironmentFile, text: string, theirs: Readonly<Record<string, string>>): void {
  const { variables } = readEnvFile(text);
  const names = Object.entries(theirs).flatMap(([name, value]) => (ownMember(variables, name) === value ? [] : [name]));
  if (names.length > 0)
    draft.note(
      "EnvironmentFile",
      `procman reads ${names.join(", ")} of ${file} in another way: write the ${names.length === 1 ? "value" : "values"} in quotes, in one line`,
    );
}

const ULIMITS: Readonly<Record<string, string>> = {
  LimitAS: "as",
  LimitCORE: "core",
  LimitCPU: "cpu",
  LimitDATA: "data",
  LimitFSIZE: "fsize",
  LimitMEMLOCK: "memlock",
  LimitNOFILE: "nofile",
  LimitNPROC: "nproc",
  LimitSTACK: "stack",
};

export function serviceLimits({ draft, one }: SystemdUnit): void {
  draft.set("user", account(one("User"))).set("group", account(one("Group")));
  const umask = one("UMask");
  if (umask !== undefined) draft.set("umask", umask.padStart(3, "0"));
  draft.set("nice", numberIn(one("Nice"))).set("oomScoreAdjust", numberIn(one("OOMScoreAdjust")));
  const ioClass = one("IOSchedulingClass");
  const level = numberIn(one("IOSchedulingPriority"));
  if (ioClass !== undefined || level !== undefined)
    draft.set("ioNice", { class: ioClass ?? "best-effort", ...(level !== undefined && { level }) });
  ulimitsOf({ draft, one });
  const max = one("MemoryMax") ?? one("MemoryLimit");
  const high = one("MemoryHigh");
  if (max !== undefined && max !== "infinity") draft.set("memoryMax", sizeOfUnit(max));
  if (high !== undefined && high !== "infinity")
    draft.note("MemoryHigh", '"memoryLimit" restarts a process that needs more');
  const quota = one("CPUQuota");
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(quota ?? "")?.[1];
  draft.set("cpuQuota", percent === undefined ? quota : Math.max(1, Math.round(Number(percent))));
}

function ulimitsOf({ draft, one }: Pick<SystemdUnit, "draft" | "one">): void {
  for (const [directive, name] of Object.entries(ULIMITS)) {
    const [given, hard] = one(directive)?.split(":") ?? [];
    if (given !== undefined) draft.merge("ulimits", { [name]: limitOf(given) });
    if (hard !== undefined && hard !== given)
      draft.note(directive, `the hard limit is ${hard}: procman sets both to one value, here the soft one`);
  }
}

/** Standard input and outputs. procman writes the pid file itself. */
export function serviceOutput({ draft, configuration, one }: SystemdUnit): void {
  const fileIn = (directive: string): string | undefined => {
    const given = one(directive);
    const [, path] = /^(?:append|file|truncate):(.+)$/.exec(given ?? "") ?? [];
    if (given === "tty" || given?.startsWith("socket") === true || given?.startsWith("fd") === true)
      draft.note(directive, `${given}: procman reads the output itself`);
    return path === undefined ? undefined : configuration.path("/", path);
  };
  const input = one("StandardInput") ?? "null";
  const [, file] = /^file:(.+)$/.exec(input) ?? [];
  if (file !== undefined) draft.set("stdin", { file: configuration.path("/", file) });
  else if (input !== "null")
    draft.note("StandardInput", `${input}: "stdin" is a file, or stays open for "procman send": docs/guide/input.md`);
  draft.merge("logger", { stdout: fileIn("StandardOutput"), stderr: fileIn("StandardError") });
  const pidFile = one("PIDFile");
  if (pidFile !== undefined) draft.set("pidFile", configuration.path("/run", pidFile));
}

function account(name: string | undefined): string | number | undefined {
  return name !== undefined && /^\d+$/.test(name) ? Number(name) : name;
}

/** What is none stays a text, which the check of the configuration refuses with a note. */
function numberIn(text: string | undefined): number | string | undefined {
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}

/** Units of systemd are powers of 1024. */
function sizeOfUnit(text: string): string | number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([KMGT]?)$/.exec(text) ?? [];
  if (number === "") return text;
  return unit === "" ? Number(number) : `${number}${unit}iB`;
}

function limitOf(text: string): string | number {
  return text === "infinity" ? "unlimited" : sizeOfUnit(text);
}

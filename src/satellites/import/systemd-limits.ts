/** Environment, identity, limits and output of a service of systemd. */
import { envValue } from "./foreign-text.ts";
import type { SystemdUnit } from "./service-unit.ts";
import { unitWords } from "./unit-file.ts";

export function serviceEnvironment({ draft, configuration, all, one }: SystemdUnit): void {
  const pairs = all("Environment")
    .flatMap(unitWords)
    .flatMap((word) => {
      const at = word.indexOf("=");
      if (at < 1) draft.note("Environment", `${JSON.stringify(word)} is not NAME=value`);
      return at < 1 ? [] : [[word.slice(0, at), envValue([word.slice(at + 1)])] as const];
    });
  if (pairs.length > 0) draft.set("env", Object.fromEntries(pairs));
  const files = all("EnvironmentFile").map((file) => {
    const path = configuration.path("/", file.replace(/^-/, ""));
    return file.startsWith("-") ? { path, optional: true } : path;
  });
  if (files.length > 0) draft.set("envFile", files.length === 1 ? files[0] : files);
  const passed = (one("PassEnvironment") ?? "").split(/\s+/).filter(Boolean);
  if (passed.length > 0) draft.set("inheritEnv", passed);
  if (all("UnsetEnvironment").length > 0)
    draft.note("UnsetEnvironment", '"inheritEnv" names what is inherited: docs/guide/environment.md');
  if (all("LoadCredential").length > 0)
    draft.note(
      "LoadCredential",
      '"env": { "NAME": { "file": path } } gives the program the content of a file: docs/guide/environment.md',
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
  if (ioClass !== undefined) draft.set("ioNice", { class: ioClass, ...(level !== undefined && { level }) });
  for (const [directive, name] of Object.entries(ULIMITS)) {
    const given = one(directive)?.split(":")[0];
    if (given !== undefined) draft.merge("ulimits", { [name]: limitOf(given) });
  }
  const max = one("MemoryMax") ?? one("MemoryLimit");
  const high = one("MemoryHigh");
  if (max !== undefined && max !== "infinity") draft.set("memoryMax", sizeOfUnit(max));
  if (high !== undefined && high !== "infinity")
    draft.note("MemoryHigh", '"memoryLimit" restarts a process that needs more');
  const quota = /^(\d+)%$/.exec(one("CPUQuota") ?? "")?.[1];
  if (quota !== undefined) draft.set("cpuQuota", Number(quota));
}

/** procman writes the pid file itself. */
export function serviceOutput({ draft, configuration, one }: SystemdUnit): void {
  const fileIn = (directive: string): string | undefined => {
    const given = one(directive);
    const [, path] = /^(?:append|file|truncate):(.+)$/.exec(given ?? "") ?? [];
    if (given === "tty" || given?.startsWith("socket") === true || given?.startsWith("fd") === true)
      draft.note(directive, `${given}: procman reads the output itself`);
    return path === undefined ? undefined : configuration.path("/", path);
  };
  draft.merge("logger", { stdout: fileIn("StandardOutput"), stderr: fileIn("StandardError") });
  const pidFile = one("PIDFile");
  if (pidFile !== undefined) draft.set("pidFile", configuration.path("/run", pidFile));
}

function account(name: string | undefined): string | number | undefined {
  return name !== undefined && /^\d+$/.test(name) ? Number(name) : name;
}

function numberIn(text: string | undefined): number | undefined {
  const number = Number(text);
  return text === undefined || Number.isNaN(number) ? undefined : number;
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

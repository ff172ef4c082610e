/** What services of compose and of a swarm have in common. */
import { accountOf, imageCommand, imagePath, imagePaths } from "../container.ts";
import type { NoteRule } from "../note-rules.ts";
import { isProbe, probeWords } from "../probe-command.ts";
import type { ScriptSteps } from "../start-script.ts";
import { type Project, present, seconds, type Variable, type Workload } from "../workload.ts";

export type ComposeTree = Readonly<Record<string, unknown>>;

/** A `$` begins a variable of compose. */
export function withoutReferences(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("$", "$$$$");
  if (Array.isArray(value)) return value.map(withoutReferences);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withoutReferences(member)]));
}

/** Name of the secret with the content of a file. */
export function secretName({ process }: Workload, { name }: { readonly name: string }): string {
  return `${process}_${name}`.toLowerCase().replace(/[^a-z0-9_-]/g, "_");
}

/** Members for both engines. */
export function composeService(workload: Workload, project: Project): ComposeTree {
  const { spec } = workload;
  const { stopSignal, graceMs, terminateMs } = spec.policy;
  const secrets = workload.variables.flatMap((variable) =>
    variable.kind === "file" ? secretName(workload, variable) : [],
  );
  const steps: ScriptSteps = {
    variables: workload.variables.filter((variable) => isSetByShell(variable, workload)),
    secretPath: (variable) => `/run/secrets/${secretName(workload, variable)}`,
    timeout: true,
  };
  return {
    init: true,
    ...(withoutReferences(
      present({
        command: imageCommand(workload, project, steps),
        working_dir: imagePath(spec.cwd, project),
        user: accountOf(workload)?.replace(/^:/, "0:"),
        stop_signal: stopSignal,
        stop_grace_period: `${seconds(graceMs + terminateMs)}s`,
        healthcheck: healthcheck(workload),
        secrets: secrets.length === 0 ? undefined : secrets,
      }),
    ) as ComposeTree),
    ...present({ environment: environment(workload, project), logging: logging(spec.log) }),
  };
}

/** With env files, only the shell sees the variables that a reference may mean. */
function isSetByShell(variable: Variable, { spec }: Workload): boolean {
  return variable.kind === "file" || (variable.kind === "composed" && spec.envFile !== undefined);
}

/** References are those of compose, too: it fills them in from the environment in which it is started. */
function environment(workload: Workload, project: Project): ComposeTree | undefined {
  const path = imagePaths(workload, project);
  const entries = workload.variables
    .filter((variable) => !isSetByShell(variable, workload))
    .map((variable): [string, unknown] => [variable.name, entryOf(variable)]);
  const all = [...(path === undefined ? [] : [["PATH", path] as const]), ...entries];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

function entryOf(variable: Variable): unknown {
  if (variable.kind === "text") return withoutReferences(variable.value);
  if (variable.kind === "composed") return variable.text.replace(/\$\$\{|\$\{[^}]*\}|\$/g, composeReference);
  return variable.kind === "given" ? `\${${variable.from}:?}` : "";
}

function composeReference(written: string): string {
  if (written === "$${") return "$${";
  if (written === "$") return "$$";
  return /^\$\{\w+\}$/.test(written) ? `${written.slice(0, -1)}?}` : written;
}

/** One check: that of `health`, else that by which a run becomes ready. */
function healthcheck({ spec: { health, ready, policy } }: Workload): ComposeTree | undefined {
  const startMs = Math.max(health?.startMs ?? 0, ready === undefined ? 0 : (policy.readyMs ?? 0));
  if (health !== undefined) {
    const { probe, intervalMs, timeoutMs, failures } = health;
    return check(probeWords(probe), { intervalMs, timeoutMs, failures, startMs });
  }
  if (!isProbe(ready)) return undefined;
  return check(probeWords(ready), { intervalMs: 2_000, timeoutMs: 5_000, failures: 3, startMs });
}

type Times = {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly failures: number;
  readonly startMs: number;
};

function check(words: readonly string[], { intervalMs, timeoutMs, failures, startMs }: Times): ComposeTree {
  return {
    test: ["CMD", ...words],
    interval: `${seconds(intervalMs)}s`,
    timeout: `${seconds(timeoutMs)}s`,
    retries: failures,
    ...(startMs === 0 ? {} : { start_period: `${seconds(startMs)}s` }),
  };
}

/** Docker's own files, rotated as those of procman. */
function logging({ rotation }: Workload["spec"]["log"]): ComposeTree | undefined {
  if (rotation === undefined) return undefined;
  const { sizeBytes, totalBytes } = rotation;
  const files = Math.max(2, Math.floor(totalBytes / sizeBytes) + 1);
  return {
    driver: "json-file",
    options: { "max-size": `${Math.max(1, Math.floor(sizeBytes / 1_024))}k`, "max-file": String(files) },
  };
}

/** `memoryMax`, else `memoryLimit`, in bytes; and cores. */
export function resourcesOf({ memoryMax, memoryLimit, cpuQuota }: Workload["spec"]): {
  readonly memory?: string;
  readonly cpus?: string;
} {
  const bytes = memoryMax ?? memoryLimit;
  return {
    ...(bytes === undefined ? {} : { memory: `${Math.ceil(bytes / 1_024)}k` }),
    ...(cpuQuota === undefined ? {} : { cpus: String(cpuQuota / 100) }),
  };
}

/** Docker knows no limit of the address space. */
export function dockerUlimits({ ulimits }: Workload["spec"]): ComposeTree | undefined {
  const { as: _, ...known } = ulimits ?? {};
  return Object.keys(known).length === 0 ? undefined : known;
}

export const ULIMIT_RULE: NoteRule = [
  "ulimits.as",
  ({ spec }) => spec.ulimits?.as !== undefined,
  "Docker has no such limit; memoryMax limits memory",
];

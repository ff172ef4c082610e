/** The task of a job in Nomad: the program as it runs on this machine. */
import { commandOf } from "../start-script.ts";
import { present, type Workload } from "../workload.ts";
import { givenNames } from "../workloads.ts";
import { type NomadTree, portValue } from "./nomad-network.ts";

const NANOSECONDS = 1_000_000;
const MEGABYTE = 1_024 * 1_024;
/** What Nomad reserves for a task, unless it is told. Megabytes. */
const RESERVED_MB = 300;

export function taskOf(workload: Workload): NomadTree {
  const { spec, kind } = workload;
  const { stopSignal, graceMs, terminateMs } = spec.policy;
  // What the shell sets: with the variables of the job's secret, which it sees.
  const byShell = workload.variables.filter(
    (variable) => variable.kind === "composed" || (variable.kind === "given" && variable.from !== variable.name),
  );
  const [command = "", ...args] = commandOf(workload, {
    variables: byShell,
    beforeStart: true,
    limits: true,
    umask: true,
    nice: true,
    timeout: kind !== "manual",
  });
  return present({
    Name: workload.id,
    Driver: "raw_exec",
    User: spec.user?.name,
    Config: { command, args, work_dir: spec.cwd },
    Env: environment(workload),
    Templates: template(workload),
    KillTimeout: terminateMs * NANOSECONDS,
    KillSignal: stopSignal,
    ShutdownDelay: graceMs === 0 ? undefined : graceMs * NANOSECONDS,
    Resources: resources(spec),
    LogConfig: logging(spec.log),
  });
}

function environment(workload: Workload): NomadTree | undefined {
  const { path, pathFirst = [] } = workload.spec;
  const folders =
    path.length + pathFirst.length === 0
      ? undefined
      : [...pathFirst, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...path].join(":");
  const texts = workload.variables.flatMap((variable) =>
    variable.kind === "text" ? [[variable.name, portValue(workload, variable.name, variable.value)] as const] : [],
  );
  const all = [...(folders === undefined ? [] : [["PATH", folders] as const]), ...texts];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

/** All items of the job's variable become variables of the program. */
function template(workload: Workload): readonly NomadTree[] | undefined {
  const files = workload.variables.filter(({ kind }) => kind === "file");
  if (files.length === 0 && givenNames(workload).size === 0 && workload.spec.envFile === undefined) return undefined;
  return [
    {
      EmbeddedTmpl:
        '{{ with nomadVar (print "nomad/jobs/" (env "NOMAD_JOB_NAME")) }}{{ range .Tuples }}{{ .K }}={{ .V | toJSON }}\n{{ end }}{{ end }}',
      DestPath: "secrets/variables.env",
      Envvars: true,
    },
  ];
}

function resources({ memoryMax, memoryLimit }: Workload["spec"]): NomadTree | undefined {
  const bytes = memoryMax ?? memoryLimit;
  if (bytes === undefined) return undefined;
  const most = Math.max(10, Math.ceil(bytes / MEGABYTE));
  return { MemoryMB: Math.min(RESERVED_MB, most), MemoryMaxMB: most };
}

function logging({ rotation }: Workload["spec"]["log"]): NomadTree | undefined {
  if (rotation === undefined) return undefined;
  const size = Math.max(1, Math.floor(rotation.sizeBytes / MEGABYTE));
  return { MaxFiles: Math.max(1, Math.floor(rotation.totalBytes / rotation.sizeBytes) + 1), MaxFileSizeMB: size };
}

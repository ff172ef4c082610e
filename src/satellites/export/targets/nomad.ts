/** Jobs for Nomad, in its JSON; the programs run as they are, by the driver raw_exec. */
import { cronFields, longFields } from "../cron-pattern.ts";
import {
  commonRules,
  givenRule,
  hasOwnSuccess,
  isManual,
  isMissed,
  isRestarted,
  isScheduled,
  isService,
  type NoteRule,
  notesFrom,
} from "../note-rules.ts";
import { type Exported, headLines, type Note, type Project, present, seconds, type Workload } from "../workload.ts";
import { checkOf, type NomadTree, networkOf, serviceOf } from "./nomad-network.ts";
import { taskOf } from "./nomad-task.ts";

const NANOSECONDS = 1_000_000;
/** Longest `kill_timeout` that a client of Nomad allows, unless it is configured otherwise. */
const MAX_KILL_TIMEOUT_MS = 30_000;
const NO_SCRIPTS = "Nomad's own services know checks by tcp and http only; script checks need Consul";
/** Restarts in a burst, which are slowed down but never end, as with procman. */
const BURST = 10;
const SHORTEST_INTERVAL_MS = 30_000;

export function exportNomad(workloads: readonly Workload[], project: Project): Exported {
  const notes = workloads.map((workload) => notesOf(workload, project));
  const files = workloads.map((workload, index) => ({
    name: `${nomadName(project, workload.id)}.nomad.json`,
    text: `${JSON.stringify({ Job: jobOf(workload, project, notes[index] ?? []) }, undefined, 2)}\n`,
  }));
  const common = {
    text: 'clients need plugin "raw_exec" { config { enabled = true } }, the programs, and the folders that the jobs name',
  };
  return { files, notes: [common, ...notes.flat()] };
}

function nomadName({ name }: Project, id: string): string {
  return `${name}-${id}`;
}

/** JSON has no comments: the notes are metadata of the job. */
function metaOf(project: Project, notes: readonly Note[]): NomadTree {
  return Object.fromEntries(
    headLines(project, notes).map((line, index) => [`procman-${String(index).padStart(2, "0")}`, line]),
  );
}

function jobOf(workload: Workload, project: Project, notes: readonly Note[]): NomadTree {
  const { kind, spec, id } = workload;
  const name = nomadName(project, id);
  return present({
    ID: name,
    Name: name,
    Type: kind === "service" ? "service" : "batch",
    Datacenters: ["*"],
    Meta: metaOf(project, notes),
    Periodic: kind === "scheduled" ? periodicOf(spec) : undefined,
    ParameterizedJob: kind === "manual" ? { Payload: "forbidden" } : undefined,
    Update: kind === "service" ? updateOf(workload) : undefined,
    TaskGroups: [groupOf(workload, name)],
  });
}

function periodicOf({ cron = "", timeZone, overrun }: Workload["spec"]): NomadTree {
  const fields = cronFields(cron);
  return present({
    Enabled: true,
    SpecType: "cron",
    Spec: fields === undefined ? cron : longFields(fields),
    ProhibitOverlap: !overrun,
    TimeZone: timeZone,
  });
}

/** One instance after another; back if a new one isn't healthy in time. */
function updateOf(workload: Workload): NomadTree {
  const { minUptimeMs = 1_000, readyMs = 0 } = workload.spec.policy;
  const healthyMs = Math.max(60_000, readyMs * 2);
  return {
    MaxParallel: 1,
    MinHealthyTime: minUptimeMs * NANOSECONDS,
    HealthyDeadline: healthyMs * NANOSECONDS,
    ProgressDeadline: healthyMs * 2 * NANOSECONDS,
    HealthCheck: checkOf(workload) === undefined ? "task_states" : "checks",
    AutoRevert: true,
  };
}

function groupOf(workload: Workload, name: string): NomadTree {
  const service = serviceOf(workload, name);
  return present({
    Name: workload.process,
    Count: workload.replicas,
    RestartPolicy: restartOf(workload),
    Networks: networkOf(workload),
    Services: service === undefined ? undefined : [service],
    Tasks: [taskOf(workload)],
  });
}

/** Nomad counts restarts in an interval, procman those in a row: so the interval has room for all of them. */
function restartOf({ spec: { policy } }: Workload): NomadTree {
  const { restart, restartDelayMs = 1_000, restartLimit, restartResetMs } = policy;
  const isLimited = restart === "never" || Number.isFinite(restartLimit);
  const attempts = restart === "never" ? 0 : isLimited ? restartLimit : BURST;
  const needed = (attempts + 1) * (isLimited ? restartDelayMs + restartResetMs : restartDelayMs);
  return {
    Attempts: attempts,
    Delay: restartDelayMs * NANOSECONDS,
    Interval: Math.max(SHORTEST_INTERVAL_MS, needed) * NANOSECONDS,
    Mode: isLimited ? "fail" : "delay",
  };
}

function rulesFor(project: Project): readonly NoteRule[] {
  const nameOf = ({ id }: Workload): string => nomadName(project, id);
  const variable = (workload: Workload): string => `nomad var put nomad/jobs/${nameOf(workload)}`;
  return [
    ...RULES,
    givenRule((names, workload) => `${variable(workload)} ${names.map((each) => `${each}=…`).join(" ")}`),
    [
      "envFile",
      ({ spec }) => spec.envFile !== undefined,
      (workload) => `put its lines into the variable: ${variable(workload)} NAME=value …`,
    ],
    ["autostart", isManual, (workload) => `nomad job dispatch ${nameOf(workload)} starts it`],
    [
      "cluster.commonPort",
      ({ spec }) => spec.front !== undefined,
      (workload) =>
        `nothing listens on it: a load balancer reads the addresses of the service ${nameOf(workload)}, as nomad service info shows them`,
    ],
  ];
}

const RULES: readonly NoteRule[] = [
  [
    "cluster.mode",
    ({ spec }) => spec.share !== undefined,
    'Nomad shares no listening socket; use "balance" with a startPort, or leave the process with procman',
    "blocks",
  ],
  ...commonRules("Nomad"),
  [
    "cron",
    (workload) => isScheduled(workload) && cronFields(workload.spec.cron ?? "") === undefined,
    ({ spec }) => `is passed on as it is: ${spec.cron}; nomad job validate says whether Nomad understands it`,
  ],
  ["group", ({ spec }) => spec.group !== undefined, "Nomad gives a program the groups of its user"],
  ["catchUp", isMissed, "missed starts are skipped"],
  [
    "restart",
    (workload) => isService(workload) && workload.spec.policy.restart === "error",
    "Nomad restarts a service after every end, even a success",
  ],
  [
    "restart",
    (workload) => !isService(workload) && workload.spec.policy.restart === "always",
    "Nomad restarts a batch job after a failure only",
  ],
  [
    "restartDelayMs",
    (workload) => isRestarted(workload) && workload.spec.policy.restartDelayMs === undefined,
    "is 1 s: Nomad's delay doesn't grow",
  ],
  ["successExitCodes", hasOwnSuccess, "only 0 is success for Nomad"],
  [
    "terminateTimeout",
    ({ spec }) => spec.policy.terminateMs > MAX_KILL_TIMEOUT_MS,
    ({ spec }) => `clients need max_kill_timeout = "${seconds(spec.policy.terminateMs)}s"`,
  ],
  ["killMode", ({ spec }) => spec.policy.killMode === "leader", "Nomad signals all processes of the task"],
  [
    "hooks.afterStop",
    ({ spec }) => spec.policy.afterStop !== undefined,
    "Nomad has poststop tasks, which run once at the end of an allocation; add one if that is enough",
  ],
  ["ready", ({ spec: { ready } }) => ready !== undefined && ready.kind !== "port" && ready.kind !== "http", NO_SCRIPTS],
  ["health", ({ spec }) => spec.health?.probe.kind === "exec", NO_SCRIPTS],
  [
    "memoryMax",
    ({ spec }) => (spec.memoryMax ?? spec.memoryLimit) !== undefined,
    "raw_exec doesn't enforce memory on all clients; the driver exec does",
  ],
  [
    "cpuQuota",
    ({ spec }) => spec.cpuQuota !== undefined,
    "Nomad counts MHz: it is not carried over; set Resources.CPU",
  ],
  [
    "dependsOn",
    ({ spec }) => spec.dependsOn !== undefined,
    "jobs of Nomad don't wait for each other: a program must wait, or fail and be restarted",
  ],
  ["ioNice", ({ spec }) => spec.ioNice !== undefined, "Nomad has no equivalent"],
  [
    "oomScoreAdjust",
    ({ spec }) => spec.oomScoreAdjust !== undefined,
    "raw_exec has oom_score_adj in Nomad 1.9 and later: add it to the Config of the task",
  ],
];

function notesOf(workload: Workload, project: Project): readonly Note[] {
  const name = nomadName(project, workload.id);
  const secrets = workload.variables.flatMap((variable): readonly Note[] => {
    if (variable.kind !== "file") return [];
    return [
      {
        process: workload.id,
        field: `env.${variable.name}`,
        text: `nomad var put nomad/jobs/${name} ${variable.name}="$(cat ${variable.path})"`,
      },
    ];
  });
  return [...notesFrom(rulesFor(project), workload), ...secrets];
}

/** A file of Docker Compose, for one host; clusters with a common port get an HAProxy in front. */
import { isAbsolute, relative } from "node:path";
import { addressText } from "../../../core/base/address-text.ts";
import { type Hosts, hostsOf, inNetwork } from "../container.ts";
import { imageOf } from "../image.ts";
import {
  containerRules,
  GRACE,
  givenRule,
  hasOwnSuccess,
  isManual,
  isMissed,
  isScheduled,
  type NoteRule,
  notesFrom,
  overlaps,
  TIME_ZONE,
} from "../note-rules.ts";
import { isProbe } from "../probe-command.ts";
import { type Exported, type Note, type Project, present, type Workload } from "../workload.ts";
import { yamlText } from "../yaml-file.ts";
import {
  type ComposeTree,
  composeService,
  dockerUlimits,
  resourcesOf,
  secretName,
  ULIMIT_RULE,
  withoutReferences,
} from "./compose-target-service.ts";
import { balancerConfig, commonPortsOf } from "./haproxy.ts";

const BALANCER = "balancer";
const CONFIG = "haproxy.cfg";
/** Profile of services that don't start with the others. */
const BY_HAND = "manual";
const CONDITIONS = {
  ready: "service_healthy",
  reachable: "service_healthy",
  started: "service_started",
  finished: "service_completed_successfully",
  completed: "service_completed_successfully",
};

export function exportCompose(all: readonly Workload[], project: Project): Exported {
  const image = imageOf(all, project);
  const hosts = composeHosts(all);
  const networked = all.map((workload) => inNetwork(workload, hosts));
  const workloads = networked.map(({ workload }) => workload);
  const balancer = balancerConfig(commonPortsOf(workloads), project, { isInNetwork: true });
  const notes = [
    ...image.notes,
    ...workloads.flatMap((workload) => notesFrom(RULES, workload)),
    ...networked.flatMap((each) => each.notes),
    ...(balancer?.notes ?? []),
    ...clashes(workloads, balancer !== undefined),
  ];
  const context = { project, image: image.name, all: workloads };
  const tree = present({
    name: project.name.replace(/[^a-z0-9_-]/g, "-").replace(/^[_-]+/, "") || "app",
    services: Object.fromEntries([
      ...workloads.map((workload) => [workload.id, serviceOf(workload, context)]),
      ...(balancer === undefined ? [] : [[BALANCER, balancerService(workloads)]]),
    ]),
    secrets: secretsOf(workloads),
  });
  return {
    files: [
      { name: "compose.yaml", text: yamlText([tree], project, notes) },
      ...(balancer === undefined ? [] : [{ name: CONFIG, text: balancer.text }]),
      ...image.files,
    ],
    notes,
  };
}

function clashes(workloads: readonly Workload[], hasBalancer: boolean): readonly Note[] {
  const text = `is the name of the load balancer in this file; give the process another id`;
  return hasBalancer && workloads.some(({ id }) => id === BALANCER)
    ? [{ process: BALANCER, field: "id", text, blocks: true }]
    : [];
}

/** Services are reached by their names, common ports at the balancer. */
function composeHosts(workloads: readonly Workload[]): Hosts {
  const hosts = hostsOf(workloads, ({ id }) => id);
  for (const { spec } of workloads)
    if (spec.front !== undefined) hosts.set(spec.front.port, { host: BALANCER, port: spec.front.port });
  return hosts;
}

type Context = { readonly project: Project; readonly image: string; readonly all: readonly Workload[] };

function serviceOf(workload: Workload, { project, image, all }: Context): ComposeTree {
  const { spec, kind, replicas } = workload;
  const { restart, restartLimit } = spec.policy;
  const { memory, cpus } = resourcesOf(spec);
  const onFailure = Number.isFinite(restartLimit) ? `on-failure:${restartLimit}` : "on-failure";
  const policy = { always: "always", error: onFailure, never: "no" }[restart];
  const hasOwnPorts = kind === "service" && spec.cluster === undefined && workload.ports.length > 0;
  const isStarted = kind === "service" || kind === "task";
  return present({
    image,
    build: project.image === undefined ? buildOf(project) : undefined,
    profiles: isStarted ? undefined : [BY_HAND],
    ...composeService(workload, project),
    env_file: envFiles(workload, project),
    depends_on: dependencies(workload, all),
    // Only one container can have a port of the host.
    ports: hasOwnPorts ? workload.ports.map((port) => `127.0.0.1:${port}:${port}`) : undefined,
    restart: isStarted ? policy : undefined,
    deploy: replicas > 1 ? { replicas } : undefined,
    mem_limit: memory,
    cpus: cpus === undefined ? undefined : Number(cpus),
    ulimits: dockerUlimits(spec),
    oom_score_adj: spec.oomScoreAdjust,
  });
}

function buildOf({ folder, output = folder }: Project): ComposeTree {
  const dockerfile = relative(folder, `${output}/Dockerfile`);
  return {
    context: fromOutput(folder, output),
    dockerfile: dockerfile.startsWith("..") ? `${output}/Dockerfile` : dockerfile,
  };
}

function fromOutput(path: string, output: string): string {
  const inside = relative(output, path);
  return inside === "" ? "." : isAbsolute(inside) ? inside : inside.startsWith(".") ? inside : `./${inside}`;
}

function envFiles(
  { spec: { envFile } }: Workload,
  { folder, output = folder }: Project,
): readonly unknown[] | undefined {
  return envFile?.map((entry) =>
    typeof entry === "string"
      ? fromOutput(entry, output)
      : { path: fromOutput(entry.path, output), required: entry.optional !== true },
  );
}

function dependencies({ spec: { dependsOn = [] } }: Workload, all: readonly Workload[]): ComposeTree | undefined {
  const entries = dependsOn.flatMap(({ id, condition, restart }) =>
    all
      .filter(({ process }) => process === id)
      .map((other) => {
        const hasCheck = other.spec.health !== undefined || isProbe(other.spec.ready);
        const waitsForCheck = condition === "ready" || condition === "reachable";
        const named = waitsForCheck && !hasCheck ? "service_started" : CONDITIONS[condition];
        return [other.id, { condition: named, ...(restart ? { restart: true } : {}) }] as const;
      }),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function balancerService(workloads: readonly Workload[]): ComposeTree {
  const fronts = new Map(
    workloads.flatMap(({ spec: { front } }) => (front === undefined ? [] : [[front.port, front] as const])),
  );
  return {
    image: "haproxy:lts",
    restart: "always",
    volumes: [`./${CONFIG}:/usr/local/etc/haproxy/haproxy.cfg:ro`],
    ports: [...fronts.values()].map(({ hostname, port }) => {
      const address = hostname === "localhost" ? "127.0.0.1" : hostname;
      return `${addressText({ hostname: address, port })}:${port}`;
    }),
    depends_on: [
      ...new Set(
        workloads.flatMap(({ id, kind, spec }) => (spec.front === undefined || kind !== "service" ? [] : [id])),
      ),
    ],
  };
}

function secretsOf(workloads: readonly Workload[]): ComposeTree | undefined {
  const entries = workloads.flatMap((workload) =>
    workload.variables.flatMap((variable) =>
      variable.kind === "file"
        ? [[secretName(workload, variable), { file: withoutReferences(variable.path) }] as const]
        : [],
    ),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

const RULES: readonly NoteRule[] = [
  ...containerRules("compose"),
  GRACE,
  ULIMIT_RULE,
  givenRule(
    (names) => `set ${names.join(", ")} in the environment of docker compose, or in an .env beside compose.yaml`,
  ),
  [
    "cron",
    isScheduled,
    ({ id, spec }) =>
      `compose has no schedules; for the host's crontab: ${spec.cron} docker compose --project-directory FOLDER run --rm ${id}`,
  ],
  TIME_ZONE,
  ["catchUp", isMissed, "missed starts are skipped"],
  ["overrun", overlaps, "the line of the crontab always starts another one"],
  ["autostart", isManual, ({ id }) => `it starts by docker compose run --rm ${id}`],
  ["successExitCodes", hasOwnSuccess, "only 0 is success for compose"],
  [
    "restartDelayMs",
    ({ spec }) => spec.policy.restartDelayMs !== undefined,
    "Docker's delay grows from 100 ms to 1 min",
  ],
  ["health", ({ spec }) => spec.health !== undefined, "compose shows an unhealthy container, and doesn't restart it"],
  [
    "dependsOn",
    ({ spec }) => spec.dependsOn?.some(({ condition }) => condition === "completed") === true,
    "compose waits for success, where procman waits for any end",
  ],
];

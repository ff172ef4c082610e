/** A stack file for Docker Swarm. */
import { isAbsolute, relative } from "node:path";
import { type Hosts, hostsOf, inNetwork } from "../container.ts";
import { imageOf } from "../image.ts";
import {
  containerRules,
  frontRules,
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
import { type Exported, type Note, type Project, present, seconds, type Workload } from "../workload.ts";
import { yamlText } from "../yaml-file.ts";
import {
  type ComposeTree,
  composeService,
  dockerUlimits,
  resourcesOf,
  secretName,
  ULIMIT_RULE,
} from "./compose-target-service.ts";

export function exportSwarm(all: readonly Workload[], project: Project): Exported {
  const image = imageOf(all, project);
  const hosts = swarmHosts(all);
  const networked = all.map((workload) => inNetwork(workload, hosts));
  const workloads = networked.map(({ workload }) => workload);
  const secrets = workloads.flatMap((workload) =>
    workload.variables.flatMap((variable) => (variable.kind === "file" ? secretName(workload, variable) : [])),
  );
  const notes = [
    ...(project.image === undefined
      ? [
          {
            text: `each node must be able to pull ${image.name}: push it to a registry, and export with --image REGISTRY/NAME:TAG`,
          },
        ]
      : []),
    ...image.notes,
    ...workloads.flatMap((workload) => [...notesFrom(RULES, workload), ...secretNotes(workload)]),
    ...networked.flatMap((each) => each.notes),
  ];
  const tree = present({
    version: "3.8",
    services: Object.fromEntries(workloads.map((workload) => [workload.id, serviceOf(workload, project, image.name)])),
    secrets: secrets.length === 0 ? undefined : Object.fromEntries(secrets.map((name) => [name, { external: true }])),
  });
  return { files: [{ name: "stack.yaml", text: yamlText([tree], project, notes) }, ...image.files], notes };
}

/** Services are reached by their names, which stand for all replicas. */
function swarmHosts(workloads: readonly Workload[]): Hosts {
  const hosts = hostsOf(workloads, ({ id }) => id);
  for (const { id, spec } of workloads)
    if (spec.front !== undefined && spec.cluster?.port !== undefined)
      hosts.set(spec.front.port, { host: id, port: spec.cluster.port });
  return hosts;
}

function serviceOf(workload: Workload, project: Project, image: string): ComposeTree {
  const { spec } = workload;
  return present({
    image,
    ...composeService(workload, project),
    env_file: spec.envFile?.map((entry) => fromOutput(typeof entry === "string" ? entry : entry.path, project)),
    ports:
      spec.front === undefined
        ? undefined
        : [{ target: spec.cluster?.port, published: spec.front.port, protocol: "tcp", mode: "ingress" }],
    ulimits: dockerUlimits(spec),
    deploy: deployOf(workload),
  });
}

function fromOutput(path: string, { folder, output = folder }: Project): string {
  const inside = relative(output, path);
  return isAbsolute(inside) ? inside : `./${inside}`.replace(/^\.\/\.\.\//, "../");
}

function deployOf({ kind, replicas, spec }: Workload): ComposeTree {
  const { restart, restartDelayMs, restartLimit, restartResetMs, minUptimeMs = 1_000 } = spec.policy;
  const condition = { always: "any", error: "on-failure", never: "none" }[restart];
  const limits = resourcesOf(spec);
  const isRolling = spec.cluster !== undefined;
  const monitor = `${seconds(Math.max(5_000, minUptimeMs))}s`;
  return present({
    replicas: kind === "service" || kind === "task" ? replicas : 0,
    restart_policy: present({
      condition,
      delay: `${seconds(restartDelayMs ?? 1_000)}s`,
      max_attempts: Number.isFinite(restartLimit) ? restartLimit : undefined,
      window: Number.isFinite(restartLimit) ? `${seconds(restartResetMs)}s` : undefined,
    }),
    update_config: {
      parallelism: 1,
      order: isRolling ? "start-first" : "stop-first",
      failure_action: "rollback",
      monitor,
    },
    rollback_config: { parallelism: 1, order: isRolling ? "start-first" : "stop-first" },
    resources: limits.memory === undefined && limits.cpus === undefined ? undefined : { limits },
  });
}

const INGRESS = "Swarm's ingress network";
const RULES: readonly NoteRule[] = [
  ...containerRules("Swarm"),
  GRACE,
  ULIMIT_RULE,
  ["oomScoreAdjust", ({ spec }) => spec.oomScoreAdjust !== undefined, "Swarm has no equivalent"],
  givenRule((names) => `set ${names.join(", ")} in the environment of docker stack deploy`),
  [
    "cron",
    isScheduled,
    ({ id }) =>
      `Swarm has no schedules: it has 0 replicas; from a crontab: docker service update --force --replicas 1 STACK_${id}`,
  ],
  TIME_ZONE,
  ["catchUp", isMissed, "missed starts are skipped"],
  ["overrun", overlaps, "docker service update ends a run that is still going on"],
  ["autostart", isManual, ({ id }) => `it has 0 replicas: docker service scale STACK_${id}=1 starts it`],
  ["successExitCodes", hasOwnSuccess, "only 0 is success for Swarm"],
  [
    "dependsOn",
    ({ spec }) => spec.dependsOn !== undefined,
    "Swarm starts all at once: a program must wait for others, or fail and be restarted",
  ],
  [
    "envFile",
    ({ spec }) => spec.envFile?.some((entry) => typeof entry !== "string") === true,
    "docker stack deploy wants every env file to exist",
  ],
  [
    "cluster.strategy",
    ({ spec }) => spec.front !== undefined && spec.front.strategy !== "round-robin",
    `${INGRESS} knows round-robin only`,
  ],
  [
    "cluster.hostname",
    ({ spec }) => spec.front !== undefined && /^(?:127\.|localhost$|::1$)/.test(spec.front.hostname),
    "Swarm publishes the port at all addresses of all nodes: mind the firewall",
  ],
  [
    "cluster.idleTimeout",
    ({ spec }) => spec.front !== undefined && spec.front.idleMs > 0,
    `${INGRESS} ends idle connections after 15 min`,
  ],
  ...frontRules(INGRESS),
];

function secretNotes(workload: Workload): readonly Note[] {
  return workload.variables.flatMap((variable) => {
    if (variable.kind !== "file") return [];
    return [
      {
        process: workload.id,
        field: `env.${variable.name}`,
        text: `docker secret create ${secretName(workload, variable)} ${variable.path}`,
      },
    ];
  });
}

/** Manifests for Kubernetes: a Deployment, Job or CronJob for each process, and a Service for what listens on a port. */
import { isAboutEnd } from "../../../core/supervisor/definition.ts";
import { accountOf, type Hosts, hostsOf, inNetwork } from "../container.ts";
import { cronFields, fiveFields } from "../cron-pattern.ts";
import { imageOf } from "../image.ts";
import {
  containerRules,
  frontRules,
  givenRule,
  hasOwnSuccess,
  isLimited,
  isManual,
  isScheduled,
  isService,
  type NoteRule,
  notesFrom,
} from "../note-rules.ts";
import { type Exported, type Note, type Project, present, seconds, type Workload } from "../workload.ts";
import { yamlText } from "../yaml-file.ts";
import { initContainers, type KubernetesNames, mainContainer, unwaited } from "./kubernetes-container.ts";
import { kubernetesName, type Manifest, secretNameOf } from "./kubernetes-names.ts";
import { autoscalerOf, SCALE_RULES } from "./kubernetes-scaler.ts";

/** A start that couldn't take place is made up for within this time. Seconds. */
const STARTING_DEADLINE = 60;

export function exportKubernetes(all: readonly Workload[], project: Project): Exported {
  const image = imageOf(all, project);
  const hosts = kubernetesHosts(all);
  const networked = all.map((workload) => inNetwork(workload, hosts));
  const workloads = networked.map(({ workload }) => workload);
  const names: KubernetesNames = { image: image.name, project, all: workloads, hosts };
  const notes = [
    ...(project.image === undefined
      ? [
          {
            text: `the nodes must be able to pull ${image.name}: push it to a registry, and export with --image REGISTRY/NAME:TAG`,
          },
        ]
      : []),
    ...image.notes,
    ...collisions(workloads),
    ...workloads.flatMap((workload) => [...notesOf(workload, project), ...unwaitedNotes(workload, names)]),
    ...networked.flatMap((each) => each.notes),
  ];
  const manifests = [
    ...workloads.map((workload) => manifestOf(workload, names)),
    ...servicesOf(workloads, project),
    ...workloads.flatMap((workload) => autoscalerOf(workload, labelsOf(workload, project)) ?? []),
  ];
  return { files: [{ name: "kubernetes.yaml", text: yamlText(manifests, project, notes) }, ...image.files], notes };
}

function kubernetesHosts(workloads: readonly Workload[]): Hosts {
  const hosts = hostsOf(workloads, ({ process }) => kubernetesName(process));
  for (const { process, spec } of workloads)
    if (spec.front !== undefined) hosts.set(spec.front.port, { host: kubernetesName(process), port: spec.front.port });
  return hosts;
}

function collisions(workloads: readonly Workload[]): readonly Note[] {
  const names = workloads.map(({ id }) => kubernetesName(id));
  return workloads.flatMap(({ id }, index) => {
    const text = `would be called ${names[index]} in Kubernetes, as another process is; give it another id`;
    return names.indexOf(names[index] as string) === index
      ? []
      : [{ process: id, field: "id", text, blocks: true as const }];
  });
}

function labelsOf({ id, process }: Workload, project: Project): Manifest {
  return {
    "app.kubernetes.io/name": kubernetesName(id),
    "app.kubernetes.io/component": kubernetesName(process),
    "app.kubernetes.io/part-of": kubernetesName(project.name),
  };
}

function manifestOf(workload: Workload, names: KubernetesNames): Manifest {
  const { kind, spec } = workload;
  const metadata = { name: kubernetesName(workload.id), labels: labelsOf(workload, names.project) };
  if (kind === "service")
    return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: deploymentSpec(workload, names) };
  if (kind !== "scheduled")
    return { apiVersion: "batch/v1", kind: "Job", metadata, spec: jobSpec(workload, names, kind === "manual") };
  const fields = cronFields(spec.cron ?? "");
  const cronJob = present({
    schedule: (fields && fiveFields(fields)) ?? "",
    timeZone: spec.timeZone,
    concurrencyPolicy: spec.overrun ? "Allow" : "Forbid",
    startingDeadlineSeconds: spec.catchUp === true ? undefined : STARTING_DEADLINE,
    jobTemplate: { spec: jobSpec(workload, names, false) },
  });
  return { apiVersion: "batch/v1", kind: "CronJob", metadata, spec: cronJob };
}

function deploymentSpec(workload: Workload, names: KubernetesNames): Manifest {
  const { spec, replicas } = workload;
  const labels = labelsOf(workload, names.project);
  const isScaled = autoscalerOf(workload, labels) !== undefined;
  const { minUptimeMs = 1_000 } = spec.policy;
  return present({
    // Each apply would undo what the autoscaler has decided.
    replicas: isScaled ? undefined : replicas,
    selector: { matchLabels: labels },
    // A process without a cluster must not run twice, not even for a moment.
    strategy:
      spec.cluster === undefined
        ? { type: "Recreate" }
        : { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    minReadySeconds: spec.ready === undefined ? Math.ceil(seconds(minUptimeMs)) : undefined,
    template: { metadata: { labels }, spec: podSpec(workload, names, "Always") },
  });
}

function jobSpec(workload: Workload, names: KubernetesNames, isSuspended: boolean): Manifest {
  const { restart, restartLimit, timeoutMs } = workload.spec.policy;
  return present({
    suspend: isSuspended ? true : undefined,
    backoffLimit: restart === "never" ? 0 : Number.isFinite(restartLimit) ? restartLimit : undefined,
    activeDeadlineSeconds: timeoutMs === 0 ? undefined : Math.ceil(seconds(timeoutMs)),
    template: {
      metadata: { labels: labelsOf(workload, names.project) },
      spec: podSpec(workload, names, restart === "never" ? "Never" : "OnFailure"),
    },
  });
}

function podSpec(workload: Workload, names: KubernetesNames, restartPolicy: string): Manifest {
  const { graceMs, terminateMs } = workload.spec.policy;
  const init = initContainers(workload, names);
  return present({
    restartPolicy,
    terminationGracePeriodSeconds: Math.ceil(seconds(graceMs + terminateMs)),
    // An init for all: it waits for orphans, and a program without a handler ends at SIGTERM.
    shareProcessNamespace: true,
    enableServiceLinks: false,
    securityContext: podSecurity(workload),
    initContainers: init.length === 0 ? undefined : init,
    containers: [mainContainer(workload, names)],
  });
}

function podSecurity(workload: Workload): Manifest | undefined {
  const [user = "", group] = accountOf(workload)?.split(":") ?? [];
  const parts = present({
    runAsUser: user === "" ? undefined : Number(user),
    runAsGroup: group === undefined ? undefined : Number(group),
  });
  return Object.keys(parts).length === 0 ? undefined : parts;
}

/** One for each process with ports: the common one of a cluster, and those of its checks. */
function servicesOf(workloads: readonly Workload[], project: Project): readonly Manifest[] {
  const first = new Map(workloads.map((workload) => [workload.process, workload] as const).reverse());
  return [...first].reverse().flatMap(([process, { spec, ports, kind }]) => {
    const { front, cluster } = spec;
    const open = ports
      .filter((port) => port !== cluster?.port || front === undefined)
      .map((port) => ({ name: `port-${port}`, port, targetPort: port }));
    const entries = [
      ...(front === undefined ? [] : [{ name: "common", port: front.port, targetPort: cluster?.port ?? front.port }]),
      ...open,
    ];
    if (entries.length === 0 || kind !== "service") return [];
    return [
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: {
          name: kubernetesName(process),
          labels: { "app.kubernetes.io/part-of": kubernetesName(project.name) },
        },
        spec: present({
          selector: {
            "app.kubernetes.io/component": kubernetesName(process),
            "app.kubernetes.io/part-of": kubernetesName(project.name),
          },
          ports: entries,
          sessionAffinity: front?.strategy === "ip-hash" ? "ClientIP" : undefined,
        }),
      },
    ];
  });
}

function fieldsFor({ spec: { cron = "" } }: Workload): string | undefined {
  const fields = cronFields(cron);
  return fields === undefined ? undefined : fiveFields(fields);
}

const waitsForEnd = ({ spec }: Workload): boolean =>
  spec.dependsOn?.some(({ condition }) => isAboutEnd(condition)) === true;

const RULES: readonly NoteRule[] = [
  ...containerRules("Kubernetes"),
  [
    "cron",
    (workload) => isScheduled(workload) && fieldsFor(workload) === undefined,
    ({ spec }) =>
      `Kubernetes has five fields, without seconds, years, L, # and W, so it can't express ${spec.cron}; change the pattern, or leave the process with procman`,
    "blocks",
  ],
  [
    "ulimits",
    ({ spec }) => spec.ulimits !== undefined,
    "are set by a shell before the program, at most to the limits of the node",
  ],
  ["oomScoreAdjust", ({ spec }) => spec.oomScoreAdjust !== undefined, "Kubernetes has no equivalent"],
  [
    "stopSignal",
    ({ spec }) => spec.policy.stopSignal !== undefined,
    ({ spec }) => `Kubernetes sends SIGTERM; give the image STOPSIGNAL ${spec.policy.stopSignal}`,
  ],
  [
    "restart",
    (workload) => isService(workload) && workload.spec.policy.restart === "error",
    "Kubernetes restarts it after every end, even a success",
  ],
  [
    "restartLimit",
    (workload) => isService(workload) && isLimited(workload),
    "Kubernetes restarts a service without end, with delays up to 5 min",
  ],
  [
    "restartDelayMs",
    ({ spec }) => spec.policy.restartDelayMs !== undefined,
    "Kubernetes' delays grow from 10 s to 5 min",
  ],
  ["successExitCodes", hasOwnSuccess, "only 0 is success for Kubernetes; podFailurePolicy of a Job can ignore others"],
  [
    "autostart",
    isManual,
    ({ id }) => `it is a suspended Job; once: kubectl patch job ${kubernetesName(id)} -p '{"spec":{"suspend":false}}'`,
  ],
  [
    "dependsOn",
    waitsForEnd,
    "Kubernetes doesn't wait for the end of a Job: apply it first, and kubectl wait --for=condition=complete",
  ],
  [
    "dependsOn",
    ({ spec }) => spec.dependsOn?.some(({ restart }) => restart) === true,
    "it isn't restarted with what it depends on",
  ],
  [
    "cluster.strategy",
    ({ spec }) => spec.front?.strategy === "least-connections",
    "a Service has no least-connections",
  ],
  [
    "cluster.commonPort",
    ({ spec }) => spec.front !== undefined,
    "the Service is reached inside the Kubernetes cluster only; an Ingress, or type: LoadBalancer, opens it",
  ],
  ...frontRules("a Service"),
  ...SCALE_RULES,
];

function unwaitedNotes(workload: Workload, names: KubernetesNames): readonly Note[] {
  const ids = unwaited(workload, names);
  if (ids.length === 0) return [];
  return [
    { process: workload.id, field: "dependsOn", text: `nothing waits for ${ids.join(", ")}, whose port isn't known` },
  ];
}

function notesOf(workload: Workload, project: Project): readonly Note[] {
  const files = (workload.spec.envFile ?? []).map((entry, index): Note => {
    const secret = secretNameOf(workload, project, index);
    const path = typeof entry === "string" ? entry : entry.path;
    return {
      process: workload.id,
      field: "envFile",
      text: `kubectl create secret generic ${secret} --from-env-file=${path}`,
    };
  });
  return [...notesFrom(RULES, workload), ...secretNotes(workload, project), ...files];
}

const GIVEN = givenRule((names) => names.map((name) => `--from-literal=${name}="$${name}"`).join(" "));

function secretNotes(workload: Workload, project: Project): readonly Note[] {
  const files = workload.variables.flatMap((variable) =>
    variable.kind === "file" ? [`--from-literal=${variable.name}="$(cat ${variable.path})"`] : [],
  );
  const literals = [...files, ...notesFrom([GIVEN], workload).map(({ text }) => text)];
  if (literals.length === 0) return [];
  const text = `kubectl create secret generic ${secretNameOf(workload, project)} ${literals.join(" ")}`;
  return [{ process: workload.id, field: "env", text }];
}

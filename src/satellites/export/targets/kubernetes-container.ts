/** The containers of a pod. */
import type { Probe } from "../../../core/contract/probe-spec.ts";
import { type Hosts, imageCommand, imagePath, imagePaths } from "../container.ts";
import { isProbe, probeWords } from "../probe-command.ts";
import { type Project, present, seconds, type Variable, type Workload } from "../workload.ts";
import { givenNames } from "../workloads.ts";
import { type Manifest, secretNameOf } from "./kubernetes-names.ts";

export type KubernetesNames = {
  readonly image: string;
  readonly project: Project;
  readonly all: readonly Workload[];
  readonly hosts: Hosts;
};

const CHECK_SECONDS = 2;

export function mainContainer(workload: Workload, { image, project }: KubernetesNames): Manifest {
  const { spec, ports } = workload;
  const { graceMs } = spec.policy;
  const composed = workload.variables.filter(({ kind }) => kind === "composed");
  return present({
    name: "main",
    image,
    // `command` replaces the entrypoint of the image.
    command: imageCommand(workload, project, {
      variables: composed,
      limits: true,
      timeout: workload.kind === "service",
    }).map(literal),
    workingDir: imagePath(spec.cwd, project),
    env: variablesOf(workload, project),
    envFrom: filesOf(workload, project),
    ports: ports.length === 0 ? undefined : ports.map((port) => ({ containerPort: port })),
    resources: resourcesOf(spec),
    lifecycle: graceMs === 0 ? undefined : { preStop: { exec: { command: ["sleep", String(seconds(graceMs))] } } },
    ...probesOf(spec),
  });
}

/** Kubernetes replaces `$(NAME)` in words and values. */
function literal(text: string): string {
  return text.replaceAll("$(", "$$$$(");
}

function variablesOf(workload: Workload, project: Project): readonly Manifest[] | undefined {
  const path = imagePaths(workload, project);
  const secret = secretNameOf(workload, project);
  const set = new Set(workload.variables.map(({ name }) => name));
  const fromSecret = (name: string, key: string, isOptional = false): Manifest => ({
    name,
    valueFrom: { secretKeyRef: { name: secret, key, ...(isOptional ? { optional: true } : {}) } },
  });
  const own = workload.variables.flatMap((variable: Variable): readonly Manifest[] => {
    if (variable.kind === "text") return [{ name: variable.name, value: literal(variable.value) }];
    if (variable.kind === "given") return [fromSecret(variable.name, variable.from)];
    return variable.kind === "file" ? [fromSecret(variable.name, variable.name)] : [];
  });
  // What the shell needs for the composed ones; an env file may have it.
  const needed =
    workload.spec.envFile === undefined ? [...givenNames(workload)].filter(([name]) => !set.has(name)) : [];
  const passed = needed.map(([name, { isOptional }]) => fromSecret(name, name, isOptional));
  const all = [...(path === undefined ? [] : [{ name: "PATH", value: literal(path) }]), ...passed, ...own];
  return all.length === 0 ? undefined : all;
}

function filesOf(workload: Workload, project: Project): readonly Manifest[] | undefined {
  return workload.spec.envFile?.map((entry, index) => ({
    secretRef: present({
      name: secretNameOf(workload, project, index),
      optional: typeof entry === "string" ? undefined : entry.optional,
    }),
  }));
}

function resourcesOf({ memoryMax, memoryLimit, cpuQuota }: Workload["spec"]): Manifest | undefined {
  const memory = memoryMax ?? memoryLimit;
  const limits = present({
    memory: memory === undefined ? undefined : String(memory),
    cpu: cpuQuota === undefined ? undefined : `${Math.round(cpuQuota * 10)}m`,
  });
  return Object.keys(limits).length === 0 ? undefined : { limits };
}

/** `ready` is the check at the start; `health` decides about connections and restarts. */
function probesOf({ ready, health, policy }: Workload["spec"]): Manifest {
  const steady =
    health === undefined
      ? undefined
      : {
          ...actionOf(health.probe),
          periodSeconds: Math.max(1, Math.ceil(seconds(health.intervalMs))),
          timeoutSeconds: Math.max(1, Math.ceil(seconds(health.timeoutMs))),
          failureThreshold: health.failures,
        };
  const start = isProbe(ready)
    ? {
        ...actionOf(ready),
        periodSeconds: CHECK_SECONDS,
        failureThreshold: Math.max(1, Math.ceil(seconds(policy.readyMs ?? 0) / CHECK_SECONDS)),
      }
    : undefined;
  const delay =
    health === undefined || health.startMs === 0 ? {} : { initialDelaySeconds: Math.ceil(seconds(health.startMs)) };
  return present({
    startupProbe: start,
    readinessProbe: steady ?? (start === undefined ? undefined : { ...start, failureThreshold: 3 }),
    livenessProbe: steady === undefined ? undefined : { ...steady, ...delay },
  });
}

/** The kubelet asks as procman does, with the same name of the host. */
function actionOf(probe: Probe): Manifest {
  if (probe.kind === "exec") return { exec: { command: probeWords(probe).map(literal) } };
  const { port } = probe;
  if (probe.kind === "port") return { tcpSocket: { port } };
  return { httpGet: { path: probe.path, port, httpHeaders: [{ name: "Host", value: `${probe.hostname}:${port}` }] } };
}

/** Wait for the ports of what it depends on. */
export function initContainers(workload: Workload, names: KubernetesNames): readonly Manifest[] {
  const waits = dependencies(workload, names).flatMap(({ place }) =>
    place === undefined ? [] : [`until </dev/tcp/${place.host}/${place.port}; do sleep 1; done`],
  );
  if (waits.length === 0) return [];
  return [{ name: "wait", image: names.image, command: ["bash", "-c", waits.join("\n")] }];
}

/** What it would wait for, if its port were known. */
export function unwaited(workload: Workload, names: KubernetesNames): readonly string[] {
  return dependencies(workload, names).flatMap(({ id, place }) => (place === undefined ? [id] : []));
}

/** Dependencies that must have started or be ready. */
function dependencies({ spec: { dependsOn = [] } }: Workload, { all, hosts }: Pick<KubernetesNames, "all" | "hosts">) {
  return dependsOn
    .filter(({ condition }) => condition === "ready" || condition === "started")
    .map(({ id }) => {
      const [port] = all.find(({ process }) => process === id)?.ports ?? [];
      return { id, place: port === undefined ? undefined : hosts.get(port) };
    });
}

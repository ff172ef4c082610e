/** The containers of a pod. */
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
    command: imageCommand(workload, project, { variables: composed, limits: true, timeout: workload.kind === "service" }).map(literal),
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
  const needed = workload.spec.envFile === undefined ? [...givenNames(workload)].filter(([name]) => !set.has(name)) : [];
  const passed = needed.map(([name, { isOptional }]) => fromSecret(name, name, isOptional));
  const all = [...(path === undefined ? [] : [{ name: "PATH", value: literal(path) }]), ...passed, ...own];
  return all.length === 0 ? undefined : all;
}

function filesOf(workload: Workload, project: Project): readonly Manifest[] | undefined {
  return workload.spec.envFile?.map((entry, index) => ({
    secretRef: present({ name: secretNameOf(workload, project, index), optional: typeof entry === "string" ? undefined : entry.optional }),
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
          exec: { command: probeWords(health.probe).map(literal) },
          periodSeconds: Math.max(1, Math.ceil(seconds(health.intervalMs))),
          timeoutSeconds: Math.max(1, Math.ceil(seconds(health.timeoutMs))),
          failureThreshold: health.failures,
        };
  const start = isProbe(ready)
    ? {
        exec: { command: probeWords(ready).map(literal) },
        periodSeconds: CHECK_SECONDS,
        failureThreshold: Math.max(1, Math.ceil(seconds(policy.readyMs ?? 0) / CHECK_SECONDS)),
      }
    : undefined;
  const delay = health === undefined || health.startMs === 0 ? {} : { initialDelaySeconds: Math.ceil(seconds(health.startMs)) };
  return present({
    startupProbe: start,
    readinessProbe: steady ?? (start === undefined ? undefined : { ...start, failureThreshold: 3 }),
    livenessProbe: steady === undefined ? undefined : { ...steady, ...delay },
  });
}

/** Wait for the ports of what it depends on. */
export function initContainers({ spec: { dependsOn = [] } }: Workload, { image, all, hosts }: KubernetesNames): readonly Manifest[] {
  const waits = dependsOn.flatMap(({ id, condition }) => {
    const other = all.find(({ process }) => process === id);
    const [port] = other?.ports ?? [];
    const place = port === undefined ? undefined : hosts.get(port);
    return place === undefined || (condition !== "ready" && condition !== "started")
      ? []
      : [`until </dev/tcp/${place.host}/${place.port}; do sleep 1; done`];
  });
  if (waits.length === 0) return [];
  return [{ name: "wait", image, command: ["bash", "-c", waits.join("\n")] }];
}

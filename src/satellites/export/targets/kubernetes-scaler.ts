/** The HorizontalPodAutoscaler of a cluster with `scale`. */
import type { NoteRule } from "../note-rules.ts";
import { present, seconds, type Workload } from "../workload.ts";
import { kubernetesName, type Manifest } from "./kubernetes-names.ts";

/** The longest that Kubernetes looks back. Seconds. */
const LONGEST_WINDOW = 3_600;
/** The longest period of a policy. Seconds. */
const LONGEST_PERIOD = 1_800;

type ScaleTarget = NonNullable<Workload["spec"]["scale"]>["targets"][number];

/** undefined: it has no target that Kubernetes knows. */
export function autoscalerOf(workload: Workload, labels: Manifest): Manifest | undefined {
  const { spec, kind, id } = workload;
  if (!isScaled(workload) || kind !== "service" || spec.scale === undefined) return undefined;
  const { min, max, targets, upAfterMs, downAfterMs, step } = spec.scale;
  const metrics = targets.flatMap((target) => metricOf(target) ?? []);
  if (metrics.length === 0) return undefined;
  const name = kubernetesName(id);
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name, labels },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
      minReplicas: min,
      maxReplicas: max,
      metrics,
      behavior: { scaleUp: behaviorOf(upAfterMs, step), scaleDown: behaviorOf(downAfterMs, step) },
    },
  };
}

/** Instances that are exported one by one have a number that can't change. */
function isScaled({ spec, id, process }: Workload): boolean {
  return spec.scale !== undefined && id === process;
}

function metricOf({ name, limit }: ScaleTarget): Manifest | undefined {
  if (name === "cpu")
    return {
      type: "Resource",
      resource: { name: "cpu", target: { type: "AverageValue", averageValue: `${Math.ceil(limit * 10)}m` } },
    };
  if (!name.startsWith("metric:")) return undefined;
  const metric = { name: name.slice("metric:".length) };
  return { type: "Pods", pods: { metric, target: { type: "AverageValue", averageValue: amountOf(limit) } } };
}

/** A quantity: thousandths where it isn't whole. */
function amountOf(limit: number): string {
  return Number.isInteger(limit) ? String(limit) : `${Math.ceil(limit * 1_000)}m`;
}

function behaviorOf(afterMs: number, step: number | undefined): Manifest {
  const after = Math.ceil(seconds(afterMs));
  return present({
    stabilizationWindowSeconds: Math.min(LONGEST_WINDOW, after),
    policies:
      step === undefined
        ? undefined
        : [{ type: "Pods", value: step, periodSeconds: Math.min(LONGEST_PERIOD, Math.max(1, after)) }],
  });
}

const targetNames = ({ spec }: Workload): readonly string[] => spec.scale?.targets.map(({ name }) => name) ?? [];

export const SCALE_RULES: readonly NoteRule[] = [
  [
    "scale.targets",
    (workload) =>
      isScaled(workload) && targetNames(workload).some((name) => name === "connections" || name === "waiting"),
    "Kubernetes doesn't count connections: connections and waiting are left out; KEDA, or a metric of an Ingress, may stand for them",
  ],
  [
    "scale.targets",
    (workload) => isScaled(workload) && targetNames(workload).some((name) => name.startsWith("metric:")),
    (workload) => {
      const names = targetNames(workload).filter((name) => name.startsWith("metric:"));
      return `${names.join(", ")}: an adapter such as prometheus-adapter has to give Kubernetes the number of each pod`;
    },
  ],
  [
    "scale.schedules",
    (workload) => isScaled(workload) && workload.spec.scale?.schedules !== undefined,
    "Kubernetes has no schedules of size; KEDA has them",
  ],
  [
    "scale",
    (workload) => workload.spec.scale !== undefined && !isScaled(workload),
    "its instances differ: their number is fixed",
  ],
];

/** Ports, services and checks of a group in Nomad. */
import type { Probe, ReadyProbe } from "../../../core/contract/probe-spec.ts";
import type { Workload } from "../workload.ts";

export type NomadTree = Readonly<Record<string, unknown>>;

const NANOSECONDS = 1_000_000;
const CHECK_MS = 2_000;
const CHECK_TIMEOUT_MS = 5_000;
/** The port of an instance, which Nomad chooses. */
const INSTANCE_PORT = "instance";

/** Whether Nomad chooses the ports: where several instances are told apart by their variables alone. */
function hasDynamicPort({ replicas, spec }: Workload): boolean {
  return replicas > 1 && spec.cluster?.port !== undefined;
}

export function networkOf(workload: Workload): readonly NomadTree[] | undefined {
  const { ports } = workload;
  if (ports.length === 0) return undefined;
  if (hasDynamicPort(workload)) return [{ DynamicPorts: [{ Label: INSTANCE_PORT }] }];
  return [{ ReservedPorts: ports.map((port) => ({ Label: labelOf(workload, port), Value: port })) }];
}

function labelOf(workload: Workload, port: number): string {
  return hasDynamicPort(workload) && port === workload.spec.cluster?.port ? INSTANCE_PORT : `port${port}`;
}

type NetworkProbe = Exclude<Probe, { readonly kind: "exec" }>;

const isOfNetwork = (probe: ReadyProbe | undefined): probe is NetworkProbe =>
  probe?.kind === "port" || probe?.kind === "http";

/** The check that Nomad can make: that of `health`, else that by which a run becomes ready. */
export function checkOf(workload: Workload): NomadTree | undefined {
  const { health, ready } = workload.spec;
  if (workload.kind !== "service") return undefined;
  if (health !== undefined && isOfNetwork(health.probe)) {
    const restart = { Limit: health.failures, Grace: health.startMs * NANOSECONDS };
    return { ...checkBy(health.probe, workload, health), CheckRestart: restart };
  }
  return isOfNetwork(ready)
    ? checkBy(ready, workload, { intervalMs: CHECK_MS, timeoutMs: CHECK_TIMEOUT_MS })
    : undefined;
}

type CheckTimes = { readonly intervalMs: number; readonly timeoutMs: number };

function checkBy(probe: NetworkProbe, workload: Workload, { intervalMs, timeoutMs }: CheckTimes): NomadTree {
  return {
    ...(probe.kind === "http" ? { Type: "http", Path: probe.path } : { Type: "tcp" }),
    PortLabel: labelOf(workload, probe.port),
    Interval: intervalMs * NANOSECONDS,
    Timeout: timeoutMs * NANOSECONDS,
  };
}

/** One for each workload with a port, with its check. */
export function serviceOf(workload: Workload, name: string): NomadTree | undefined {
  const [port] = workload.ports;
  if (port === undefined || workload.kind !== "service") return undefined;
  const check = checkOf(workload);
  return {
    Name: name.replace(/[^a-z0-9-]/g, "-"),
    Provider: "nomad",
    PortLabel: labelOf(workload, port),
    ...(check === undefined ? {} : { Checks: [check] }),
  };
}

/** The variables of a cluster are those of Nomad. */
export function portValue(workload: Workload, name: string, value: string): string {
  const { cluster } = workload.spec;
  if (cluster === undefined || workload.replicas === 1) return value;
  if (name === "PROCMAN_CLUSTER_INSTANCE") return "${NOMAD_ALLOC_INDEX}";
  return cluster.port !== undefined && value === String(cluster.port) ? `\${NOMAD_PORT_${INSTANCE_PORT}}` : value;
}

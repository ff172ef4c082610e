/** The metrics that procman exposes, as it exposes them for a process that has a value for each. */
import type { ProcessRecord } from "../src/core/contract/records.ts";
import type { StateRecord } from "../src/core/contract/state-record.ts";
import { balancerFamilies, familiesOf, type MetricFamily, scaleFamilies } from "../src/core/metrics/exposition.ts";

type DescribedFamily = Pick<MetricFamily, "name" | "type" | "help"> & { readonly labels: readonly string[] };

const BACKEND = { accepting: true, connections: 0, totalConnections: 0, receivedBytes: 0, sentBytes: 0, refused: 0 };

const RECORD = {
  id: "web-1",
  cluster: "web",
  status: "running",
  blocked: false,
  telemetry: { memory: { rss: 0 }, metrics: { NAME: 0 } },
  backend: BACKEND,
  balancer: { waiting: 0, rejected: 0 },
  sleep: { wakes: 0, lastWakeMs: 0 },
  scale: { min: 1, max: 1, desired: 1 },
} as unknown as ProcessRecord;

const GAUGES = { memoryBytes: 0, cpuSeconds: 0, delaySeconds: 0, longestSeconds: 0 };

export function metricFamilies(): readonly DescribedFamily[] {
  const state = { name: "shop", uptimeSeconds: 0, status: "running" } as StateRecord;
  const counted = { record: RECORD, states: [], restarts: 0, sample: undefined };
  const families = [
    ...familiesOf([counted], GAUGES, state),
    ...balancerFamilies([{ ...RECORD, instances: [RECORD] }]),
    ...scaleFamilies([RECORD]),
  ];
  // What a program reports is lower case; NAME stands for it.
  return families.map(({ name, type, help, values }) => ({
    name: name.replace(/^(procman_telemetry_).*/, "$1NAME"),
    type,
    help,
    labels: Object.keys(values[0]?.[0] ?? {}),
  }));
}

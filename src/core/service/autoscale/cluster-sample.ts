/** The load of a cluster, from its record. */
import type { LoadTarget, MemoryRoom, ScaleSample } from "../../autoscale/scale-controller.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { isAsleep, isDownByFailure, isUp } from "../../contract/status-sets.ts";

/** A report of telemetry that is older says nothing. Milliseconds. */
const REPORT_AGE_MS = 60_000;
/** A run that is shorter may not have taken its memory yet, or not been measured since. Milliseconds. */
const SETTLED_MS = 15_000;
/** A run that was restarted more than once in a row must last this long to count as one that stays up. Milliseconds. */
const STAYS_UP_MS = 60_000;

/** `at`: monotonic, `wall`: since 1970; milliseconds. */
export type SampleContext = { readonly at: number; readonly wall: number; readonly freeBytes: number };

/** A cluster that sleeps has no load. */
export function sampleOf(record: ProcessRecord, targets: readonly LoadTarget[], context: SampleContext): ScaleSample {
  const { instances = [], balancer } = record;
  const sleeps = instances.every(isAsleep);
  const serving = instances.filter((instance) => isUp(instance) && instance.backend?.accepting !== false);
  const names = new Set(targets.flatMap(({ name }) => (name === "waiting" ? [name, "connections"] : [name])));
  const loads = [...names].flatMap((name): readonly (readonly [string, number])[] => {
    const load = sleeps ? 0 : name === "waiting" ? balancer?.waiting : loadOf(serving, name, context);
    return load === undefined ? [] : [[name, load]];
  });
  const failing = instances.find((instance) => isFailing(instance, context));
  const memory = memoryRoom(serving, context);
  return {
    at: context.at,
    instances: instances.length,
    serving: sleeps ? instances.length : serving.length,
    loads: new Map(loads),
    ...(memory !== undefined && { memory }),
    ...(failing !== undefined && { failing: failing.id }),
  };
}

/** The load of all together; those of which it is not known are taken to have the mean of the others. */
function loadOf(serving: readonly ProcessRecord[], name: string, context: SampleContext): number | undefined {
  const known = serving.flatMap((instance) => loadOfInstance(instance, name, context) ?? []);
  if (known.length === 0) return undefined;
  return (known.reduce((sum, load) => sum + load, 0) / known.length) * serving.length;
}

function loadOfInstance(
  { cpuPercent, backend, telemetry }: ProcessRecord,
  name: string,
  { wall }: SampleContext,
): number | undefined {
  if (name === "cpu") return cpuPercent;
  if (name === "connections") return backend?.connections;
  if (telemetry === undefined || wall - Date.parse(telemetry.sent) > REPORT_AGE_MS) return undefined;
  return telemetry.metrics?.[name.slice("metric:".length)];
}

/** What young instances have yet to take is not free. Until one has settled, the others say what an instance uses. */
function memoryRoom(serving: readonly ProcessRecord[], { freeBytes, wall }: SampleContext): MemoryRoom | undefined {
  const known = serving.filter(({ memoryBytes }) => memoryBytes !== undefined);
  if (known.length === 0) return undefined;
  const isYoung = ({ started }: ProcessRecord): boolean =>
    started !== undefined && wall - Date.parse(started) < SETTLED_MS;
  const settled = known.filter((instance) => !isYoung(instance));
  const measured = settled.length === 0 ? known : settled;
  const instanceBytes = measured.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0) / measured.length;
  const owed = serving
    .filter(isYoung)
    .reduce((sum, { memoryBytes = 0 }) => sum + Math.max(0, instanceBytes - memoryBytes), 0);
  return { freeBytes: Math.max(0, freeBytes - owed), instanceBytes };
}

/** Whether it is down by a failure, or has been and has not lasted since. */
function isFailing(record: ProcessRecord, { wall }: SampleContext): boolean {
  const { restarts, started } = record;
  if (isDownByFailure(record)) return true;
  if (restarts === 0) return false;
  if (!isUp(record)) return true;
  return restarts > 1 && started !== undefined && wall - Date.parse(started) < STAYS_UP_MS;
}
